package hypervisorrecovery

import (
	"cmp"
	"time"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/fence"
)

// sight is the report of a witness about a node.
type sight string

const (
	// unknown means that the witness has no report, or one that proves nothing.
	unknown sight = "unknown"
	// alive means that the node runs.
	alive sight = "alive"
	// unreachable means that the node does not report to the witness, and others of the pool do.
	unreachable sight = "unreachable"
)

// evidence is the report of all witnesses about a node. OpenStack is one witness: the reports of nova-compute and of Neutron's agents use
// the same network and the same databases. The kubelet reports through the network of OpenStack, too. Only network and power are
// independent of it.
type evidence struct {
	openStack, kubernetes, network sight
	// powerOff is set if the management controller reports that the power is off.
	powerOff bool
}

// conclusion is the conclusion from the evidence.
type conclusion string

const (
	// healthy means that no witness reports a failure.
	healthy conclusion = "healthy"
	// contradicted means that a witness reports a failure, and another one that the node runs.
	contradicted conclusion = "contradicted"
	// uncertain means that less than two witnesses report a failure.
	uncertain conclusion = "uncertain"
	// partitioned means that all witnesses that report a failure use the same network, so that it may be the network that failed.
	partitioned conclusion = "partitioned"
	// failed means that at least two witnesses report a failure, through different networks, and none that the node runs.
	failed conclusion = "failed"
)

// conclude returns the conclusion from the evidence.
func (e evidence) conclude() conclusion {
	runs, fails := 0, 0
	for _, s := range []sight{e.openStack, e.kubernetes, e.network} {
		switch s {
		case alive:
			runs++
		case unreachable:
			fails++
		case unknown:
		}
	}
	if e.powerOff {
		fails++
	}
	const witnesses = 2
	switch {
	case fails == 0:
		return healthy
	case runs > 0:
		return contradicted
	case fails < witnesses:
		return uncertain
	case e.network != unreachable && !e.powerOff:
		return partitioned
	}
	return failed
}

// step is the next step of the recovery of a node.
type step string

const (
	// wait changes nothing.
	wait step = ""
	// suspect records the failure, and forget deletes the record.
	suspect step = "suspect"
	forget  step = "forget"
	// powerOff requests that the power is switched off.
	powerOff step = "powerOff"
	// prove records that the power is off.
	prove step = "prove"
	// forceDown declares the failure in Nova.
	forceDown step = "forceDown"
	// evacuate starts servers on other nodes, and complete records that none is left.
	evacuate step = "evacuate"
	complete step = "complete"
	// withdraw records that the power is on again before all servers were evacuated.
	withdraw step = "withdraw"
	// comeBack records that the node has started again, and leave that it is not ready anymore.
	comeBack step = "comeBack"
	leave    step = "leave"
	// forceUp declares in Nova that the node has returned.
	forceUp step = "forceUp"
)

const (
	// repeatInterval is the interval between two requests to power a node off, and powerTimeout the time after which it is reported that the
	// power is still on.
	repeatInterval, powerTimeout = 30 * time.Second, 3 * time.Minute
	// stabilizationTime is the time for which a node must be back. It is longer than Nova and Neutron trust a report from before the failure
	// (service_down_time 60 s, agent_down_time 75 s).
	stabilizationTime = 2 * time.Minute
	// stallTimeout is the time after which it is reported that interruptions of the observation delay a power off.
	stallTimeout = 3 * time.Minute
	// agentTimeout is the time after which a missing report of nova-compute is a problem.
	agentTimeout = 15 * time.Minute
	// bootTimeout is the time after which a node with a responding probe has a kubelet that reports: a node that starts is not mistaken for
	// one that was never off.
	bootTimeout = 5 * time.Minute
	// duplicateServers is the reason of a node that runs while its servers run on other nodes.
	duplicateServers = "RunsTwice"
	// mayRunTwice is the reason of a node that runs, and that may have been restarted since its servers were evacuated.
	mayRunTwice = "MayRunTwice"
	// witnessesDisagree is the reason of a node of which a witness reports a failure, and another one that it runs.
	witnessesDisagree = "WitnessesDisagree"
	// tooManyFailed is the reason of a node that is not recovered because too many nodes of the pool have failed.
	tooManyFailed = "TooManyFailed"
	// stoppedByMode is the reason of a node whose recovery was started, and is not continued because the mode was changed.
	stoppedByMode = "StoppedByMode"
)

// situation is everything that determines the next step of a node. Durations are 0 if the state has no start.
type situation struct {
	// state is the recorded state; "" if there is no record. forcedHere is set if this recovery set forced_down.
	state      openstackv1.RecoveryState
	forcedHere bool
	// recovers is set if nodes may be changed: the mode permits it, and the Nodes can be read. crowded is set if too many nodes of the pool
	// have failed. dryRun is set if the mode prevents changes.
	recovers, crowded, dryRun bool
	// excluded is set if the node must not be recovered, because its absence is planned. It has no effect after a request to power it off.
	excluded bool
	evidence evidence

	// suspected, fencing, requested and returning are the times since the witnesses agree without a gap in the observation, the first and the
	// last request to power off, and the return. delay is the required time of agreement.
	// age is the time since the witnesses agree, with gaps.
	age, suspected, delay, fencing, requested, returning time.Duration
	// power is the power state, if controllable: the controller is configured, responds, and belongs to the node.
	controllable bool
	power        fence.Power
	// offPasses and onPasses are the numbers of consecutive passes, with this one, in which the power was off or on. steady is the time for
	// which the node has been healthy.
	offPasses, onPasses int
	steady              time.Duration

	// forced is set if Nova has forced_down. pending and busy are the numbers of servers to evacuate now, and of unfinished evacuations
	// that count for the limit.
	forced        bool
	pending, busy int
	// started is set if the Node is ready after another boot than at the failure, and reports if its nova-compute reports since.
	// unknownBoot is set if one of these boots is unknown.
	started, reports, unknownBoot bool
	// reportsSinceRequest is set if nova-compute has reported after the last request to power off.
	reportsSinceRequest bool
	// moved is set if servers were evacuated, or may be, since the power was off. responding is the time since which a probe responds after
	// that.
	moved      bool
	responding time.Duration
}

// decide returns the next step of a node, and the reason of a problem; "" without a problem.
func decide(s situation) (next step, problem string) {
	switch s.state {
	case "":
		if !s.excluded && s.evidence.conclude() == failed {
			return suspect, ""
		}
		return wait, s.doubt()
	case openstackv1.RecoverySuspected:
		return s.onSuspicion()
	case openstackv1.RecoveryFencing:
		return s.onFencing()
	case openstackv1.RecoveryEvacuating, openstackv1.RecoveryEvacuated:
		return s.onPowerOff()
	case openstackv1.RecoveryReturning:
		return s.onReturn()
	}
	return wait, ""
}

// doubt returns why a node on which a witness reports a failure is not recovered; "" if there is no such report.
func (s situation) doubt() string {
	switch v := s.evidence.conclude(); {
	case s.excluded && s.state == "", v == healthy:
		return ""
	case v == contradicted:
		return witnessesDisagree
	case s.crowded: // Networks and power were not read.
		return tooManyFailed
	case v == partitioned:
		return "PartitionPossible"
	}
	return "OneWitness"
}

// onSuspicion decides about a node that has failed, and has not been changed, or whose power came back.
func (s situation) onSuspicion() (step, string) {
	switch {
	case s.duplicate() != "":
		return wait, s.duplicate()
	case s.forcedHere && (s.started || s.steady >= stabilizationTime):
		return comeBack, ""
	case s.evidence.conclude() != failed:
		if s.forcedHere { // The record is needed until forced_down is cleared.
			return wait, s.doubt()
		}
		return forget, ""
	case s.excluded:
		return wait, "Excluded"
	case s.crowded:
		return wait, tooManyFailed
	case s.suspected < s.delay && s.age >= s.delay+stallTimeout:
		return wait, "ObservationInterrupted"
	case s.suspected < s.delay:
		return wait, ""
	case !s.controllable:
		return wait, "FencingUnavailable"
	case !s.recovers:
		return wait, ""
	case s.power == fence.Off:
		return s.proof()
	}
	return powerOff, ""
}

// proofPasses is the number of consecutive passes in which the power must be off.
const proofPasses = 2

// proof accepts the power state Off after it has been read in several passes: a controller that restarts may report it for a moment.
func (s situation) proof() (step, string) {
	switch {
	case s.isAlive():
		return wait, witnessesDisagree
	case s.offPasses < proofPasses:
		return wait, ""
	}
	return prove, ""
}

// isAlive reports whether a witness reports that the node runs. A controller that reports Off is mistaken then. OpenStack's reports may be
// from the time before the last request to power off, for as long as Nova and Neutron trust them, unless nova-compute has reported later.
func (s situation) isAlive() bool {
	return s.evidence.kubernetes == alive || s.evidence.network == alive ||
		s.evidence.openStack == alive && (s.reportsSinceRequest || s.requested >= stabilizationTime)
}

// duplicate returns the problem of a node from which servers were evacuated, and that was never off, although its controller has reported
// it: its kubelet reports from the same boot, or its probe responds for too long without a kubelet; "" without this problem. A node whose
// power is on may have been restarted without a kubelet that reports.
func (s situation) duplicate() string {
	isReady := s.evidence.kubernetes == alive
	switch {
	case !s.moved || s.started || !isReady && s.responding < bootTimeout:
		return ""
	case isReady && !s.unknownBoot, !isReady && s.controllable && s.power == fence.Off:
		return duplicateServers
	}
	return mayRunTwice
}

// onFencing decides about a node that is being powered off.
func (s situation) onFencing() (step, string) {
	switch {
	case s.dryRun:
		return s.halt()
	case !s.recovers:
		return wait, ""
	case s.controllable && s.power == fence.Off:
		return s.proof()
	case s.evidence.conclude() != failed:
		return s.release()
	case s.crowded:
		return wait, tooManyFailed
	case !s.controllable:
		return wait, "FencingUnavailable"
	case s.power == fence.On && s.requested >= repeatInterval && s.suspected >= s.delay:
		return powerOff, s.late()
	}
	return wait, s.late()
}

// halt ends the fencing of a node that runs after the mode was changed, and reports any other node: its power may be off, or go off, and
// its servers stay down.
func (s situation) halt() (step, string) {
	if next, _ := s.release(); next != wait {
		return next, ""
	}
	return wait, stoppedByMode
}

// release ends the fencing of a node that has not failed, after its controller has had the time to execute the request: until then, its
// power may go off, and its servers would stay down. Missing reports are no reports of life. The record is needed until forced_down is
// cleared.
func (s situation) release() (step, string) {
	const passes = 2
	lives := s.isAlive() || s.evidence.openStack == alive
	switch {
	case !lives:
		return wait, cmp.Or(s.doubt(), "OneWitness")
	case !s.controllable:
		return wait, cmp.Or(s.doubt(), "FencingUnavailable")
	case s.requested < powerTimeout || s.power != fence.On || s.onPasses < passes:
		return wait, s.doubt()
	case s.forcedHere:
		return withdraw, ""
	}
	return forget, ""
}

// late returns the problem of a node whose power is on for too long after the request.
func (s situation) late() string {
	if s.fencing >= powerTimeout {
		return "PowerStillOn"
	}
	return ""
}

// onPowerOff decides about a node whose power was off. Its power is read before each evacuation: a node that starts again runs the servers
// that are still on it.
func (s situation) onPowerOff() (step, string) {
	isDone := s.state == openstackv1.RecoveryEvacuated
	switch {
	case s.duplicate() != "":
		return wait, s.duplicate()
	case s.started && isDone:
		return comeBack, ""
	case s.started: // Its power is on, whatever its controller reports.
		return withdraw, ""
	case isDone && s.evidence.kubernetes == alive: // It was never off, and has all its servers.
		return withdraw, ""
	case isDone && s.pending == 0:
		return wait, ""
	case s.dryRun && s.pending > 0 && (!s.controllable || s.power == fence.Off) && !s.isAlive():
		return wait, stoppedByMode
	case !s.controllable:
		return wait, "FencingUnavailable"
	case s.power != fence.Off && isDone: // It may be starting.
		return wait, "PowerIsOn"
	case s.power != fence.Off:
		return withdraw, ""
	case s.isAlive():
		return wait, witnessesDisagree
	case !s.recovers, s.offPasses < proofPasses: // The node may have run since the proof.
		return wait, ""
	case !s.forced:
		return forceDown, ""
	case s.pending > 0:
		return evacuate, ""
	case s.busy > 0:
		return wait, ""
	}
	return complete, ""
}

// onReturn decides about a node that has started again.
func (s situation) onReturn() (step, string) {
	switch {
	case s.evidence.kubernetes != alive:
		return leave, ""
	case !s.forced || !s.forcedHere: // Another user who has set it clears it.
		return forget, ""
	case s.returning >= agentTimeout && !s.reports:
		return wait, "AgentsDown"
	case s.returning < stabilizationTime || !s.reports || s.busy > 0 || !s.recovers:
		return wait, ""
	}
	return forceUp, ""
}

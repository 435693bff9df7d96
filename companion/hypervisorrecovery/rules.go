package hypervisorrecovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

const (
	// shortestInterval is the minimum interval between two passes that send requests.
	shortestInterval = controller.Poll / 2
	// recordLimit is the maximum number of failed nodes in the status, and nodeLimit the maximum number of nodes of the pool.
	recordLimit, nodeLimit = 32, 1024
	// textLimit is the maximum length of a boot ID, and witnessLimit the maximum length of the report of a witness, in bytes.
	textLimit, witnessLimit = 128, 256
	// uuidLimit is the maximum length of a UUID, in bytes.
	uuidLimit = 64
	// failedReason is the reason of an operation that a service rejected, or that was not sent because the state has changed.
	failedReason = "OperationFailed"
)

// reassuring are the steps whose Events are no warnings.
var reassuring = []string{"Withdrawn", "Returning", "ForcedUp", "InService"}

// next selects the next step: one for each node.
func next(obs *observation) controller.Decision {
	switch {
	case obs.limited > 0:
		return controller.Decision{RequeueAfter: obs.limited}
	case obs.unavailable.Reason != "":
		return controller.Decision{RequeueAfter: controller.Poll, Status: obs.reportUnavailable}
	}
	free := max(int(obs.recovery.Spec.ParallelServers), 1) - obs.busy
	plan := &plan{observation: obs, waiting: map[string]int{}}
	for _, n := range obs.nodes {
		if n.removed || n.service == nil && !n.isChanged() {
			plan.keep(n)
			continue
		}
		s, problem := decide(obs.situation(n))
		if n.readProblem != "" && (n.isChanged() || s == forget && n.mayHaveStarted()) {
			plan.retainUnreadable(n, problem)
			continue
		}
		if s == evacuate && free <= 0 {
			s, plan.waiting[n.name] = wait, len(n.servers.pending)
		}
		free -= plan.add(n, s, problem, free)
		if n.isChanged() && len(n.restarted) > 0 && obs.recovery.Spec.Mode == openstackv1.RecoveryRecover {
			plan.act(func(ctx context.Context, _ *controller.Env) error { return obs.stopRestarted(ctx, n) })
		}
	}
	plan.addCrowded()
	plan.addFailedServers()
	return plan.decision()
}

// situation returns everything that determines the next step of a node.
func (obs *observation) situation(n *node) situation {
	spec := &obs.recovery.Spec
	out := situation{
		recovers: spec.Mode == openstackv1.RecoveryRecover && obs.unreadable == "", crowded: obs.isCrowded(),
		dryRun:   spec.Mode != openstackv1.RecoveryRecover && obs.unreadable == "",
		excluded: n.excluded != "", evidence: n.evidence,
		delay: time.Duration(spec.DelaySeconds) * time.Second, controllable: n.deviceProblem == "" && n.device != nil, power: n.power,
		offPasses: n.offPasses, onPasses: n.onPasses, steady: n.steady, pending: len(n.servers.pending), busy: n.servers.slots + len(n.restarted),
	}
	if n.service != nil {
		out.forced = n.service.ForcedDown
	}
	r := n.record
	if r == nil {
		return out
	}
	out.state, out.forcedHere = r.State, r.ForcedDown
	out.suspected = min(obs.now.Sub(r.SuspectTime.Time), obs.now.Sub(obs.past.unbroken))
	out.age = obs.now.Sub(r.SuspectTime.Time)
	out.moved = r.PowerOffTime != nil &&
		(r.EvacuatedCount > 0 || len(r.RequestedServers) > 0 || n.servers.evacuated > 0 || len(n.servers.busy) > 0)
	out.unknownBoot = n.bootID() == "" || r.BootID == ""
	out.started = n.evidence.kubernetes == alive && n.bootID() != r.BootID && (!out.moved || !out.unknownBoot)
	out.responding = n.responding
	if r.FenceTime != nil {
		out.fencing = obs.now.Sub(r.FenceTime.Time)
	}
	out.requested = stabilizationTime // Without a request, no report is older than the proof, which requires that OpenStack has none.
	if r.LastFenceTime != nil {
		out.requested = obs.now.Sub(r.LastFenceTime.Time)
		// Up is not set while forced_down is, which changes the time of the record.
		out.reportsSinceRequest = n.service != nil && n.service.Up && n.service.ReportedAt.After(r.LastFenceTime.Add(reportDelay))
	}
	if r.ReturnTime != nil {
		out.returning = obs.now.Sub(r.ReturnTime.Time)
		// While forced_down is set, Nova reports the time of the last report, and no state.
		out.reports = n.service != nil && n.service.ReportedAt.After(r.ReturnTime.Time)
	}
	return out
}

// mayHaveStarted reports whether a node was off, perhaps: its servers do not run then.
func (n *node) mayHaveStarted() bool {
	r := n.record
	isSameBoot := n.evidence.kubernetes == alive && n.bootID() == r.BootID
	return n.isChanged() || (r.FenceTime != nil || r.PowerOffTime != nil) && !isSameBoot
}

// recordOff records that the power of a node is off, and the boot that has ended.
func (n *node) recordOff(now metav1.Time) {
	n.record.PowerOffTime, n.record.BootID = &now, cmp.Or(n.bootID(), n.record.BootID)
}

// bootID returns the ID of the node's boot; "" if the Node does not exist.
func (n *node) bootID() string {
	if n.node == nil {
		return ""
	}
	return condition.Truncate(n.node.Status.NodeInfo.BootID, textLimit)
}

// problem is a reason for which a node is not recovered.
type problem struct{ reason, message string }

// operation changes a node or its servers.
type operation func(context.Context, *controller.Env) error

// plan collects the steps of all nodes.
type plan struct {
	*observation

	records []openstackv1.NodeRecovery
	// added is the number of new records.
	added    int
	problems []problem
	// doubts are the contradictions about nodes without a record: the witness that reports life is right, usually.
	doubts []problem
	// crowded is the problem of a pool of which too many nodes have failed; nil if none is affected.
	crowded *problem
	notes   []string
	name    string
	// actions are the operations on nodes. powerOffs start before them, because their evidence gets old.
	actions, powerOffs []operation
	// waiting are the numbers of servers of nodes that wait for the end of other evacuations.
	waiting map[string]int
	// failed are the servers in ERROR because their evacuations failed.
	failed []openstackv1.FailedServer
	// changed is set if a record changes, so that it is written before the actions.
	changed bool
}

// keep retains the record of a node that is not in the pool, as long as Nova has its nova-compute: it may have forced_down.
func (p *plan) keep(n *node) {
	if n.service != nil && n.record != nil {
		p.records = append(p.records, *n.record)
		p.problems = append(p.problems, problem{"RemovedFromPool", n.describe("RemovedFromPool")})
	}
}

// retainUnreadable retains the record of a node whose servers cannot be read. reason is the one of another problem with it.
func (p *plan) retainUnreadable(n *node, reason string) {
	p.records = append(p.records, *n.record)
	if isUrgent(reason) {
		p.problems = append(p.problems, problem{reason, n.describe(reason)})
	}
	p.problems = append(p.problems, problem{"ServersUnreadable", fmt.Sprintf("the servers of %s cannot be read: %s", n.name, n.readProblem)})
}

func (p *plan) act(do operation) {
	p.actions, p.changed = append(p.actions, do), true
}

// addCrowded reports the nodes that would not be recovered because too many of the pool have failed, before other problems. It includes
// nodes that do not report to a witness to which no node reports, and nodes that report to another witness.
func (p *plan) addCrowded() {
	var names []string
	for _, n := range p.nodes {
		if n.unreported {
			names = append(names, n.name)
		}
	}
	if len(names) == 0 || !p.isCrowded() {
		return
	}
	p.crowded = &problem{tooManyFailed, fmt.Sprintf("%d of %d nodes of the pool do not report to a witness, or have not returned, and "+
		"maxFailedPercent is %d: not recovered are %s", p.failedCount, p.total, p.recovery.Spec.MaxFailedPercent, condition.JoinNames(names))}
	p.problems = slices.Insert(p.problems, 0, *p.crowded)
}

// addFailedServers records the servers in ERROR because their evacuations failed. It reports servers of nodes without a recovery: they stay
// down after the return of their node.
func (p *plan) addFailedServers() {
	var all []openstackv1.FailedServer
	for _, n := range p.nodes {
		all = append(all, n.servers.failed...)
	}
	var down, notStarted []string
	for _, s := range p.failedServers {
		if slices.ContainsFunc(all, func(other openstackv1.FailedServer) bool { return other.ID == s.ID }) {
			continue
		}
		all = append(all, s)
		text := fmt.Sprintf("%s (%s) on %s: %s", s.Name, s.ID, s.NodeName, s.Reason)
		switch {
		case s.ReturnTime == nil:
			down = append(down, text)
		case p.stoppedIDs[s.ID]:
			notStarted = append(notStarted, text)
		}
	}
	p.failed = all[:min(len(all), failedLimit)]
	if len(down) > 0 {
		p.problems = append(p.problems, problem{
			"ServersInError", fmt.Sprintf("%d servers do not run after their evacuations: %s", len(down), joinMessages(down)),
		})
	}
	if len(notStarted) > 0 {
		p.problems = append(p.problems, problem{
			"ServersStopped", fmt.Sprintf("%d servers do not run: %s", len(notStarted), joinMessages(notStarted)),
		})
	}
}

// notef adds the text of the Event. The first step gives the Event its reason.
func (p *plan) notef(name, format string, arguments ...any) {
	if p.name == "" {
		p.name = name
	}
	p.notes, p.changed = append(p.notes, fmt.Sprintf(format, arguments...)), true
}

// add adds the step of a node, and returns the number of servers that it evacuates, at most free.
func (p *plan) add(n *node, s step, reason string, free int) (evacuated int) {
	r := n.record
	if r != nil && n.isChanged() {
		r.RequestedServers = n.servers.requested
	}
	if r != nil && n.evidence.kubernetes != alive { // The Node could not be read before.
		r.BootID = cmp.Or(r.BootID, n.bootID())
	}
	switch s {
	case suspect:
		if r = p.suspect(n); r == nil {
			reason = tooManyFailed
		}
	case forget:
		p.forget(n)
		r = nil
	case evacuate:
		evacuated = p.evacuate(n, free)
	default:
		p.change(n, s)
	}
	switch {
	case reason == "":
	case reason == tooManyFailed && p.isCrowded(): // It is described with the others.
		n.unreported = true
	case reason == witnessesDisagree && n.record == nil:
		p.doubts = append(p.doubts, problem{reason, n.describe(reason)})
	default:
		p.problems = append(p.problems, problem{reason, n.describe(reason)})
	}
	if r != nil {
		p.describeServers(n, r)
		p.records = append(p.records, *r)
	}
	return evacuated
}

// suspect returns the record of a node that has failed; nil if the status has too many.
func (p *plan) suspect(n *node) *openstackv1.NodeRecovery {
	if len(p.recovery.Status.Recoveries)+p.added >= recordLimit {
		return nil
	}
	p.added++
	now := metav1.Time{Time: p.now}
	r := &openstackv1.NodeRecovery{
		NodeName: n.name, State: openstackv1.RecoverySuspected, StartTime: now, SuspectTime: now, BootID: n.bootID(), Witnesses: n.witnesses(),
	}
	p.notef("Suspected", "node %s failed: %s", n.name, strings.Join(r.Witnesses, "; "))
	return r
}

// forget reports the end of the recovery of a node, and the servers that do not run.
func (p *plan) forget(n *node) {
	if n.mayHaveStarted() {
		n.servers.failed = append(n.servers.failed, n.notStarted(p.now)...)
	}
	if n.isChanged() {
		p.notef("InService", "node %s is in service", n.name)
	} else {
		p.notef("Withdrawn", "node %s is not recovered: %s", n.name, strings.Join(n.witnesses(), "; "))
	}
}

// change changes the record of a node, and requests the operations of a step.
func (p *plan) change(n *node, s step) {
	r := n.record
	now := metav1.Time{Time: p.now}
	switch s {
	case powerOff:
		p.fence(n)
	case prove:
		r.State = openstackv1.RecoveryEvacuating
		n.recordOff(now)
		p.notef("PoweredOff", "the power of node %s is off", n.name)
	case forceDown:
		r.ForcedDown = true
		p.notef("ForcedDown", "setting forced_down of node %s", n.name)
		p.act(func(ctx context.Context, _ *controller.Env) error {
			within, end, err := n.readOff(ctx)
			if err != nil {
				return err
			}
			defer end()
			return p.nova.ForceDown(within, n.name)
		})
	case complete:
		r.State = openstackv1.RecoveryEvacuated
		p.notef("Evacuated", "the servers of node %s are evacuated; %d stay", n.name, len(n.servers.remaining))
	case withdraw:
		// The time of the proof remains: the node has stopped its servers.
		r.State, r.SuspectTime, r.FenceTime, r.LastFenceTime = openstackv1.RecoverySuspected, now, nil, nil
		p.notef("PoweredOn", "the power of node %s is on again", n.name)
	case comeBack:
		r.State, r.ReturnTime, r.PowerOffTime = openstackv1.RecoveryReturning, &now, nil
		p.notef("Returning", "node %s is back", n.name)
	case leave:
		r.State, r.ReturnTime = openstackv1.RecoveryEvacuated, nil
		p.notef("Left", "node %s is not ready anymore", n.name)
	case forceUp:
		p.notef("ForcedUp", "clearing forced_down of node %s", n.name)
		p.act(func(ctx context.Context, _ *controller.Env) error { return p.nova.ForceUp(ctx, *n.service) })
	default:
		// The power off is not requested, again or after the power was on again, before the witnesses agree for the delay.
		isRequested := r != nil && (r.State == openstackv1.RecoveryFencing || r.State == openstackv1.RecoverySuspected)
		if isRequested && n.evidence.conclude() != failed {
			r.SuspectTime = now
		}
	}
}

// describeServers records the servers of a node, and the problems with them.
func (p *plan) describeServers(n *node, r *openstackv1.NodeRecovery) {
	if n.hasServersRead() && n.readProblem == "" {
		r.RunningServers = n.runningServers(r.RunningServers)
	}
	if !n.isChanged() {
		return
	}
	e := &n.servers
	r.EvacuatedCount = int32(e.evacuated)                                  //nolint:gosec // A count of servers.
	r.ServerCount = int32(len(e.pending) + len(e.busy) + len(e.remaining)) //nolint:gosec // as above
	r.RemainingServers = slices.Clone(e.remaining[:min(len(e.remaining), remainingLimit)])
	r.StoppedServers = slices.DeleteFunc(slices.Clone(r.StoppedServers), func(id string) bool { return slices.Contains(n.stopsEnded, id) })
	if len(r.RemainingServers) == 0 {
		r.RemainingServers = nil
	}
	if len(r.StoppedServers) == 0 {
		r.StoppedServers = nil
	}
	if len(e.late) > 0 {
		p.problems = append(p.problems, problem{"EvacuationSlow", joinMessages(e.late)})
	}
	if r.State == openstackv1.RecoveryReturning {
		return
	}
	var stay []string
	for _, s := range e.remaining {
		if e.chosen[s.ID] { // No operator has to act.
			continue
		}
		stay = append(stay, fmt.Sprintf("%s (%s): %s", s.Name, s.ID, s.Reason))
	}
	if len(stay) > 0 {
		p.problems = append(p.problems, problem{"ServersRemain", fmt.Sprintf("%d servers stay on %s: %s", len(stay), n.name, joinMessages(stay))})
	}
}

// fence records the request to power a node off, and sends it.
func (p *plan) fence(n *node) {
	r := n.record
	now := metav1.Time{Time: p.now}
	if r.FenceTime == nil || r.State != openstackv1.RecoveryFencing {
		r.FenceTime = &now
	}
	r.State, r.LastFenceTime = openstackv1.RecoveryFencing, &now
	p.notef("Fencing", "powering node %s off: %s", n.name, strings.Join(n.witnesses(), "; "))
	p.powerOffs = append(p.powerOffs, func(ctx context.Context, env *controller.Env) error { return p.powerOff(ctx, env, n) })
}

// evacuate records the requests to evacuate the first servers, sends them, and returns their number.
func (p *plan) evacuate(n *node, free int) int {
	if n.record.State == openstackv1.RecoveryEvacuated { // The node may have returned, and left again.
		n.recordOff(metav1.Time{Time: p.now})
	}
	n.record.State = openstackv1.RecoveryEvacuating
	ready := n.readyServers(free)
	ready = ready[:min(free, len(ready), requestLimit-len(n.record.RequestedServers))]
	var names []string
	for i := range ready {
		names = append(names, ready[i].Name)
		n.servers.request(n.record, ready[i].ID, p.now)
	}
	p.notef("Evacuating", "evacuating from node %s: %s", n.name, condition.JoinNames(names))
	requests := slices.Clone(n.record.RequestedServers)
	p.act(func(ctx context.Context, env *controller.Env) error {
		return p.requestEvacuations(ctx, env, n, requests[len(requests)-len(ready):])
	})
	return len(names)
}

// readyServers returns the servers to evacuate from a node, and records stopped ones among the first free of them.
func (n *node) readyServers(free int) (ready []compute.ServerDetails) {
	r := n.record
	for _, s := range n.servers.pending {
		if s.Status == stopped && !slices.Contains(r.StoppedServers, s.ID) {
			if len(r.StoppedServers) >= stoppedLimit {
				continue // Others settle first.
			}
			if len(ready) < free {
				r.StoppedServers = append(r.StoppedServers, s.ID)
			}
		}
		if s.Status == stopped && !slices.Contains(r.StoppedServers, s.ID) {
			continue
		}
		ready = append(ready, s)
	}
	return ready
}

// decision returns the decision: the records are written over the version that was read, before the actions.
func (p *plan) decision() controller.Decision {
	out := controller.Decision{
		Name: p.name, Note: strings.Join(p.notes, "; "), Warning: !slices.Contains(reassuring, p.name), Record: p.changed, Status: p.report,
		RequeueAfter: controller.Poll,
	}
	if p.changed {
		out.RequeueAfter = shortestInterval
	}
	if len(p.actions)+len(p.powerOffs) > 0 {
		out.Status = func() {
			last := meta.FindStatusCondition(p.recovery.Status.Conditions, conditionUnblocked).DeepCopy()
			p.report()
			// It is kept until all operations are accepted.
			if last != nil && last.Reason == failedReason && len(p.urgent()) == 0 {
				p.set(conditionUnblocked, condition.False(last.Reason, last.Message))
			}
		}
		out.Action = func(ctx context.Context, env *controller.Env) error {
			// In parallel: a controller that is slow delays no other node.
			all := slices.Concat(p.powerOffs, p.actions)
			start := env.Clock.Now()
			defer func() { p.memory.took(p.past, env.Clock.Now().Sub(start)) }()
			errs := make([]error, len(all))
			var tasks []func()
			for i, do := range all {
				tasks = append(tasks, func() { errs[i] = do(ctx, env) })
			}
			inParallel(p.parallel, tasks)
			return p.rejected(joinErrors(errs))
		}
	}
	return out
}

// rejected returns the result of the operations. A problem that destroys data remains the first one.
func (p *plan) rejected(err error) error {
	urgent := p.urgent()
	if err == nil || len(urgent) == 0 {
		return controller.Rejected(failedReason, err)
	}
	var all []string
	for _, x := range urgent {
		all = append(all, x.message)
	}
	return controller.Rejected(urgent[0].reason, errors.New(joinMessages(append(all, err.Error()))))
}

// urgent returns the problems that destroy data.
func (p *plan) urgent() []problem {
	return slices.DeleteFunc(slices.Clone(p.problems), func(x problem) bool { return !isUrgent(x.reason) })
}

// isUrgent reports whether the problem with a reason destroys data.
func isUrgent(reason string) bool { return reason == duplicateServers || reason == mayRunTwice }

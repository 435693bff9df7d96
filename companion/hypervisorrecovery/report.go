package hypervisorrecovery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

func (obs *observation) set(name string, s condition.State) {
	obs.recovery.Status.ObservedGeneration = obs.recovery.Generation
	condition.Set(&obs.recovery.Status.Conditions, name, obs.recovery.Generation, obs.now, s)
}

// reportUnavailable keeps the records.
func (obs *observation) reportUnavailable() {
	obs.set(conditionObserved, obs.unavailable)
	obs.set(conditionUnblocked, obs.unavailable)
}

// report sets the records and the conditions.
func (p *plan) report() {
	s := &p.recovery.Status
	s.UnfenceableNodes, s.VerifiedNodes, s.FailedServers = p.unfenceable(), p.verifiedNodes(), p.failed
	s.NodeCount, s.FailedCount, s.Recoveries = int32(p.total), int32(p.failedCount), p.records //nolint:gosec // Counts of nodes.
	if p.unreadable != "" {
		p.set(conditionObserved, condition.False("NodesUnreadable", p.unreadable))
	} else {
		p.set(conditionObserved, condition.True("WitnessesReport", fmt.Sprintf("%d nodes are observed", p.total)))
	}
	p.reportProblems()
	p.reportFenceable()
	p.reportRecovered()
}

// describeForced returns the texts about nodes with forced_down that this object has not set, and does not clear: another user, or a
// HypervisorRecovery that was deleted, has set it. Nova starts no server on them. Before 2.53, a request has the host, and Nova accepts it
// before nova-compute has deleted the domains that were evacuated.
func (p *plan) describeForced() (all []string) {
	for _, n := range p.nodes {
		if !n.isForcedByOther() {
			continue
		}
		servers := "its servers cannot be read"
		if n.forcedServers >= 0 {
			servers = fmt.Sprintf("it has %d servers", n.forcedServers)
		}
		all = append(all, fmt.Sprintf("forced_down of %s was not set by this object, and %s: after the node is back, run openstack "+
			"--os-compute-api-version 2.53 compute service set --up %s nova-compute", n.name, servers, n.name))
	}
	return all
}

// reportProblems sets the condition about obstacles. It has the reason of the first one.
func (p *plan) reportProblems() {
	var all []string
	slices.SortStableFunc(p.problems, func(a, b problem) int { return a.rank() - b.rank() })
	for _, x := range p.problems {
		all = append(all, x.message)
	}
	switch {
	case p.unreadable != "": // No node is changed.
		p.set(conditionUnblocked, condition.False("NodesUnreadable", joinMessages(append([]string{p.unreadable}, all...))))
	case len(all) > 0:
		p.set(conditionUnblocked, condition.False(p.problems[0].reason, joinMessages(all)))
	default:
		p.set(conditionUnblocked, condition.True("NothingBlocks", "nothing prevents a recovery"))
	}
}

// rank orders problems that destroy data before the others. The reason of the first one determines whether a dry run pages an operator.
func (x problem) rank() int {
	switch {
	case isUrgent(x.reason):
		return 0
	case x.reason == stoppedByMode:
		return 1
	}
	return 2
}

// reportFenceable sets the condition about healthy nodes, of which no server is down yet.
func (p *plan) reportFenceable() {
	var all []string
	for _, u := range p.recovery.Status.UnfenceableNodes {
		all = append(all, fmt.Sprintf("%s could not be powered off: %s", u.NodeName, u.Reason))
	}
	if len(all) > 0 {
		p.set(conditionFenceable, condition.False("FencingUnavailable", joinMessages(all)))
		return
	}
	if names := p.unverified(); len(names) > 0 {
		p.set(conditionFenceable, condition.Unknown("WaitingForVerification", fmt.Sprintf("one node is verified every %s, and %d were not "+
			"verified yet: %s", controller.Poll, len(names), condition.JoinNames(names))))
		return
	}
	p.set(conditionFenceable, condition.True("NodesFenceable", "no problem is known"))
}

// reportRecovered sets the condition about nodes that are being recovered, and about other nodes that have failed perhaps.
func (p *plan) reportRecovered() {
	forced := p.describeForced()
	reason, all := "Recovering", []string{}
	switch {
	case len(p.records) > 0:
	case len(forced) > 0:
		reason = "ForcedDown"
	case p.crowded != nil:
		reason = p.crowded.reason
	case len(p.doubts) > 0:
		reason = p.doubts[0].reason
	default:
		p.set(conditionRecovered, condition.True("NoneFailed", "no node is being recovered"))
		return
	}
	for i := range p.records {
		r := &p.records[i]
		text := fmt.Sprintf("%s is %s", r.NodeName, r.State)
		if r.State == openstackv1.RecoverySuspected && p.recovery.Spec.Mode != openstackv1.RecoveryRecover {
			reason, text = "DryRun", r.NodeName+" would be powered off with spec.mode Recover"
		}
		if count := p.waiting[r.NodeName]; count > 0 {
			text += fmt.Sprintf(", and %d of its servers wait for the end of other evacuations (parallelServers)", count)
		}
		all = append(all, text)
	}
	all = append(all, forced...)
	if p.crowded != nil {
		all = append(all, p.crowded.message)
	}
	for _, d := range p.doubts {
		all = append(all, d.message)
	}
	p.set(conditionRecovered, condition.False(reason, joinMessages(all)))
}

// unverified returns the names of healthy nodes with an entry in the spec that were never verified.
func (p *plan) unverified() (names []string) {
	for _, n := range p.nodes {
		isVerified := func(v openstackv1.VerifiedNode) bool { return v.NodeName == n.name && v.Verified }
		if n.canBeVerified() && n.config != nil && !slices.ContainsFunc(p.recovery.Status.VerifiedNodes, isVerified) {
			names = append(names, n.name)
		}
	}
	return names
}

// canBeVerified reports whether no witness that counts reports a failure of a node of the pool.
func (n *node) canBeVerified() bool {
	return !n.removed && n.record == nil && n.evidence.conclude() == healthy
}

// verifiedNodes returns the results of verifications, including this pass.
func (p *plan) verifiedNodes() []openstackv1.VerifiedNode {
	var out []openstackv1.VerifiedNode
	for _, n := range p.nodes {
		v := openstackv1.VerifiedNode{
			NodeName: n.name, Probe: p.confirmedProbe(n), SystemUUID: n.uuidOfNode(), Addresses: n.addresses(),
			Verified: n.verified && n.failures != 1, // A first failure is verified again.
		}
		if i := slices.IndexFunc(p.recovery.Status.VerifiedNodes, func(v openstackv1.VerifiedNode) bool { return v.NodeName == n.name }); i >= 0 {
			v.SystemUUID = cmp.Or(v.SystemUUID, p.recovery.Status.VerifiedNodes[i].SystemUUID)
			v.Verified = v.Verified || p.recovery.Status.VerifiedNodes[i].Verified
			if n.node == nil {
				v.Addresses = p.recovery.Status.VerifiedNodes[i].Addresses
			}
		}
		if (v.Probe != "" || v.SystemUUID != "" || v.Verified) && !n.removed && len(out) < nodeLimit {
			out = append(out, v)
		}
	}
	return out
}

// unfenceable returns the healthy nodes that could not be powered off, with the result of this pass. Nodes and entries that do not match
// are last: pools can have many.
func (p *plan) unfenceable() []openstackv1.UnfenceableNode {
	var out, others []openstackv1.UnfenceableNode
	for _, n := range p.nodes {
		if !n.canBeVerified() {
			continue
		}
		i := slices.IndexFunc(p.recovery.Status.UnfenceableNodes, func(u openstackv1.UnfenceableNode) bool { return u.NodeName == n.name })
		known := i >= 0 && p.recovery.Status.UnfenceableNodes[i].Reason != noEntry
		switch {
		case n.config == nil:
			others = append(others, openstackv1.UnfenceableNode{NodeName: n.name, Reason: noEntry})
		case n.problem != "" && n.failures > 1:
			out = append(out, openstackv1.UnfenceableNode{NodeName: n.name, Reason: condition.Truncate(n.problem, reasonLimit)})
		case known && (!n.verified || n.problem != ""):
			out = append(out, p.recovery.Status.UnfenceableNodes[i])
		}
	}
	for i := range p.recovery.Spec.Nodes {
		name := string(p.recovery.Spec.Nodes[i].Name)
		if !slices.ContainsFunc(p.nodes, func(n *node) bool { return n.name == name && !n.removed }) {
			others = append(others, openstackv1.UnfenceableNode{
				NodeName: name, Reason: "the pool has no node with this name: correct or remove its entry",
			})
		}
	}
	out = append(out, others...)
	return out[:min(len(out), recordLimit)]
}

// witnesses returns the reports about a node.
func (n *node) witnesses() []string {
	out := []string{
		"OpenStack: " + string(n.evidence.openStack), "kubelet: " + string(n.evidence.kubernetes), "network: " + string(n.evidence.network),
	}
	power := "power: unknown"
	if n.deviceProblem == "" && n.power != "" {
		power = "power: " + string(n.power)
	}
	return append(out, condition.Truncate(power, witnessLimit))
}

// describe returns the message of a problem with a node.
func (n *node) describe(reason string) string {
	reports := strings.Join(n.witnesses(), ", ")
	switch reason {
	case tooManyFailed: // More than the status can have.
		return fmt.Sprintf("%s is not recovered before others have returned, because status.recoveries has at most %d nodes", n.name, recordLimit)
	case stoppedByMode:
		return fmt.Sprintf("%s is %s, and its servers stay down with spec.mode DryRun: set it to Recover, or evacuate them manually after the "+
			"power of the node is off and requestedServers is empty (%s)", n.name, n.record.State, reports)
	case "FencingUnavailable":
		return fmt.Sprintf("%s cannot be powered off, or its power cannot be verified: %s", n.name, n.deviceProblem)
	case "PowerStillOn":
		return fmt.Sprintf("the power of %s is not off %s after the request: switch it off manually", n.name, powerTimeout)
	case duplicateServers:
		return fmt.Sprintf("%s runs, although its controller has reported that its power is off: servers run twice, and destroy their disks: "+
			"switch "+
			"the node off now, and repair its controller (%s)", n.name, reports)
	case mayRunTwice:
		return fmt.Sprintf("%s runs, and servers were evacuated from it: if it was not restarted after %s, they run twice: switch it off now. "+
			"If it was, repair its kubelet, or restart it (%s)", n.name, n.record.PowerOffTime.UTC().Format(time.RFC3339), reports)
	case "ObservationInterrupted":
		return fmt.Sprintf("%s has failed, and is not powered off, because the witnesses could not be read without interruptions: repair the "+
			"services "+
			"that do not respond, or power the node off manually", n.name)
	case "Excluded":
		return fmt.Sprintf("%s has failed, and is not recovered, because %s: its servers are evacuated after that ends", n.name, n.excluded)
	case "RemovedFromPool":
		return fmt.Sprintf("%s was removed from the pool while its recovery was %s: add it again, or delete its nova-compute from Nova", n.name,
			n.record.State)
	case "PowerIsOn":
		return fmt.Sprintf("servers can be evacuated from %s, and its power is on again: repair it, or switch it off at its controller", n.name)
	case "AgentsDown":
		return n.name + " is back, and its nova-compute does not report: it stays forced down"
	case "PartitionPossible":
		text := fmt.Sprintf("%s does not report, and its network may have failed (%s)", n.name, reports)
		if n.probeProblem != "" {
			text += ": " + n.probeProblem
		}
		return text
	case witnessesDisagree:
		return fmt.Sprintf("%s is not recovered, because a witness reports that it runs (%s)", n.name, reports)
	}
	return fmt.Sprintf("%s is not recovered, because less than two witnesses report a failure (%s)", n.name, reports)
}

// shownMessages is the maximum number of messages in a condition.
const shownMessages = 5

// joinMessages joins the first messages, and the number of the others.
func joinMessages(all []string) string {
	if len(all) <= shownMessages {
		return strings.Join(all, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(all[:shownMessages], "; "), len(all)-shownMessages)
}

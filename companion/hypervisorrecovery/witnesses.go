package hypervisorrecovery

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// weigh determines the reports of OpenStack and of the kubelet, and which nodes are excluded. A witness to which no other node of the
// pool reports has failed itself, or cannot be distinguished from one that has: nodes that do not report to it are counted, so that an
// operator gets a report.
func (obs *observation) weigh() {
	up, ready := 0, 0
	for _, n := range obs.nodes {
		n.evidence = evidence{openStack: n.openStack(), kubernetes: n.kubernetes(), network: unknown}
		if n.evidence.openStack == alive && n.service.Up {
			up++
		}
		if n.evidence.kubernetes == alive {
			ready++
		}
	}
	for _, n := range obs.nodes {
		obs.count(n)
		if up == 0 && n.evidence.openStack == unreachable {
			n.evidence.openStack = unknown
		}
		if ready == 0 && n.evidence.kubernetes == unreachable {
			n.evidence.kubernetes = unknown
		}
	}
}

// count determines whether a node is excluded, and counts it.
func (obs *observation) count(n *node) {
	n.excluded = n.exclusion()
	if n.excluded != "" && (n.record == nil || n.removed) {
		return
	}
	obs.total++
	isSilent := n.evidence.openStack == unreachable || n.evidence.kubernetes == unreachable
	n.unreported = isSilent && !n.isChanged()
	if isSilent || n.isChanged() {
		obs.failedCount++
	}
}

// openStack returns the report of nova-compute and of Neutron's agents. Nova reports a host with forced_down as down, whether it runs or
// not.
func (n *node) openStack() sight {
	switch {
	case n.service == nil || n.service.Unknown:
		return unknown
	case n.service.Up || n.agentAlive:
		return alive
	case n.service.ForcedDown:
		return unknown
	}
	return unreachable
}

// kubernetes returns the report of the kubelet. The node controller sets the condition Ready to Unknown when the kubelet does not renew its
// Lease; a kubelet that reports False runs.
func (n *node) kubernetes() sight {
	if n.node == nil {
		return unknown
	}
	for _, c := range n.node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown {
			return unreachable
		} else if c.Type == corev1.NodeReady {
			return alive
		}
	}
	return unknown
}

// exclusion returns why a node must not be recovered; "" if it may.
func (n *node) exclusion() string {
	switch s := n.service; {
	case n.removed:
		return "it is not in the pool"
	case s == nil:
		return "Nova has no record of its nova-compute"
	case n.isChanged() || n.record != nil && n.record.FenceTime != nil: // The request may still be executed.
		return ""
	case s.MaintainedBy() != "":
		return "NodeMaintenance " + s.MaintainedBy() + " maintains it"
	case s.Disabled && !strings.HasPrefix(s.Reason, automatic):
		return fmt.Sprintf("its nova-compute is disabled (%q)", s.Reason)
	case n.node != nil && n.node.Spec.Unschedulable:
		return "its Node is cordoned"
	case n.isForcedByOther():
		return "another user has set forced_down"
	}
	return ""
}

// isChanged reports whether this recovery has proven that the power of the node was off.
func (n *node) isChanged() bool {
	return n.record != nil && slices.Contains([]openstackv1.RecoveryState{
		openstackv1.RecoveryEvacuating, openstackv1.RecoveryEvacuated, openstackv1.RecoveryReturning,
	}, n.record.State)
}

// isCrowded reports whether too many nodes have failed.
func (obs *observation) isCrowded() bool {
	const percent = 100
	return obs.failedCount*percent > int(obs.recovery.Spec.MaxFailedPercent)*obs.total
}

// isWatched reports whether only the network of a node is read: no server can be evacuated anymore, and it must not run. Its power is read
// after a response.
func (n *node) isWatched() bool {
	return !n.removed && n.record != nil && n.record.State == openstackv1.RecoveryEvacuated && len(n.servers.pending) == 0 &&
		n.record.PowerOffTime != nil
}

// needsInspection reports whether the network and the management controller of a node have to be read. A node from which no server can be
// evacuated waits for its return, which the kubelet reports.
func (n *node) needsInspection() bool {
	if n.record != nil && (n.record.State == openstackv1.RecoveryEvacuated || n.record.State == openstackv1.RecoveryReturning) &&
		len(n.servers.pending) == 0 {
		return false
	}
	return !n.removed && (n.record != nil || n.excluded == "" && n.evidence.conclude() != healthy)
}

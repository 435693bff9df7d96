package servicecheck

import (
	"context"
	"fmt"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// blocker is a reason for which no record of a removed node is deleted.
type blocker struct {
	// selfResolving is set if the reason disappears without intervention.
	selfResolving bool
	why           func(leftovers) string
}

// blockers are evaluated in this order; the first that applies is reported. Nova and Placement reject most of these cases
// themselves.
var blockers = []blocker{
	// Nova lists neither the servers nor the migrations of the cell.
	{true, func(r leftovers) string {
		if r.service != nil && r.service.Unknown {
			return "the database of its cell does not respond"
		}
		return ""
	}},
	// The process may run without its pod: the node is not removed while the process reports.
	{true, func(r leftovers) string {
		if r.service != nil && r.service.Up {
			return "its nova-compute still reports"
		}
		return ""
	}},
	{true, func(r leftovers) string {
		for _, a := range r.agents {
			if a.Alive {
				return "Neutron agent " + a.Type + " still reports"
			}
		}
		return ""
	}},
	// The disks of the servers may be on the node.
	{false, func(r leftovers) string {
		if n := len(r.servers); n > 0 {
			return fmt.Sprintf("%s: bring the node back, or evacuate them (openstack server evacuate), or delete them", machines(n))
		}
		return ""
	}},
	{false, func(r leftovers) string {
		if r.migrations > 0 {
			return fmt.Sprintf("%d migrations from or to the node are unfinished: confirm or revert them (openstack server migration list "+
				"--host %s)",
				r.migrations, r.node)
		}
		return ""
	}},
	// A node that returns removes local data of evacuated servers only while its service record exists.
	{false, func(r leftovers) string {
		n := 0
		for _, p := range r.providers {
			n = max(n, p.Consumers)
		}
		if n > 0 {
			return fmt.Sprintf("Placement still has allocations of %d servers on the node, such as evacuated ones: if the "+
				"node does not return, run openstack compute service delete, and openstack resource provider allocation delete for the rest", n)
		}
		return ""
	}},
	// Nova searches the service in one cell after the other (_find_service_in_cell of nova/compute/api.py).
	{true, func(r leftovers) string {
		if r.isPartial {
			return "Nova can delete its records when the databases of all cells respond"
		}
		return ""
	}},
}

func machines(n int) string {
	if n == 1 {
		return "it has 1 server"
	}
	return fmt.Sprintf("it has %d servers", n)
}

// firstBlocker returns the first blocker of a node, and whether it resolves without intervention; "" if none exists.
func (r leftovers) firstBlocker() (why string, settles bool) {
	for _, o := range blockers {
		if why := o.why(r); why != "" {
			return why, o.selfResolving
		}
	}
	return "", false
}

// removableNodes returns the leftovers that can be removed.
func (obs *observation) removableNodes() (out []leftovers) {
	for _, r := range obs.leftovers {
		if why, _ := r.firstBlocker(); why == "" {
			out = append(out, r)
		}
	}
	return out
}

// removedNodesCondition returns the condition of removed nodes.
func (obs *observation) removedNodesCondition() condition.State {
	var retained, leaving []string
	for _, r := range obs.leftovers {
		switch why, settles := r.firstBlocker(); {
		case why == "":
		case settles:
			leaving = append(leaving, r.node+" was removed, and "+why)
		default:
			retained = append(retained, r.node+" was removed, and "+why)
		}
	}
	switch {
	case len(retained) > 0:
		return condition.False("NodeInUse", strings.Join(append(retained, leaving...), "; "))
	case len(obs.absent()) > 0:
		return condition.True("PodsMissing", "nova-compute has no pod on "+strings.Join(obs.absent(), ", ")+"; they are considered removed only "+
			"while the DaemonSets of all pools have a pod on each of their nodes")
	case len(leaving) > 0:
		return condition.True("RecordRemovalPending", strings.Join(leaving, "; "))
	}
	return condition.True("NoRecordsLeft", "no records of removed nodes are left")
}

// summary lists the removed records of a node.
func (r leftovers) summary() string {
	var out []string
	if r.service != nil {
		out = append(out, "its compute service")
	}
	if n := len(r.providers); n > 0 {
		out = append(out, "its resource providers")
	}
	for _, a := range r.agents {
		out = append(out, a.Type)
	}
	return r.node + ": " + strings.Join(out, ", ")
}

// clear removes the records of nodes. Nova deletes the resource provider with the service, removes the host from its
// aggregates and its cell, and rejects the request if the host has servers. The provider remains only if Nova could not reach
// Placement.
func (obs *observation) clear(stale []leftovers) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		for _, r := range stale {
			if err := obs.clearNode(ctx, r); err != nil {
				return controller.Rejected("RejectedByService", err)
			}
		}
		return obs.count(ctx, env)
	}
}

func (obs *observation) clearNode(ctx context.Context, r leftovers) error {
	if r.service != nil {
		if err := obs.removed(obs.nova.Delete(ctx, r.service.ID)); err != nil {
			return err
		}
	}
	for _, p := range r.providers {
		if err := obs.removed(obs.nova.DeleteProvider(ctx, p)); err != nil {
			return err
		}
	}
	for _, a := range r.agents {
		if err := obs.removed(obs.nova.DeleteAgent(ctx, a.ID)); err != nil {
			return err
		}
	}
	return nil
}

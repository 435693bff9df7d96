package servicecheck

import (
	"context"
	"fmt"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// blocker is why nothing is removed of a node that has left.
type blocker struct {
	// selfResolving: it ends by itself.
	selfResolving bool
	why           func(leftovers) string
}

// blockers are all that there are: the first that a node has is told. Nova and Placement refuse most of it themselves.
var blockers = []blocker{
	// The process may run without its pod: while it reports it is not gone.
	{true, func(r leftovers) string {
		if r.service != nil && r.service.Up {
			return "its nova-compute has reported lately"
		}
		return ""
	}},
	{true, func(r leftovers) string {
		for _, a := range r.agents {
			if a.Alive {
				return "Neutron's agent " + a.Type + " has reported lately"
			}
		}
		return ""
	}},
	// Their disks may be on it.
	{false, func(r leftovers) string {
		if n := len(r.servers); n > 0 {
			return fmt.Sprintf("%s: bring the node back, or evacuate them (openstack server evacuate), or delete them", machines(n))
		}
		return ""
	}},
	{false, func(r leftovers) string {
		if r.migrations > 0 {
			return fmt.Sprintf("%d migrations from it or to it are not over: confirm or revert them (openstack server migration list --host %s)",
				r.migrations, r.node)
		}
		return ""
	}},
	// Of one that was evacuated, the node would remove what it has of it when it comes back: it does not without its service.
	{false, func(r leftovers) string {
		n := 0
		for _, p := range r.providers {
			n = max(n, p.Consumers)
		}
		if n > 0 {
			return fmt.Sprintf("Placement still has parts of it given to %d virtual machines, such as those that were evacuated from it: if the "+
				"node never comes back, run openstack compute service delete, and openstack resource provider allocation delete for what stays", n)
		}
		return ""
	}},
}

func machines(n int) string {
	if n == 1 {
		return "1 virtual machine is on it"
	}
	return fmt.Sprintf("%d virtual machines are on it", n)
}

// firstBlocker is the first that there is.
func (r leftovers) firstBlocker() (why string, settles bool) {
	for _, o := range blockers {
		if why := o.why(r); why != "" {
			return why, o.selfResolving
		}
	}
	return "", false
}

// removableNodes are what is left of nodes of which everything may go.
func (obs *observation) removableNodes() (out []leftovers) {
	for _, r := range obs.leftovers {
		if why, _ := r.firstBlocker(); why == "" {
			out = append(out, r)
		}
	}
	return out
}

// removedNodesCondition is the state of nodes that have left.
func (obs *observation) removedNodesCondition() condition.State {
	var retained, leaving []string
	for _, r := range obs.leftovers {
		switch why, settles := r.firstBlocker(); {
		case why == "":
		case settles:
			leaving = append(leaving, r.node+" has left, and "+why)
		default:
			retained = append(retained, r.node+" has left, and "+why)
		}
	}
	switch {
	case len(retained) > 0:
		return condition.False("NodeInUse", strings.Join(append(retained, leaving...), "; "))
	case len(obs.absent()) > 0:
		return condition.True("PodsMissing", "nova-compute has no pod on "+strings.Join(obs.absent(), ", ")+"; whether they have left is known "+
			"when the DaemonSets of all pools have a pod on each of their nodes")
	case len(leaving) > 0:
		return condition.True("NodeLeaving", strings.Join(leaving, "; "))
	}
	return condition.True("NothingLeft", "nothing is left of nodes that have gone")
}

// words names what is removed of a node.
func (r leftovers) words() string {
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

// clear removes what is left of nodes. Nova removes the resource provider with the service, takes the host out of its aggregates and out
// of its cell, and refuses where virtual machines are; only if it could not reach Placement is the provider still there.
func (obs *observation) clear(gone []leftovers) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		for _, r := range gone {
			if err := obs.clearNode(ctx, r); err != nil {
				return controller.Refused("ServiceRefuses", err)
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

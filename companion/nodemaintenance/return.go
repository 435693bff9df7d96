package nodemaintenance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

const (
	// settleTime is the time for which a node must be back. It is longer than Nova and Neutron trust a report from before the reboot
	// (service_down_time 60 s, agent_down_time 75 s).
	settleTime = 2 * time.Minute
	// agentTimeout is the time after which missing agents block the return.
	agentTimeout = 15 * time.Minute
)

// nodeAbsence returns why the node is not back; "" if it is.
func (obs *observation) nodeAbsence() string {
	if obs.node == nil {
		return "the Node does not exist"
	}
	for _, c := range obs.node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			if obs.node.Spec.Unschedulable {
				return "the Node is cordoned"
			}
			return ""
		}
	}
	return "the Node is not ready"
}

// hold takes the next step of a drained node.
func (obs *observation) hold() controller.Decision {
	isReturn := obs.order.Spec.Mode == openstackv1.MaintenanceReturn
	rebooted := obs.node != nil && obs.bootID() != obs.order.Status.BootID
	absence := obs.nodeAbsence()
	switch {
	case obs.nodeProblem != "":
		return obs.blocked(condition.False("NodeUnreadable", obs.nodeProblem))
	case (rebooted || isReturn) && absence == "":
		return controller.Decision{
			Name: "Returning", Note: fmt.Sprintf("node %s is back", obs.order.Spec.NodeName), Record: true, RequeueAfter: controller.Poll,
			Status: func() {
				obs.order.Status.ReturnTime = obs.time()
				obs.reportReturning("its agents are verified for " + settleTime.String())
			},
		}
	case !rebooted && !isReturn && obs.service.Up && (!obs.service.Disabled || len(obs.remaining()) > 0 || !obs.emptiness().True):
		// A server arrived, or another user enabled nova-compute.
		return controller.Decision{Name: "Draining", Record: true, RequeueAfter: shortestInterval, Status: func() {
			obs.order.Status.DrainedTime, obs.order.Status.BootID = nil, ""
			obs.progress(obs.plan())
		}}
	}
	return controller.Decision{RequeueAfter: controller.Poll, Status: func() {
		obs.reportDrained()
		if absence != "" || !obs.service.Up || rebooted {
			obs.order.Status.State = openstackv1.MaintenanceInMaintenance
		}
	}}
}

// verify takes the next step of a node that is back.
func (obs *observation) verify() controller.Decision {
	since := obs.order.Status.ReturnTime.Time
	missing := obs.missing()
	switch {
	case obs.nodeProblem != "":
		return obs.blocked(condition.False("NodeUnreadable", obs.nodeProblem))
	case obs.disabledHere() && obs.nodeAbsence() != "":
		return controller.Decision{Name: "InMaintenance", Record: true, RequeueAfter: controller.Poll, Status: func() {
			obs.order.Status.ReturnTime = nil
			obs.reportDrained()
			obs.order.Status.State = openstackv1.MaintenanceInMaintenance
		}}
	case obs.disabledByOther() != "":
		return obs.blocked(condition.False("DisabledByOther", fmt.Sprintf("%s disabled nova-compute on %[2]s: enable it with openstack "+
			"compute service set --enable %[2]s nova-compute", obs.disabledByOther(), obs.order.Spec.NodeName)))
	case len(missing) > 0 && obs.now.Sub(since) > agentTimeout:
		return obs.blocked(condition.False("AgentsDown", fmt.Sprintf("%s is back, and does not return to service: %s",
			obs.order.Spec.NodeName, strings.Join(missing, "; "))))
	case len(missing) > 0 || obs.now.Sub(since) < settleTime:
		return controller.Decision{RequeueAfter: controller.Poll, Status: func() {
			obs.reportReturning(strings.Join(append(missing, "its agents are verified for "+settleTime.String()), "; "))
		}}
	case obs.service.Disabled:
		return obs.enable(func() { obs.reportReturning("nova-compute is being enabled") })
	}
	if ids := obs.confirmable(); len(ids) > 0 {
		return obs.confirm(ids, func() { obs.reportReturning("cold migrations are confirmed") })
	}
	off, changing := obs.stopped()
	report := func() { obs.reportReturning("its stopped servers are started") }
	switch {
	case len(off) > 0:
		note := fmt.Sprintf("started %d servers of node %s", len(off), obs.order.Spec.NodeName)
		return obs.act("Starting", note, report, func(ctx context.Context) []error {
			return obs.startServers(ctx, off)
		})
	case changing:
		return controller.Decision{RequeueAfter: controller.Poll, Status: report}
	}
	return controller.Decision{
		Name: "InService", Note: fmt.Sprintf("node %s is in service", obs.order.Spec.NodeName), Record: true,
		RequeueAfter: controller.MinRequeueInterval, Status: func() {
			s := &obs.order.Status
			s.State, s.Plan, s.StoppedServers = openstackv1.MaintenanceInService, nil, nil
			obs.set(conditionDrained, condition.False("InService", "the node accepts servers"))
			obs.set(conditionUnblocked, condition.True("InService", "the maintenance has ended"))
		},
	}
}

// missing returns the agents that do not report.
func (obs *observation) missing() []string {
	var out []string
	if !obs.service.Up {
		out = append(out, "nova-compute does not report")
	}
	if len(obs.agents) == 0 {
		out = append(out, "Neutron has no agent on the node")
	}
	for _, a := range obs.agents {
		if !a.Alive {
			out = append(out, a.Type+" does not report")
		}
	}
	slices.Sort(out)
	return out
}

// enable enables nova-compute.
func (obs *observation) enable(report func()) controller.Decision {
	return obs.act("Enabled", "enabled nova-compute on "+obs.service.Host, report, func(ctx context.Context) []error {
		return []error{obs.nova.Enable(ctx, *obs.service)}
	})
}

// stopped returns the servers that the order stopped, and that are still stopped on the node. changing is set if an operation on one of
// them is in progress.
func (obs *observation) stopped() (off []string, changing bool) {
	for i := range obs.candidates {
		c := &obs.candidates[i]
		switch {
		case !slices.Contains(obs.order.Status.StoppedServers, c.ID):
		case c.Task != "":
			changing = true
		case c.Status == "SHUTOFF":
			off = append(off, c.ID)
		}
	}
	return off, changing
}

func (obs *observation) startServers(ctx context.Context, ids []string) (errs []error) {
	for _, id := range ids {
		errs = append(errs, obs.nova.Start(ctx, id))
	}
	return errs
}

// cancel ends the maintenance of an order that is being deleted.
func (obs *observation) cancel() controller.Decision {
	switch {
	case !obs.finalized():
		return controller.Decision{} // It is about to be deleted.
	case !obs.started() || obs.ended() || obs.removed:
		return controller.Decision{Name: "Finalized", Action: obs.finalize(false)}
	case obs.unavailable.Reason != "":
		return controller.Decision{RequeueAfter: controller.Poll, Status: obs.reportUnavailable}
	case obs.disabledHere():
		return obs.enable(func() {})
	}
	if ids := obs.confirmable(); len(ids) > 0 {
		return obs.confirm(ids, func() {})
	}
	off, changing := obs.stopped()
	switch {
	case len(off) > 0:
		return controller.Decision{
			Name: "Starting", Note: fmt.Sprintf("started %d servers of node %s", len(off), obs.order.Spec.NodeName),
			RequeueAfter: shortestInterval, Action: obs.startAndFinalize(off),
		}
	case changing:
		return controller.Decision{RequeueAfter: controller.Poll}
	}
	return controller.Decision{Name: "Finalized", Action: obs.finalize(false)}
}

// startAndFinalize starts servers. A server that Nova does not start must not keep the object: the finalizer is removed, and its owner can
// start it.
func (obs *observation) startAndFinalize(ids []string) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		var unknown []error
		rejected := 0
		for _, err := range obs.startServers(ctx, ids) {
			switch {
			case compute.Rejected(err):
				rejected++
			case err != nil:
				unknown = append(unknown, err)
			}
		}
		if len(unknown) > 0 || rejected < len(ids) {
			return obs.rejected(unknown...)
		}
		return obs.finalize(false)(ctx, env)
	}
}

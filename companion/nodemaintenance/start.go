package nodemaintenance

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// finalizer delays the deletion of a started order until the node accepts servers again.
const finalizer = "openstack.c5c3.io/node-maintenance"

func (obs *observation) finalized() bool {
	return controllerutil.ContainsFinalizer(obs.order, finalizer)
}

// finalize adds the finalizer, or removes it.
func (obs *observation) finalize(keep bool) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		if keep {
			controllerutil.AddFinalizer(obs.order, finalizer)
		} else {
			controllerutil.RemoveFinalizer(obs.order, finalizer)
		}
		if err := env.Client.Update(ctx, obs.order); err != nil {
			return fmt.Errorf("cannot write the finalizer: %w", err)
		}
		return nil
	}
}

// disabledByOther returns who disabled nova-compute; "" if it is enabled, or if this order did. An order takes over a node that is
// cordoned.
func (obs *observation) disabledByOther() string {
	s := obs.service
	switch by := s.MaintainedBy(); {
	case !s.Disabled || s.Cordoned() || by == obs.order.Name:
		return ""
	case by != "":
		return "NodeMaintenance " + by
	}
	return fmt.Sprintf("another user (%q)", s.Reason)
}

// disabledHere reports whether this order disabled nova-compute.
func (obs *observation) disabledHere() bool { return obs.service.MaintainedBy() == obs.order.Name }

// nameOfOrderLimit is the maximum length of the name of an order, which is part of the reason in Nova: it has at most 255 characters.
const nameOfOrderLimit = 200

// obstruction returns why the node cannot be drained; its reason is "" if it can.
func (obs *observation) obstruction(moves []move) condition.State {
	by := obs.disabledByOther()
	switch {
	case len(obs.order.Name) > nameOfOrderLimit:
		return condition.False("NameTooLong", fmt.Sprintf("metadata.name: must have at most %d characters, because Nova stores it; create "+
			"another NodeMaintenance", nameOfOrderLimit))
	case obs.nodeProblem != "":
		return condition.False("NodeUnreadable", obs.nodeProblem)
	case by != "":
		return condition.False("DisabledByOther", fmt.Sprintf("%s disabled nova-compute on %[2]s: the maintenance continues after it is "+
			"enabled, with openstack compute service set --enable %[2]s nova-compute", by, obs.order.Spec.NodeName))
	case !obs.service.Up && len(obs.remaining()) > 0:
		return condition.False("ComputeDown", fmt.Sprintf("nova-compute on %s does not report, and its servers cannot be moved",
			obs.order.Spec.NodeName))
	}
	if why := blockers(moves); len(why) > 0 {
		return condition.False("ServersBlocked", joinMessages(why))
	}
	return condition.State{}
}

// maxNodes returns the number of nodes of the pool that may be in maintenance.
func (obs *observation) maxNodes() int {
	most := obs.order.Spec.MaxNodes
	for i := range obs.others {
		most = min(most, obs.others[i].Spec.MaxNodes)
	}
	return int(max(most, 1))
}

// isFull reports whether the pool has no place for this order.
func (obs *observation) isFull() bool { return len(obs.others) >= obs.maxNodes() }

// isFirst reports whether this order started before enough of the others that it keeps its place. All orders compare in the same way.
func (obs *observation) isFirst() bool {
	before := 0
	for i := range obs.others {
		other, own := &obs.others[i], obs.order
		switch c := other.Status.StartTime.Compare(own.Status.StartTime.Time); {
		case c < 0, c == 0 && strings.Compare(other.Name, own.Name) < 0:
			before++
		}
	}
	return before < obs.maxNodes()
}

// waitsFor returns the names of the orders for which this one waits.
func (obs *observation) waitsFor() condition.State {
	var names []string
	for i := range obs.others {
		names = append(names, obs.others[i].Name)
	}
	return condition.True("WaitingForNodes", fmt.Sprintf("waiting for %d of %d NodeMaintenances of the pool to end: %s",
		len(obs.others)-obs.maxNodes()+1, len(obs.others), condition.JoinNames(names)))
}

// start starts the draining, or reports why it does not start.
func (obs *observation) start() controller.Decision {
	moves := obs.plan()
	problem := obs.obstruction(moves)
	switch {
	case problem.Reason != "":
		return controller.Decision{RequeueAfter: controller.Poll, Status: func() {
			obs.reportPlan()
			obs.block(problem)
		}}
	case obs.isFull():
		return controller.Decision{RequeueAfter: controller.Poll, Status: func() {
			obs.reportPlan()
			obs.set(conditionUnblocked, obs.waitsFor())
		}}
	case !obs.finalized():
		return controller.Decision{Name: "Finalized", Status: obs.reportPlan, Record: true, Action: obs.finalize(true)}
	}
	// The other orders are read again in the next pass, before anything is changed.
	return controller.Decision{
		Name: "Started", Note: fmt.Sprintf("started to drain node %s with %d servers", obs.order.Spec.NodeName, len(moves)), Record: true,
		RequeueAfter: shortestInterval, Status: func() {
			obs.reportPlan()
			obs.order.Status.State, obs.order.Status.StartTime = openstackv1.MaintenanceDraining, obs.time()
			obs.set(conditionDrained, condition.False("Draining", "the draining starts"))
		},
	}
}

func (obs *observation) time() *metav1.Time { return &metav1.Time{Time: obs.now} }

// disable disables nova-compute, unless another order has started at the same moment.
func (obs *observation) disable() controller.Decision {
	switch {
	case obs.isFull() && !obs.isFirst():
		return controller.Decision{Name: "Withdrawn", Record: true, RequeueAfter: controller.Poll, Status: func() {
			obs.reportPlan()
			obs.order.Status.StartTime = nil
			obs.set(conditionUnblocked, obs.waitsFor())
		}}
	case obs.isFull():
		return controller.Decision{RequeueAfter: controller.Poll, Status: func() {
			obs.progress(obs.plan())
			obs.set(conditionUnblocked, obs.waitsFor())
		}}
	}
	report := func() { obs.progress(obs.plan()) }
	return obs.act("Disabled", "disabled nova-compute on "+obs.service.Host, report, func(ctx context.Context) []error {
		return []error{obs.nova.Disable(ctx, *obs.service, compute.MaintenanceReason+obs.order.Name)}
	})
}

package nodemaintenance

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

func (obs *observation) set(name string, s condition.State) {
	obs.order.Status.ObservedGeneration = obs.order.Generation
	condition.Set(&obs.order.Status.Conditions, name, obs.order.Generation, obs.now, s)
}

// unblock reports that nothing prevents the maintenance.
func (obs *observation) unblock() {
	obs.set(conditionUnblocked, condition.True("NothingBlocks", "no server blocks the maintenance"))
}

// block reports that an operator has to act.
func (obs *observation) block(problem condition.State) {
	obs.order.Status.State = openstackv1.MaintenanceBlocked
	obs.set(conditionUnblocked, problem)
}

// blocked waits until an operator has acted.
func (obs *observation) blocked(problem condition.State) controller.Decision {
	return controller.Decision{RequeueAfter: controller.Poll, Status: func() { obs.block(problem) }}
}

// reportUnavailable keeps the last plan and the state.
func (obs *observation) reportUnavailable() {
	s := &obs.order.Status
	if s.State == "" {
		s.State = openstackv1.MaintenanceRequested
	}
	obs.set(conditionPlanned, obs.unavailable)
	obs.set(conditionUnblocked, obs.unavailable)
}

// reportServers sets the plan, which describes the servers that are on the node.
func (obs *observation) reportServers(moves []move) {
	s := &obs.order.Status
	s.Plan = obs.report(moves)
	obs.set(conditionPlanned, condition.True("PlanComplete", fmt.Sprintf("%d servers are on the node, and %d of them block the "+
		"maintenance; see status.plan", s.Plan.ServerCount, s.Plan.BlockedCount)))
}

// reportPlan sets the plan of a maintenance that has not started.
func (obs *observation) reportPlan() {
	moves := obs.plan()
	obs.reportServers(moves)
	obs.order.Status.State = openstackv1.MaintenancePlanned
	if why := blockers(moves); len(why) > 0 {
		obs.set(conditionUnblocked, condition.False("ServersBlocked", joinMessages(why)))
	} else {
		obs.unblock()
	}
	if obs.order.Spec.Mode == openstackv1.MaintenancePlan {
		meta.RemoveStatusCondition(&obs.order.Status.Conditions, conditionDrained)
	} else {
		obs.set(conditionDrained, condition.False("NotStarted", "the draining has not started"))
	}
}

// progress reports the servers that are still on the node.
func (obs *observation) progress(moves []move) {
	obs.reportServers(moves)
	obs.order.Status.State = openstackv1.MaintenanceDraining
	message := fmt.Sprintf("%d servers have to leave the node or to stop", len(obs.remaining()))
	if len(obs.remaining()) == 0 {
		message = "the node has no servers that run"
		if state := obs.emptiness(); !state.True {
			message += ", and may get some: " + state.Message
		}
	}
	obs.set(conditionDrained, condition.False("Draining", message))
}

// reportDrained reports a node that is drained, or that was when it was last observed.
func (obs *observation) reportDrained() {
	obs.reportServers(obs.plan())
	obs.order.Status.State = openstackv1.MaintenanceDrained
	obs.unblock()
	if obs.order.Status.DrainedTime == nil {
		obs.set(conditionDrained, condition.False("Draining", "the draining was ended before the node was empty"))
		return
	}
	obs.set(conditionDrained, condition.True("NodeEmpty", fmt.Sprintf("nova-compute is disabled, and %d stopped servers are on the node",
		obs.order.Status.Plan.ServerCount)))
}

// reportReturning reports a node that is back.
func (obs *observation) reportReturning(message string) {
	obs.reportServers(obs.plan())
	obs.order.Status.State = openstackv1.MaintenanceReturning
	obs.unblock()
	obs.set(conditionDrained, condition.False("Returning", "the node is back: "+message))
}

// reportEnded keeps the status.
func (obs *observation) reportEnded() {
	obs.order.Status.ObservedGeneration = obs.order.Generation
}

// isNoValidHost reports whether Nova's scheduler found no node for a server.
func isNoValidHost(message string) bool { return strings.Contains(message, "No valid host") }

package nodemaintenance

import (
	"fmt"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

const (
	// shortestInterval is the minimum interval between two passes that send requests.
	shortestInterval = controller.Poll / 2
	// planInterval is the interval at which a plan is renewed.
	planInterval = time.Minute
)

// next selects the next step.
func next(w *observation) controller.Decision {
	switch {
	case w.limited > 0:
		return controller.Decision{RequeueAfter: w.limited}
	case w.unavailable.Reason != "":
		return controller.Decision{RequeueAfter: controller.Poll, Status: w.reportUnavailable}
	}
	return controller.Decision{RequeueAfter: planInterval, Status: w.reportPlan}
}

// reportUnavailable keeps the last plan.
func (obs *observation) reportUnavailable() {
	s := &obs.order.Status
	if s.State == "" {
		s.State = openstackv1.MaintenanceRequested
	}
	obs.set(conditionPlanned, obs.unavailable)
	obs.set(conditionUnblocked, obs.unavailable)
}

// reportPlan sets the plan of a maintenance that has not started.
func (obs *observation) reportPlan() {
	moves := obs.plan()
	s := &obs.order.Status
	s.State, s.Plan = openstackv1.MaintenancePlanned, obs.report(moves)
	obs.set(conditionPlanned, condition.True("PlanComplete", fmt.Sprintf("%d servers are on the node, and %d of them block the maintenance",
		s.Plan.ServerCount, s.Plan.BlockedCount)))
	if why := blockers(moves); len(why) > 0 {
		obs.set(conditionUnblocked, condition.False("ServersBlocked", joinMessages(why)))
	} else {
		obs.set(conditionUnblocked, condition.True("NothingBlocks", "no server blocks the maintenance"))
	}
}

func (obs *observation) set(name string, s condition.State) {
	obs.order.Status.ObservedGeneration = obs.order.Generation
	condition.Set(&obs.order.Status.Conditions, name, obs.order.Generation, obs.now, s)
}

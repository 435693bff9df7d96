package nodemaintenance

import (
	"time"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

const (
	// shortestInterval is the minimum interval between two passes that send requests.
	shortestInterval = controller.Poll / 2
	// planInterval is the interval at which a plan is renewed.
	planInterval = time.Minute
)

// next selects the next step.
func next(w *observation) controller.Decision {
	s, mode := &w.order.Status, w.order.Spec.Mode
	switch {
	case w.limited > 0:
		return controller.Decision{RequeueAfter: w.limited}
	case w.order.DeletionTimestamp != nil:
		return w.cancel()
	case w.ended() && w.finalized():
		return controller.Decision{Name: "Finalized", Action: w.finalize(false)}
	case w.ended():
		return controller.Decision{RequeueAfter: controller.ResyncInterval, Status: w.reportEnded}
	case w.unavailable.Reason != "":
		return controller.Decision{RequeueAfter: controller.Poll, Status: w.reportUnavailable}
	case !w.started() && mode == openstackv1.MaintenanceDrain:
		return w.start()
	case !w.started():
		return controller.Decision{RequeueAfter: planInterval, Status: w.reportPlan}
	case s.ReturnTime != nil:
		return w.verify()
	case s.DrainedTime != nil || mode == openstackv1.MaintenanceReturn:
		return w.hold()
	}
	return w.drain()
}

// ended reports whether the order has ended.
func (obs *observation) ended() bool {
	return obs.order.Status.State == openstackv1.MaintenanceInService
}

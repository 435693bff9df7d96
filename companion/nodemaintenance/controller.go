package nodemaintenance

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
)

const (
	// conditionPlanned: the plan describes the servers on the node.
	conditionPlanned = "Planned"
	// conditionUnblocked: nothing prevents the maintenance.
	conditionUnblocked = "Unblocked"
	// conditionDrained: the node accepts no servers, and none runs on it.
	conditionDrained = "Drained"
)

var (
	metrics = controller.NewMetrics("node_maintenance")
	blocked = metrics.Gauge("blocked", "1 if the state is Blocked, else 0.")
	servers = metrics.Gauge("servers", "Number of servers on the node.")
)

// Neither the services nor the ServiceCheck are watched.
var kind = controller.Kind[*openstackv1.NodeMaintenance, *observation]{
	Name:          "NodeMaintenance",
	Object:        &openstackv1.NodeMaintenance{},
	Finalizes:     true,
	Observe:       observe,
	Next:          next,
	Conditions:    func(o *openstackv1.NodeMaintenance) *[]metav1.Condition { return &o.Status.Conditions },
	ObservedAt:    func(o *openstackv1.NodeMaintenance) **metav1.Time { return &o.Status.LastObservationTime },
	Incomplete:    func(w *observation) bool { return w.limited > 0 || w.unavailable.Reason != "" },
	Warns:         []string{conditionUnblocked, conditionPlanned},
	Metrics:       metrics,
	ExportMetrics: measure,
}

func measure(o *openstackv1.NodeMaintenance) {
	value, count := 0.0, int32(0)
	if o.Status.State == openstackv1.MaintenanceBlocked {
		value = 1
	}
	blocked.WithLabelValues(o.Namespace, o.Name).Set(value)
	if o.Status.Plan != nil {
		count = o.Status.Plan.ServerCount
	}
	servers.WithLabelValues(o.Namespace, o.Name).Set(float64(count))
}

// Reconciler reconciles NodeMaintenances, one at a time.
type Reconciler controller.Env

// Reconcile takes one step.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=nodemaintenances,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=nodemaintenances/status,verbs=get;update
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=servicechecks,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error {
	return kind.Add(mgr, func(env *controller.Env) error {
		env.Transport = identity.KeepAlive()
		return nil
	})
}

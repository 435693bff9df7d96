package servicecheck

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
)

// conditionReady: the API responds, and all known processes are up.
const conditionReady = "Ready"

// conditionRemovedNodesCleanedUp: no records of removed nodes are left.
const conditionRemovedNodesCleanedUp = "RemovedNodesCleanedUp"

// conditionCordonedNodesEvacuated: no cordoned node has servers, and none can get any.
const conditionCordonedNodesEvacuated = "CordonedNodesEvacuated"

// conditionCounted: the number of servers in the status is complete.
const conditionCounted = "Counted"

var (
	metrics = controller.NewMetrics("service_check")
	up      = metrics.Gauge("processes_up", "Number of processes that report.", "binary")
	down    = metrics.Gauge("processes_down", "Number of processes whose reports are overdue.", "binary")
	removed = metrics.Counter("removed_total", "Number of removed records.")
)

// kind returns the kind, whose checks share a collector. Neither the service nor the StatefulSets are watched.
func kind(c *collector) *controller.Kind[*openstackv1.ServiceCheck, *observation] {
	return &controller.Kind[*openstackv1.ServiceCheck, *observation]{
		Name:          "ServiceCheck",
		Object:        &openstackv1.ServiceCheck{},
		Observe:       c.observe,
		Next:          next,
		Conditions:    func(c *openstackv1.ServiceCheck) *[]metav1.Condition { return &c.Status.Conditions },
		ObservedAt:    func(c *openstackv1.ServiceCheck) **metav1.Time { return &c.Status.LastObservationTime },
		WriteInterval: freshness.GuardWriteInterval,
		Incomplete:    func(w *observation) bool { return w.limited > 0 || w.errorMessage != "" },
		ReadAt:        func(w *observation) time.Time { return w.startedAt },
		Warns:         []string{conditionReady, conditionRemovedNodesCleanedUp},

		FormerConditions: []string{"Cleared", "Evicted"},

		Metrics:       metrics,
		ExportMetrics: measure,
	}
}

func measure(c *openstackv1.ServiceCheck) {
	own := prometheus.Labels{"namespace": c.Namespace, "name": c.Name}
	up.DeletePartialMatch(own)
	down.DeletePartialMatch(own)
	for _, b := range c.Status.Binaries {
		up.WithLabelValues(c.Namespace, c.Name, b.Binary).Set(float64(b.Up))
		down.WithLabelValues(c.Namespace, c.Name, b.Binary).Set(float64(b.Down))
	}
}

// Reconciler reconciles ServiceChecks, one at a time.
type Reconciler struct {
	controller.Env

	collector collector
}

// Reconcile queries the service at most once, removes stale records, and updates the status.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind(&r.collector).Reconcile(ctx, &r.Env, req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=servicechecks,verbs=get;list;watch
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=cellmappings,verbs=list
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=servicechecks/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups=apps,resources=daemonsets;statefulsets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error {
	return kind(&collector{parallel: parallelRequests}).Add(mgr, func(env *controller.Env) error {
		env.Transport = identity.KeepAlive()
		return nil
	})
}

package computecatalog

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// conditionReady: flavors and aggregates in Nova match the spec.
const conditionReady = "Ready"

var (
	metrics = controller.NewMetrics("compute_catalog")
	changed = metrics.Counter("changes_total", "Number of changes in Nova.")
)

// Nova is not watched.
var kind = controller.Kind[*openstackv1.ComputeCatalog, *observation]{
	Name:       "ComputeCatalog",
	Object:     &openstackv1.ComputeCatalog{},
	Observe:    observe,
	Next:       next,
	Conditions: func(c *openstackv1.ComputeCatalog) *[]metav1.Condition { return &c.Status.Conditions },
	ObservedAt: func(c *openstackv1.ComputeCatalog) **metav1.Time { return &c.Status.LastObservationTime },
	Incomplete: func(w *observation) bool { return w.errorMessage != "" },
	Warns:      []string{conditionReady},
	Metrics:    metrics,
}

// Reconciler reconciles ComputeCatalogs.
type Reconciler controller.Env

// Reconcile reads the state of Nova once and corrects differences.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=computecatalogs,verbs=get;list;watch
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=computecatalogs/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error { return kind.Add(mgr) }

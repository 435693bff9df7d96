package roleassignment

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// conditionAvailable: the role is assigned. K-ORC's conditions have the same name.
const conditionAvailable = "Available"

var (
	metrics  = controller.NewMetrics("role_assignment")
	assigned = metrics.Counter("assigned_total", "Number of times the role was assigned: more than once if it was removed.")
)

// Neither K-ORC's objects nor Keystone are watched.
var kind = controller.Kind[*openstackv1.RoleAssignment, *observation]{
	Name:       "RoleAssignment",
	Object:     &openstackv1.RoleAssignment{},
	Finalizes:  true,
	Observe:    observe,
	Next:       next,
	Conditions: func(a *openstackv1.RoleAssignment) *[]metav1.Condition { return &a.Status.Conditions },
	ObservedAt: func(a *openstackv1.RoleAssignment) **metav1.Time { return &a.Status.LastObservationTime },
	Incomplete: func(w *observation) bool { return w.keystone == nil },
	Warns:      []string{conditionAvailable},
	Metrics:    metrics,
}

// Reconciler reconciles RoleAssignments.
type Reconciler controller.Env

// Reconcile takes one step.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=roleassignments,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=roleassignments/status,verbs=get;update
// +kubebuilder:rbac:groups=openstack.k-orc.cloud,resources=domains;groups;projects;roles;users,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error { return kind.Add(mgr) }

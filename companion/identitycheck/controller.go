package identitycheck

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

const (
	// conditionReachable: Keystone issues tokens.
	conditionReachable = "Reachable"
	// conditionPublic: the public address responds as a client expects.
	conditionPublic = "PublicReachable"
	// conditionLockoutExempt: the user that logs in is exempt from lockout and password expiry.
	conditionLockoutExempt = "LockoutExempt"
)

var (
	metrics   = controller.NewMetrics("identity_check")
	lastToken = metrics.Gauge("last_token_timestamp_seconds", "Time of the last token issued by Keystone.")
	failures  = metrics.Counter("failures_total", "Number of failed logins.")
	duration  = metrics.Histogram("duration_seconds", "Duration of successful logins.", []float64{.1, .25, .5, 1, 2.5, 5, 10, 30})
)

var kind = controller.Kind[*openstackv1.IdentityCheck, *observation]{
	Name:       "IdentityCheck",
	Object:     &openstackv1.IdentityCheck{},
	Observe:    observe,
	Next:       next,
	Conditions: func(c *openstackv1.IdentityCheck) *[]metav1.Condition { return &c.Status.Conditions },
	ObservedAt: func(c *openstackv1.IdentityCheck) **metav1.Time { return &c.Status.LastObservationTime },
	Incomplete: func(w *observation) bool { return w.limited > 0 || w.errorMessage != "" || w.err != nil },
	Warns:      []string{conditionPublic, conditionReachable},

	FormerConditions: []string{"Exempt"},

	Metrics: metrics,
}

// Reconciler reconciles IdentityChecks with one worker.
type Reconciler controller.Env

// Reconcile logs in once and updates the status.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=identitychecks,verbs=get;list;watch
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=identitychecks/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error { return kind.Add(mgr) }

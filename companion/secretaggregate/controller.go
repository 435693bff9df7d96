package secretaggregate

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// conditionReady: the Secret contains the current result of its sources and templates.
const conditionReady = "Ready"

var (
	metrics = controller.NewMetrics("secret_aggregate")
	writes  = metrics.Counter("writes_total", "Number of writes of the Secret.")
)

// A SecretAggregate owns its Secret, which is deleted with it.
var kind = controller.Kind[*c5c3v1.SecretAggregate, *observation]{
	Name:       "SecretAggregate",
	Object:     &c5c3v1.SecretAggregate{},
	Secrets:    WatchedSecrets,
	Observe:    observe,
	Next:       next,
	Conditions: func(a *c5c3v1.SecretAggregate) *[]metav1.Condition { return &a.Status.Conditions },
	ObservedAt: func(a *c5c3v1.SecretAggregate) **metav1.Time { return &a.Status.LastObservationTime },
	Incomplete: func(w *observation) bool { return w.protectedSecrets != "" },
	Warns:      []string{conditionReady},
	Metrics:    metrics,
}

// Reconciler reconciles SecretAggregates.
type Reconciler controller.Env

// Reconcile writes the Secret if it differs from the desired one, and otherwise updates the status.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=c5c3.io,resources=secretaggregates,verbs=get;list;watch
// +kubebuilder:rbac:groups=c5c3.io,resources=secretaggregates/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error { return kind.Add(mgr) }

// WatchedSecrets returns the names of the Secrets that a SecretAggregate reads, and of the one that it writes.
func WatchedSecrets(a *c5c3v1.SecretAggregate) []string {
	out := []string{string(a.Spec.TargetSecretName)}
	for _, s := range a.Spec.Sources {
		out = append(out, string(s.SecretKeyRef.Name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

package nodeissuer

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// conditionReady is True if requests can be signed.
const conditionReady = "Ready"

var metrics = controller.NewMetrics("node_issuer")

// kind polls: requests are in no namespace, and the companion caches only objects of its namespace.
var kind = controller.Kind[*c5c3v1.NodeIssuer, *observation]{
	Name:       "NodeIssuer",
	Object:     &c5c3v1.NodeIssuer{},
	Observe:    observe,
	Next:       next,
	Conditions: func(i *c5c3v1.NodeIssuer) *[]metav1.Condition { return &i.Status.Conditions },
	ObservedAt: func(i *c5c3v1.NodeIssuer) **metav1.Time { return &i.Status.LastObservationTime },
	Warns:      []string{conditionReady},
	Metrics:    metrics,
}

// Reconciler reconciles NodeIssuers.
type Reconciler controller.Env

// Reconcile signs or denies the pending requests.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager. The rights on CertificateSigningRequests are cluster-wide: the ClusterRole
// cobaltcore:node-signer of the chart has them, and pools bind it.
//
// +kubebuilder:rbac:groups=c5c3.io,resources=nodeissuers,verbs=get;list;watch
// +kubebuilder:rbac:groups=c5c3.io,resources=nodeissuers/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error { return kind.Add(mgr) }

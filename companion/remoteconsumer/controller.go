package remoteconsumer

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

const (
	// conditionReady: all credentials are tracked.
	conditionReady = "Ready"
	// conditionCurrent: the consumer has the credentials in use.
	conditionCurrent = "Current"
)

var metrics = controller.NewMetrics("remote_consumer")

// Every CredentialRotation of the namespace triggers it, because only the rotation references its Secret.
var kind = controller.Kind[*c5c3v1.RemoteConsumer, *observation]{
	Name:       "RemoteConsumer",
	Object:     &c5c3v1.RemoteConsumer{},
	List:       &c5c3v1.RemoteConsumerList{},
	Consumers:  []client.Object{&c5c3v1.CredentialRotation{}},
	Names:      func(*c5c3v1.RemoteConsumer, string, string) bool { return true },
	Observe:    observe,
	Next:       next,
	Conditions: func(c *c5c3v1.RemoteConsumer) *[]metav1.Condition { return &c.Status.Conditions },
	ObservedAt: func(c *c5c3v1.RemoteConsumer) **metav1.Time { return &c.Status.LastObservationTime },
	Warns:      []string{conditionReady},
	Metrics:    metrics,
}

// Reconciler reconciles RemoteConsumers.
type Reconciler controller.Env

// Reconcile reports the credentials in use.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=c5c3.io,resources=remoteconsumers,verbs=get;list;watch
// +kubebuilder:rbac:groups=c5c3.io,resources=remoteconsumers/status,verbs=get;update
// +kubebuilder:rbac:groups=c5c3.io,resources=credentialrotations,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error { return kind.Add(mgr) }

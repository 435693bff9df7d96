package credentialrotation

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

var (
	metrics      = controller.NewMetrics("credential_rotation")
	lastRotation = metrics.Gauge("last_rotation_timestamp_seconds", "Time of the last replacement of the credential. 0: never.")
	nextRotation = metrics.Gauge("next_rotation_timestamp_seconds", "Time of the next replacement of the credential. 0: never.")
	rotations    = metrics.Counter("rotations_total", "Number of replacements of the credential.")
)

// The Secret is retained when a CredentialRotation is deleted: pods continue to use their credentials.
var kind = controller.Kind[*c5c3v1.CredentialRotation, *observation]{
	Name:      "CredentialRotation",
	Object:    &c5c3v1.CredentialRotation{},
	List:      &c5c3v1.CredentialRotationList{},
	Secrets:   WatchedSecrets,
	Annotated: true,
	Consumers: []client.Object{
		&c5c3v1.RemoteConsumer{}, &c5c3v1.SecretAggregate{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{},
	},
	// A RemoteConsumer itself lists the credentials that it uses.
	Names: func(r *c5c3v1.CredentialRotation, kind, name string) bool {
		return kind == remoteKind || slices.Contains(r.Spec.Consumers, c5c3v1.Consumer{Kind: kind, Name: common.ObjectName(name)})
	},
	Observe:    observe,
	Next:       next,
	Conditions: func(r *c5c3v1.CredentialRotation) *[]metav1.Condition { return &r.Status.Conditions },
	ObservedAt: func(r *c5c3v1.CredentialRotation) **metav1.Time { return &r.Status.LastObservationTime },
	Incomplete: func(w *observation) bool { return w.errorMessage != "" },
	Warns:      []string{conditionReady},
	Metrics:    metrics,
	ExportMetrics: func(r *c5c3v1.CredentialRotation) {
		lastRotation.WithLabelValues(r.Namespace, r.Name).Set(controller.Unix(r.Status.LastRotation))
		nextRotation.WithLabelValues(r.Namespace, r.Name).Set(controller.Unix(r.Status.NextRotation))
	},
}

// WatchedSecrets returns the names of the Secrets whose changes trigger a pass: the credential, and the login that creates it.
func WatchedSecrets(r *c5c3v1.CredentialRotation) []string {
	secrets := []string{string(r.Spec.SecretName)}
	if cloud := r.Spec.CloudCredentialsRef; cloud != nil {
		secrets = append(secrets, string(cloud.SecretName))
	}
	return secrets
}

// Reconciler reconciles CredentialRotations.
type Reconciler controller.Env

// Reconcile takes one step.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=c5c3.io,resources=credentialrotations,verbs=get;list;watch
// +kubebuilder:rbac:groups=c5c3.io,resources=credentialrotations/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups=c5c3.io,resources=remoteconsumers;secretaggregates,verbs=get;list;watch
// +kubebuilder:rbac:groups=rabbitmq.com,resources=users,verbs=list;create;update;delete
// +kubebuilder:rbac:groups=rabbitmq.com,resources=permissions,verbs=list;create;delete
// +kubebuilder:rbac:groups=rabbitmq.com,resources=vhosts,verbs=list
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error { return kind.Add(mgr) }

package keyrepository

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

var (
	metrics      = controller.NewMetrics("key_repository")
	lastRotation = metrics.Gauge("last_rotation_timestamp_seconds", "Time of the last write of the keys.")
	nextRotation = metrics.Gauge("next_rotation_timestamp_seconds", "Time of the next rotation; overdue if in the past. 0: never.")
	lastBackup   = metrics.Gauge("last_backup_timestamp_seconds", "Time of the last backup of the keys. 0: never.")
	activeKeys   = metrics.Gauge("keys", "Number of keys.")
	neededKeys   = metrics.Gauge("required_keys", "Number of keys that the schedule and the token lifetime require.")
	rotations    = metrics.Counter("rotations_total", "Number of rotations.")
)

// External Secrets is not watched, because it may not be installed.
var kind = controller.Kind[*openstackv1.KeyRepository, *observation]{
	Name:      "KeyRepository",
	Object:    &openstackv1.KeyRepository{},
	List:      &openstackv1.KeyRepositoryList{},
	Secrets:   WatchedSecrets,
	Annotated: true,
	Owns:      []client.Object{&batchv1.Job{}},
	Consumers: []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}},
	Names: func(r *openstackv1.KeyRepository, kind, name string) bool {
		return slices.Contains(r.Spec.Consumers, openstackv1.Consumer{Kind: kind, Name: common.ObjectName(name)})
	},
	Observe:    observe,
	Next:       next,
	Conditions: func(r *openstackv1.KeyRepository) *[]metav1.Condition { return &r.Status.Conditions },
	ObservedAt: func(r *openstackv1.KeyRepository) **metav1.Time { return &r.Status.LastObservationTime },
	Warns:      []string{conditionReady},
	Metrics:    metrics,
	ExportMetrics: func(r *openstackv1.KeyRepository) {
		s := r.Status
		lastRotation.WithLabelValues(r.Namespace, r.Name).Set(controller.Unix(s.LastRotation))
		nextRotation.WithLabelValues(r.Namespace, r.Name).Set(controller.Unix(s.NextRotation))
		lastBackup.WithLabelValues(r.Namespace, r.Name).Set(controller.Unix(s.LastBackup))
		activeKeys.WithLabelValues(r.Namespace, r.Name).Set(float64(len(s.Keys)))
		neededKeys.WithLabelValues(r.Namespace, r.Name).Set(float64(s.NeededKeys))
	},
}

// WatchedSecrets returns the name of the Secret with the keys, whose changes trigger a pass.
func WatchedSecrets(r *openstackv1.KeyRepository) []string {
	return []string{string(r.Spec.SecretName)}
}

// Reconciler reconciles KeyRepositories.
type Reconciler controller.Env

// Reconcile takes one step.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=keyrepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=keyrepositories/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=external-secrets.io,resources=pushsecrets;externalsecrets,verbs=get;list;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error { return kind.Add(mgr) }

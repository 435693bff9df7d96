package databasesync

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
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

var (
	metrics      = controller.NewMetrics("database_sync")
	runningSteps = metrics.Gauge("running", "Number of schema steps that run: 0 or 1.")
	lastSuccess  = metrics.Gauge("last_success_timestamp_seconds", "Time of the last successful schema step. 0: none known.")
	failed       = metrics.Counter("failures_total", "Number of failed attempts of schema steps.", "step")
)

var kind = controller.Kind[*openstackv1.DatabaseSync, *observation]{
	Name:      "DatabaseSync",
	Object:    &openstackv1.DatabaseSync{},
	List:      &openstackv1.DatabaseSyncList{},
	Annotated: true,
	Owns:      []client.Object{&batchv1.Job{}},
	Consumers: []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}},
	Names: func(s *openstackv1.DatabaseSync, kind, name string) bool {
		return slices.Contains(s.Spec.Consumers, openstackv1.Consumer{Kind: kind, Name: common.ObjectName(name)})
	},
	Observe:       observe,
	Next:          func(w *observation) controller.Decision { return next(w).step(w) },
	Conditions:    func(s *openstackv1.DatabaseSync) *[]metav1.Condition { return &s.Status.Conditions },
	ObservedAt:    func(s *openstackv1.DatabaseSync) **metav1.Time { return &s.Status.LastObservationTime },
	Warns:         []string{conditionReady},
	Metrics:       metrics,
	ExportMetrics: measure,
}

// lines is the number of lines of a step's output that are read, for error messages and for the revision of a version step.
const lines = 50

func measure(s *openstackv1.DatabaseSync) {
	runs, success := 0.0, 0.0
	if open(s.Status.History) != nil {
		runs = 1
	}
	for _, r := range s.Status.History {
		if r.Result == openstackv1.StepSucceeded {
			success = max(success, controller.Unix(r.Finished))
		}
	}
	runningSteps.WithLabelValues(s.Namespace, s.Name).Set(runs)
	lastSuccess.WithLabelValues(s.Namespace, s.Name).Set(success)
}

// Reconciler reconciles DatabaseSyncs.
type Reconciler controller.Env

// Reconcile takes one step.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=databasesyncs,verbs=get;list;watch
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=databasesyncs/status,verbs=get;update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets;configmaps,verbs=get
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error {
	return kind.Add(mgr, batchjob.WithOutput(mgr, lines))
}

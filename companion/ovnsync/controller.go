package ovnsync

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// kindName is the reconciled kind, which also owns the Jobs.
const kindName = "OVNSync"

var (
	metrics = controller.NewMetrics("ovn_sync")
	differs = metrics.Gauge("differences", "Number of differences between Neutron's database and OVN in the last result.")
	runs    = metrics.Counter("runs_total", "Number of finished comparisons.", "command", "result")
)

var kind = controller.Kind[*openstackv1.OVNSync, *observation]{
	Name:       kindName,
	Object:     &openstackv1.OVNSync{},
	Owns:       []client.Object{&batchv1.Job{}},
	Observe:    observe,
	Next:       next,
	Conditions: func(o *openstackv1.OVNSync) *[]metav1.Condition { return &o.Status.Conditions },
	ObservedAt: func(o *openstackv1.OVNSync) **metav1.Time { return &o.Status.LastObservationTime },
	Warns:      []string{conditionReady, conditionInSync},
	Metrics:    metrics,
	ExportMetrics: func(o *openstackv1.OVNSync) {
		if a := o.Status.Answer; a != nil {
			differs.WithLabelValues(o.Namespace, o.Name).Set(float64(a.Differences))
		}
	},
}

// lines is the number of log lines that are read: the report of the program is the last one.
const lines = 50

// Reconciler reconciles OVNSyncs.
type Reconciler controller.Env

// Reconcile takes one step.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=ovnsyncs,verbs=get;list;watch
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=ovnsyncs/status,verbs=get;update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets;configmaps,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error {
	return kind.Add(mgr, batchjob.WithOutput(mgr, lines))
}

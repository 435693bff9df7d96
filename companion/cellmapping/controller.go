package cellmapping

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
const kindName = "CellMapping"

var (
	metrics = controller.NewMetrics("cell_mapping")
	mapped  = metrics.Gauge("hosts", "Number of hosts mapped to the cell.")
	runs    = metrics.Counter("runs_total", "Number of finished commands.", "command", "result")
)

var kind = controller.Kind[*openstackv1.CellMapping, *observation]{
	Name:       kindName,
	Object:     &openstackv1.CellMapping{},
	Owns:       []client.Object{&batchv1.Job{}},
	Observe:    observe,
	Next:       next,
	Conditions: func(c *openstackv1.CellMapping) *[]metav1.Condition { return &c.Status.Conditions },
	ObservedAt: func(c *openstackv1.CellMapping) **metav1.Time { return &c.Status.LastObservationTime },
	Warns:      []string{conditionReady, conditionHosts},
	Metrics:    metrics,
	ExportMetrics: func(c *openstackv1.CellMapping) {
		mapped.WithLabelValues(c.Namespace, c.Name).Set(float64(c.Status.HostCount))
	},
}

// lines is the number of lines of a list that are read: more than the hosts of a cell.
const lines = 10000

// Reconciler reconciles CellMappings.
type Reconciler controller.Env

// Reconcile takes one step.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=cellmappings,verbs=get;list;watch
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=cellmappings/status,verbs=get;update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets;configmaps,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error {
	return kind.Add(mgr, batchjob.WithOutput(mgr, lines))
}

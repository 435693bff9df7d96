package testreport

import (
	"context"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// conditionPassed: all tests of the last run have passed.
const conditionPassed = "TestsPassed"

var (
	metrics = controller.NewMetrics("test_report")
	last    = metrics.Gauge("last_run_timestamp_seconds", "Start time of the last finished run.")
	tests   = metrics.Gauge("tests", "Number of tests of the last run.", "result")
)

var kind = controller.Kind[*openstackv1.TestReport, *observation]{
	Name:          "TestReport",
	Object:        &openstackv1.TestReport{},
	List:          &openstackv1.TestReportList{},
	Consumers:     []client.Object{&batchv1.Job{}},
	Names:         names,
	Observe:       observe,
	Next:          next,
	Conditions:    func(r *openstackv1.TestReport) *[]metav1.Condition { return &r.Status.Conditions },
	ObservedAt:    func(r *openstackv1.TestReport) **metav1.Time { return &r.Status.LastObservationTime },
	Warns:         []string{conditionPassed},
	Metrics:       metrics,
	ExportMetrics: measure,
}

// names reports whether a Job may belong to the report: the names of a CronJob's Jobs have its name as prefix.
func names(r *openstackv1.TestReport, _, job string) bool {
	return strings.HasPrefix(job, string(r.Spec.CronJobName)+"-")
}

func measure(r *openstackv1.TestReport) {
	t := r.Status.Tests
	if t == nil {
		return
	}
	if t.LastRun != nil {
		last.WithLabelValues(r.Namespace, r.Name).Set(float64(t.LastRun.Unix()))
	}
	for result, n := range map[string]int32{"passed": t.Passed, "failed": t.Failed, "skipped": t.Skipped} {
		tests.WithLabelValues(r.Namespace, r.Name, result).Set(float64(n))
	}
}

// Reconciler reconciles TestReports.
type Reconciler controller.Env

// Reconcile records a finished run that is not recorded yet.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=testreports,verbs=get;list;watch
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=testreports/status,verbs=get;update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error { return kind.Add(mgr) }

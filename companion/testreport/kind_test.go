package testreport

import (
	"testing"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestKind checks the watches and the warnings of the kind.
func TestKind(t *testing.T) {
	controllertest.Kind(t, scheme, &kind, controllertest.Expectations{
		Consumers: []string{"Job"},
		Warns:     []string{"TestsPassed"},
		Metrics: []string{
			"companion_test_report_condition", "companion_test_report_last_run_timestamp_seconds", "companion_test_report_tests",
		},
	})
}

// TestWatchesOnlyJobsOfCronJob: only Jobs of the CronJob trigger a pass.
func TestWatchesOnlyJobsOfCronJob(t *testing.T) {
	r := &openstackv1.TestReport{Spec: openstackv1.TestReportSpec{CronJobName: "tempest"}}
	for job, want := range map[string]bool{"tempest-28371": true, "tempest": false, "nova-archive-1": false} {
		if got := names(r, "Job", job); got != want {
			t.Errorf("%s: %t", job, got)
		}
	}
}

package keystone

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring/monitoringtest"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// TestAlertsHaveExpectedSeverity verifies the severity, the delay and the expression of alerts. Failing logins are critical.
func TestAlertsHaveExpectedSeverity(t *testing.T) {
	expect := func(severity, wait string, expect ...string) monitoringtest.Alert {
		return monitoringtest.Alert{Severity: severity, For: wait, Selectors: expect}
	}
	const (
		available = `kube_deployment_status_replicas_available{deployment="keystone"}`
		complete  = `kube_job_complete{condition="true"}`
		failed    = `kube_job_failed{condition="true"}`
	)
	want := map[string]monitoringtest.Alert{
		"KeystoneDown":     expect("critical", "2m", available),
		"KeystoneDegraded": expect("warning", "15m", available, `kube_deployment_spec_replicas{deployment="keystone"}`),
		"KeystoneJobFailed": expect("warning", "5m",
			`kube_job_created{job_name=~"keystone-bootstrap-.+"}`, complete, failed, `kube_job_created{job_name=~"keystone-trust-flush-.+"}`),
	}
	stages, err := service.Alerts[*model]().Build(derived(t, xr(t, "paths")))
	if err != nil || len(stages) != 1 || len(stages[0]) != 1 {
		t.Fatalf("stages %v: %v", stages, err)
	}
	if diff := cmp.Diff(want, monitoringtest.Alerts(t, stages[0][0].Object.(*unstructured.Unstructured))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

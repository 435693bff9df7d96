package infrastructure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring/monitoringtest"
)

// TestAlertSeverityReflectsServiceImpact checks the severity, the delay and the metrics of alerts. They are critical if services stop, and
// warnings if one member is missing.
func TestAlertSeverityReflectsServiceImpact(t *testing.T) {
	const warning, critical = "warning", "critical"
	alert := func(severity, wait string, alert ...string) monitoringtest.Alert {
		return monitoringtest.Alert{Severity: severity, For: wait, Selectors: alert}
	}
	ready := func(set string) []string {
		return []string{"kube_statefulset_status_replicas_ready{statefulset" + set + "}", "kube_statefulset_replicas{statefulset" + set + "}"}
	}
	const store = `=~"valkey-valkey-.*"`
	m := derived(t, "{}", bare)
	want := map[string]monitoringtest.Alert{
		"ValkeyDown":      alert(critical, "2m", ready(store)[0]),
		"ValkeyDegraded":  alert(warning, "15m", ready(store)...),
		"ValkeyNoPrimary": alert(critical, "2m", "redis_instance_info", `redis_instance_info{role="master"}`),
	}
	if diff := cmp.Diff(want, monitoringtest.Alerts(t, m.storeAlerts())); diff != "" {
		t.Errorf("store (-want +got):\n%s", diff)
	}
	want = map[string]monitoringtest.Alert{
		"CacheDown":     alert(critical, "5m", ready(`=~"memcached.*"`)[0]),
		"CacheDegraded": alert(warning, "15m", ready(`=~"memcached.*"`)...),
	}
	if diff := cmp.Diff(want, monitoringtest.Alerts(t, m.cacheAlerts())); diff != "" {
		t.Errorf("cache (-want +got):\n%s", diff)
	}
	want = map[string]monitoringtest.Alert{
		"ContainerRestarting": alert(warning, "5m", "kube_pod_container_status_restarts_total"),
		"ContainerOutOfMemory": alert(warning, "1m", `kube_pod_container_status_last_terminated_reason{reason="OOMKilled"}`,
			"kube_pod_container_status_restarts_total"),
		"CertificateExpiring": alert(warning, "1h", "certmanager_certificate_expiration_timestamp_seconds"),
	}
	if diff := cmp.Diff(want, monitoringtest.Alerts(t, m.programAlerts())); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
}

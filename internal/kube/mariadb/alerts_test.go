package mariadb

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring/monitoringtest"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// TestAlerts tests severity, duration and selectors of all alerts, and that there are no alerts on missing features.
func TestAlerts(t *testing.T) {
	const warning, critical = "warning", "critical"
	alert := func(severity, wait string, selectors ...string) monitoringtest.Alert {
		return monitoringtest.Alert{Severity: severity, For: wait, Selectors: selectors}
	}
	set := func(name string) string { return `{statefulset="` + name + `"}` }
	const (
		volumes = `{persistentvolumeclaim=~"storage-db-[0-9]+"}`
		members = `{instance=~"db-[0-9]+([.].*)?"}`
		jobs    = `job_name=~"db(-[0-9a-f]+)?-[0-9]{14}"`
	)
	always := map[string]monitoringtest.Alert{
		"DatabaseDown": alert(critical, "2m", "kube_statefulset_status_replicas_ready"+set("db")),
		"DatabaseDegraded": alert(warning, "15m",
			"kube_statefulset_status_replicas_ready"+set("db"), "kube_statefulset_replicas"+set("db")),
		"DatabaseVolumeFilling": alert(warning, "15m",
			"kubelet_volume_stats_available_bytes"+volumes, "kubelet_volume_stats_capacity_bytes"+volumes),
		"DatabaseVolumeFull": alert(critical, "5m",
			"kubelet_volume_stats_available_bytes"+volumes, "kubelet_volume_stats_capacity_bytes"+volumes),
	}
	metrics := map[string]monitoringtest.Alert{
		"DatabaseConnectionsExhausting": alert(warning, "10m",
			"mysql_global_status_threads_connected"+members, "mysql_global_variables_max_connections"+members),
		"DatabaseMetricsMissing": alert(warning, "15m", "mysql_up"+members),
		"DatabaseDeadlocks":      alert(warning, "15m", "mysql_global_status_innodb_deadlocks"+members),
	}
	cluster := map[string]monitoringtest.Alert{
		"DatabaseGaleraClusterDegraded": alert(critical, "10m", "mysql_global_status_wsrep_cluster_size"+members),
		"DatabaseFlowControl":           alert(warning, "10m", "mysql_global_status_wsrep_flow_control_paused_ns"+members),
		"DatabaseConflicts": alert(warning, "15m", "mysql_global_status_wsrep_local_cert_failures"+members,
			"mysql_global_status_wsrep_local_bf_aborts"+members),
	}
	proxy := map[string]monitoringtest.Alert{
		"DatabaseProxyDown": alert(critical, "2m", "kube_statefulset_status_replicas_ready"+set("door")),
	}
	backups := map[string]monitoringtest.Alert{
		"DatabaseBackupFailed":  alert(warning, "5m", "kube_job_failed{"+jobs+`,condition="true"}`),
		"DatabaseBackupOld":     alert(critical, "10m", "kube_job_status_completion_time{"+jobs+"}"),
		"DatabaseBackupMissing": alert(critical, "26h", "kube_job_status_completion_time{"+jobs+"}"),
	}
	for name, tc := range map[string]struct {
		reason string
		alerts Alerts
		want   []map[string]monitoringtest.Alert
	}{
		"Alone":   {reason: "A single server without metrics.", alerts: Alerts{Members: 1}},
		"Metered": {reason: "One member is no cluster.", alerts: Alerts{Members: 1, Metrics: true}, want: []map[string]monitoringtest.Alert{metrics}},
		"Cluster": {
			reason: "Two members may lose sight of each other.", alerts: Alerts{Members: 2, Metrics: true},
			want: []map[string]monitoringtest.Alert{metrics, cluster},
		},
		"Proxy": {
			reason: "The selector contains its name.", alerts: Alerts{Members: 3, Proxy: true, ProxyName: "door"},
			want: []map[string]monitoringtest.Alert{proxy},
		},
		"Backups": {
			reason: "Their age is in hours.", alerts: Alerts{Members: 1, BackupAge: 26*time.Hour + 20*time.Minute},
			want: []map[string]monitoringtest.Alert{backups},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.alerts.Meta = object.Meta{Name: "db", Namespace: "cloud"}
			want := maps.Clone(always)
			for _, more := range tc.want {
				maps.Copy(want, more)
			}
			if diff := cmp.Diff(want, monitoringtest.Alerts(t, tc.alerts.Object(common.Monitoring{}))); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBackupAge tests that summary and expression contain the age in whole hours.
func TestBackupAge(t *testing.T) {
	a := Alerts{Meta: object.Meta{Name: "db", Namespace: "cloud"}, Members: 1, BackupAge: 26*time.Hour + 20*time.Minute}
	text := fmt.Sprint(a.Object(common.Monitoring{}).Object)
	for _, want := range []string{") > 93600", "older than 26 hours"} {
		if !strings.Contains(text, want) {
			t.Errorf("missing %q in %s", want, text)
		}
	}
}

// TestAlertsContainFieldsOfServer tests that remedies contain the fields of this server.
func TestAlertsContainFieldsOfServer(t *testing.T) {
	a := Alerts{Meta: object.Meta{Name: "db", Namespace: "cloud"}, Field: "cells[].mariadb", Memory: "cells[].mariadb.memory", Members: 1, Metrics: true}
	text := fmt.Sprint(a.Object(common.Monitoring{}).Object)
	for _, want := range []string{"Raise cells[].mariadb.storageSize in the claim", "its pods and cells[].mariadb.memory."} {
		if !strings.Contains(text, want) {
			t.Errorf("missing %q in %s", want, text)
		}
	}
	if strings.Contains(text, "infrastructure.mariadb") {
		t.Errorf("another server's field is named in %s", text)
	}
}

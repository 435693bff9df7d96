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

// TestAlerts: who is woken, after how long, and what is asked for it; there is no alert on what a server does not have.
func TestAlerts(t *testing.T) {
	const warning, critical = "warning", "critical"
	asks := func(severity, wait string, asks ...string) monitoringtest.Alert {
		return monitoringtest.Alert{Severity: severity, For: wait, Asks: asks}
	}
	set := func(name string) string { return `{statefulset="` + name + `"}` }
	const (
		volumes = `{persistentvolumeclaim=~"storage-db-[0-9]+"}`
		members = `{instance=~"db-[0-9]+([.].*)?"}`
		jobs    = `job_name=~"db(-[0-9a-f]+)?-[0-9]{14}"`
	)
	always := map[string]monitoringtest.Alert{
		"DatabaseDown": asks(critical, "2m", "kube_statefulset_status_replicas_ready"+set("db")),
		"DatabaseDegraded": asks(warning, "15m",
			"kube_statefulset_status_replicas_ready"+set("db"), "kube_statefulset_replicas"+set("db")),
		"DatabaseCertificateExpiring": asks(warning, "1h",
			`certmanager_certificate_expiration_timestamp_seconds{name=~"(db|maxscale)-.*|internal-ca"}`),
		"DatabaseVolumeFilling": asks(warning, "15m",
			"kubelet_volume_stats_available_bytes"+volumes, "kubelet_volume_stats_capacity_bytes"+volumes),
		"DatabaseVolumeFull": asks(critical, "5m",
			"kubelet_volume_stats_available_bytes"+volumes, "kubelet_volume_stats_capacity_bytes"+volumes),
	}
	metrics := map[string]monitoringtest.Alert{
		"DatabaseConnectionsExhausting": asks(warning, "10m",
			"mysql_global_status_threads_connected"+members, "mysql_global_variables_max_connections"+members),
		"DatabaseMetricsMissing": asks(warning, "15m", "mysql_up"+members),
		"DatabaseDeadlocks":      asks(warning, "15m", "mysql_global_status_innodb_deadlocks"+members),
	}
	cluster := map[string]monitoringtest.Alert{
		"DatabaseClusterSplit": asks(critical, "10m", "mysql_global_status_wsrep_cluster_size"+members),
		"DatabaseFlowControl":  asks(warning, "10m", "mysql_global_status_wsrep_flow_control_paused_ns"+members),
		"DatabaseConflicts": asks(warning, "15m", "mysql_global_status_wsrep_local_cert_failures"+members,
			"mysql_global_status_wsrep_local_bf_aborts"+members),
	}
	proxy := map[string]monitoringtest.Alert{
		"DatabaseProxyDown": asks(critical, "2m", "kube_statefulset_status_replicas_ready"+set("door")),
	}
	backups := map[string]monitoringtest.Alert{
		"DatabaseBackupFailed":  asks(warning, "5m", "kube_job_failed{"+jobs+`,condition="true"}`),
		"DatabaseBackupOld":     asks(critical, "10m", "kube_job_status_completion_time{"+jobs+"}"),
		"DatabaseBackupMissing": asks(critical, "26h", "kube_job_status_completion_time{"+jobs+"}"),
	}
	for name, tc := range map[string]struct {
		reason string
		alerts Alerts
		want   []map[string]monitoringtest.Alert
	}{
		"Alone":   {reason: "A server of its own, which nobody measures.", alerts: Alerts{Members: 1}},
		"Metered": {reason: "One member is no cluster.", alerts: Alerts{Members: 1, Metrics: true}, want: []map[string]monitoringtest.Alert{metrics}},
		"Cluster": {
			reason: "Two members may lose sight of each other.", alerts: Alerts{Members: 2, Metrics: true},
			want: []map[string]monitoringtest.Alert{metrics, cluster},
		},
		"Proxy": {
			reason: "It is asked for by its own name.", alerts: Alerts{Members: 3, Proxy: true, ProxyName: "door"},
			want: []map[string]monitoringtest.Alert{proxy},
		},
		"Backups": {
			reason: "Their age is told in hours.", alerts: Alerts{Members: 1, BackupAge: 26*time.Hour + 20*time.Minute},
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

// TestBackupAge: an age is told, and asked for, in whole hours.
func TestBackupAge(t *testing.T) {
	a := Alerts{Meta: object.Meta{Name: "db", Namespace: "cloud"}, Members: 1, BackupAge: 26*time.Hour + 20*time.Minute}
	text := fmt.Sprint(a.Object(common.Monitoring{}).Object)
	for _, want := range []string{") > 93600", "older than 26 hours"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing says %q in %s", want, text)
		}
	}
}

// TestAlertedFields: people are told to change the fields that order this server, and no other's.
func TestAlertedFields(t *testing.T) {
	a := Alerts{Meta: object.Meta{Name: "db", Namespace: "cloud"}, Field: "cells[].mariadb", Memory: "cells[].mariadb.memory", Members: 1, Metrics: true}
	text := fmt.Sprint(a.Object(common.Monitoring{}).Object)
	for _, want := range []string{"Raise cells[].mariadb.storageSize in the claim", "its pods and cells[].mariadb.memory."} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing says %q in %s", want, text)
		}
	}
	if strings.Contains(text, "infrastructure.mariadb") {
		t.Errorf("another server's field is named in %s", text)
	}
}

package mariadb

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// AdminPort is that of MaxScale's REST API, which its exporter asks.
const AdminPort = 8989

// Monitor makes a ServiceMonitor that reads the metrics of every member of a MariaDB or MaxScale, which one exporter asks for them. The
// operator makes one, too, but gives it labels only with every pod of the server, which it would replace for them; a Prometheus that
// chooses by labels does not see that one.
func Monitor(meta object.Meta, conf common.Monitoring, members, port int32) *unstructured.Unstructured {
	o := monitoring.Service(meta, conf, "metrics", map[string]string{
		"app.kubernetes.io/name": "exporter", "app.kubernetes.io/instance": meta.Name + "-metrics",
	})
	var endpoints object.List
	for i := range members {
		name := fmt.Sprintf("%s-%d", meta.Name, i)
		host := fmt.Sprintf("%s.%s-internal.%s.svc", name, meta.Name, meta.Namespace)
		endpoints = append(endpoints, object.Map{
			"port": "metrics", "path": "/probe", "interval": "30s",
			"params":      object.Map{"target": object.List{fmt.Sprintf("%s:%d", host, port)}},
			"relabelings": object.List{object.Map{"targetLabel": "instance", "replacement": name}},
		})
	}
	spec, _ := o.Object["spec"].(object.Map)
	spec["endpoints"] = endpoints
	return o
}

// Alerts are on a server or cluster.
type Alerts struct {
	// Meta of the alerts; its name is also that of the MariaDB object.
	Meta object.Meta
	// Field orders the server in a claim, and Memory says there how much it has: people are told to change them.
	Field, Memory string
	// Members of the server; more than one are a Galera cluster.
	Members int32
	// Proxy: there is a MaxScale of ProxyName.
	Proxy     bool
	ProxyName string
	// Metrics: an exporter reports what the server knows.
	Metrics bool
	// BackupAge is the age at which the last backup is too old. 0: there are none.
	BackupAge time.Duration
}

// of selects a metric of the namespace, by further labels.
func (a Alerts) of(metric, more string) string {
	return fmt.Sprintf(`%s{namespace=%q%s}`, metric, a.Meta.Namespace, more)
}

// set selects a metric of kube-state-metrics on a StatefulSet.
func (a Alerts) set(metric, name string) string {
	return a.of(metric, fmt.Sprintf(`,statefulset=%q`, name))
}

// Object makes a PrometheusRule on metrics of kube-state-metrics, the kubelet and cert-manager, and of the exporter where there is one
// (https://github.com/prometheus/mysqld_exporter).
func (a Alerts) Object(conf common.Monitoring) *unstructured.Unstructured {
	alerts := slices.Concat(a.memberAlerts(), a.volumeAlerts())
	if a.Metrics {
		alerts = append(alerts, a.serverAlerts()...)
	}
	if a.Proxy {
		alerts = append(alerts, monitoring.Alert{
			Name: "DatabaseProxyDown", Severity: monitoring.Critical, For: "2m",
			Expr:    a.set("kube_statefulset_status_replicas_ready", a.ProxyName) + " == 0",
			Summary: "No proxy of the database is ready: services cannot connect to it.",
			Action:  "Look at the MaxScale's conditions and at its pods' events and logs, then at the members.",
		})
	}
	if a.BackupAge > 0 {
		alerts = append(alerts, a.backupAlerts()...)
	}
	return monitoring.Rules(a.Meta, conf, alerts...)
}

func (a Alerts) memberAlerts() []monitoring.Alert {
	ready, desired := a.set("kube_statefulset_status_replicas_ready", a.Meta.Name), a.set("kube_statefulset_replicas", a.Meta.Name)
	return []monitoring.Alert{
		{
			Name: "DatabaseDown", Severity: monitoring.Critical, For: "2m",
			Expr:    ready + " == 0",
			Summary: "No member of the database is ready: every service that needs it fails.",
			Action:  "Look at the MariaDB's conditions and at its pods' events and logs. The operator recovers a cluster by itself.",
		},
		{
			Name: "DatabaseDegraded", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf("%s < %s", ready, desired),
			Summary: "Fewer members of the database are ready than wanted.",
			Action:  "Look at the pods' events: a node may be full or gone, a member may be copying the database from another.",
		},
		{
			Name: "DatabaseCertificateExpiring", Severity: monitoring.Warning, For: "1h",
			Expr: a.of("certmanager_certificate_expiration_timestamp_seconds",
				fmt.Sprintf(`,name=~"(%s|maxscale)-.*|internal-ca"`, a.Meta.Name)) + " - time() < 7 * 24 * 3600",
			Summary: "Certificate {{ $labels.name }} expires within a week and was not renewed.",
			Action:  "Look at the Certificate's events and at its issuer.",
		},
	}
}

func (a Alerts) volumeAlerts() []monitoring.Alert {
	volumes := fmt.Sprintf(`,persistentvolumeclaim=~"storage-%s-[0-9]+"`, a.Meta.Name)
	free := a.of("kubelet_volume_stats_available_bytes", volumes) + " / " + a.of("kubelet_volume_stats_capacity_bytes", volumes)
	action := "Raise " + a.Field + ".storageSize in the claim: " +
		"the operator enlarges the volumes where their storage class lets it."
	return []monitoring.Alert{
		{
			Name: "DatabaseVolumeFilling", Severity: monitoring.Warning, For: "15m", Expr: free + " < 0.2",
			Summary: "Volume {{ $labels.persistentvolumeclaim }} is four fifths full.", Action: action,
		},
		{
			Name: "DatabaseVolumeFull", Severity: monitoring.Critical, For: "5m", Expr: free + " < 0.05",
			Summary: "Volume {{ $labels.persistentvolumeclaim }} is full but for a twentieth: the database stops when nothing is left.",
			Action:  action,
		},
	}
}

func (a Alerts) serverAlerts() []monitoring.Alert {
	// By its pod's name alone, as Monitor says it, or by its whole name, as the operator's own monitor does.
	members := fmt.Sprintf(`,instance=~"%s-[0-9]+([.].*)?"`, a.Meta.Name)
	alerts := []monitoring.Alert{
		{
			Name: "DatabaseConnectionsExhausting", Severity: monitoring.Warning, For: "10m",
			Expr: a.of("mysql_global_status_threads_connected", members) + " / " +
				a.of("mysql_global_variables_max_connections", members) + " > 0.8",
			Summary: "Four fifths of the connections that member {{ $labels.instance }} takes are open.",
			Action: "Look at who holds them (SHOW PROCESSLIST). " +
				"The number follows the claim's size, its pods and " + a.Memory + ".",
		},
		{
			Name: "DatabaseMetricsMissing", Severity: monitoring.Warning, For: "15m",
			Expr:    a.of("mysql_up", members) + " == 0",
			Summary: "The exporter cannot read the metrics of member {{ $labels.instance }}: other alerts on it cannot fire.",
			Action:  "Look at the log of the exporter (Deployment " + a.Meta.Name + "-metrics).",
		},
	}
	alerts = append(alerts, monitoring.Alert{
		Name: "DatabaseDeadlocks", Severity: monitoring.Warning, For: "15m",
		Expr:    "rate(" + a.of("mysql_global_status_innodb_deadlocks", members) + "[5m]) > 0.1",
		Summary: "Member {{ $labels.instance }} ends {{ $value | humanize }} transactions a second because of deadlocks. Services try again.",
		Action:  "SHOW ENGINE INNODB STATUS has the last one. The tables name the service: look for a program that hangs or is scaled far up.",
	})
	if a.Members > 1 {
		alerts = append(alerts, monitoring.Alert{
			Name: "DatabaseConflicts", Severity: monitoring.Warning, For: "15m",
			Expr: "rate(" + a.of("mysql_global_status_wsrep_local_cert_failures", members) + "[5m]) + rate(" +
				a.of("mysql_global_status_wsrep_local_bf_aborts", members) + "[5m]) > 1",
			Summary: "Member {{ $labels.instance }} ends {{ $value | humanize }} transactions a second because another member was first.",
			Action: "Services write to more than one member. With a MaxScale all writes go to one: look whether clients connect past it, " +
				"and whether it changes the primary again and again.",
		}, monitoring.Alert{
			Name: "DatabaseFlowControl", Severity: monitoring.Warning, For: "10m",
			Expr:    "rate(" + a.of("mysql_global_status_wsrep_flow_control_paused_ns", members) + "[5m]) / 1e9 > 0.1",
			Summary: "Galera stops writes of member {{ $labels.instance }} for {{ $value | humanizePercentage }} of the time: a member is too slow.",
			Action: "Compare wsrep_local_recv_queue of the members: the longest is of the slow one. Look at its node, its volume and " + a.Memory +
				".",
		}, monitoring.Alert{
			Name: "DatabaseClusterSplit", Severity: monitoring.Critical, For: "10m",
			Expr:    fmt.Sprintf("%s < %d", a.of("mysql_global_status_wsrep_cluster_size", members), a.Members),
			Summary: "Member {{ $labels.instance }} sees {{ $value }} members of its Galera cluster, fewer than there are to be.",
			Action:  "Look at the MariaDB's condition GaleraReady, and at the members' logs: who is alone takes no writes.",
		})
	}
	return alerts
}

// backupAlerts are alerts on the Jobs of backups, which end in the moment they were made.
func (a Alerts) backupAlerts() []monitoring.Alert {
	jobs := fmt.Sprintf(`,job_name=~"%s(-[0-9a-f]+)?-[0-9]{14}"`, a.Meta.Name)
	done := a.of("kube_job_status_completion_time", jobs)
	age := a.BackupAge.Round(time.Hour)
	const action = "Read the logs of the Job's pods; look at the object store and at its credentials. " +
		"A Job that has failed has to be deleted before another is made."
	return []monitoring.Alert{
		{
			Name: "DatabaseBackupFailed", Severity: monitoring.Warning, For: "5m",
			Expr:    a.of("kube_job_failed", jobs+`,condition="true"`) + " > 0",
			Summary: "Backup {{ $labels.job_name }} has failed, and no other is made.", Action: action,
		},
		{
			Name: "DatabaseBackupOld", Severity: monitoring.Critical, For: "10m",
			Expr:    fmt.Sprintf("time() - max(%s) > %.0f", done, age.Seconds()),
			Summary: fmt.Sprintf("The last backup of the database is older than %.0f hours.", age.Hours()), Action: action,
		},
		{
			Name: "DatabaseBackupMissing", Severity: monitoring.Critical, For: fmt.Sprintf("%.0fh", age.Hours()),
			Expr:    fmt.Sprintf("absent(%s)", done),
			Summary: "There is no backup of the database.", Action: action,
		},
	}
}

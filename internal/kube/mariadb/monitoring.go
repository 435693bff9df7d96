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

// AdminPort is the port of MaxScale's REST API, which its exporter reads.
const AdminPort = 8989

// Monitor builds a ServiceMonitor for every member of a MariaDB or MaxScale, which are read through one exporter. The operator's own
// ServiceMonitor gets labels only together with the pods of the server, which it would replace for that; a Prometheus that selects
// ServiceMonitors by label does not find it.
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

// Alerts configures the alerts on a server or cluster.
type Alerts struct {
	// Meta of the alerts; its name is also the name of the MariaDB object.
	Meta object.Meta
	// Field is the path of the server in a claim, and Memory the path of its memory, for the remedies.
	Field, Memory string
	// Members is the number of members of the server; more than one is a Galera cluster.
	Members int32
	// Proxy: a MaxScale named ProxyName exists.
	Proxy     bool
	ProxyName string
	// Metrics: an exporter for the server exists.
	Metrics bool
	// BackupAge is the maximum age of the last backup (MaxBackupAge). 0: no backups.
	BackupAge time.Duration
}

// of returns a selector of a metric in the namespace, with further label matchers.
func (a Alerts) of(metric, more string) string {
	return fmt.Sprintf(`%s{namespace=%q%s}`, metric, a.Meta.Namespace, more)
}

// set returns a selector of a metric of kube-state-metrics on a StatefulSet.
func (a Alerts) set(metric, name string) string {
	return a.of(metric, fmt.Sprintf(`,statefulset=%q`, name))
}

// Object builds a PrometheusRule with metrics of kube-state-metrics, the kubelet and cert-manager, and of the exporter if it exists
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
			Action:  "Check the conditions of the MaxScale object and the events and logs of its pods, then the members.",
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
			Action: "Check the conditions of the MariaDB object and the events and logs of its pods. The operator recovers the cluster " +
				"automatically.",
		},
		{
			Name: "DatabaseDegraded", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf("%s < %s", ready, desired),
			Summary: "The database has fewer ready members than configured.",
			Action:  "Check the events of the pods: a node may be full or missing, or a member may be copying the database from another.",
		},
	}
}

func (a Alerts) volumeAlerts() []monitoring.Alert {
	volumes := fmt.Sprintf(`,persistentvolumeclaim=~"storage-%s-[0-9]+"`, a.Meta.Name)
	free := a.of("kubelet_volume_stats_available_bytes", volumes) + " / " + a.of("kubelet_volume_stats_capacity_bytes", volumes)
	action := "Raise " + a.Field + ".storageSize in the claim: " +
		"the operator expands the volumes if their storage class allows it."
	return []monitoring.Alert{
		{
			Name: "DatabaseVolumeFilling", Severity: monitoring.Warning, For: "15m", Expr: free + " < 0.2",
			Summary: "Volume {{ $labels.persistentvolumeclaim }} is 80 % full.", Action: action,
		},
		{
			Name: "DatabaseVolumeFull", Severity: monitoring.Critical, For: "5m", Expr: free + " < 0.05",
			Summary: "Volume {{ $labels.persistentvolumeclaim }} is 95 % full. The database stops when the volume is full.",
			Action:  action,
		},
	}
}

func (a Alerts) serverAlerts() []monitoring.Alert {
	// The instance is the name of the pod, as Monitor sets it, or its full host name, as in the operator's own ServiceMonitor.
	members := fmt.Sprintf(`,instance=~"%s-[0-9]+([.].*)?"`, a.Meta.Name)
	alerts := []monitoring.Alert{
		{
			Name: "DatabaseConnectionsExhausting", Severity: monitoring.Warning, For: "10m",
			Expr: a.of("mysql_global_status_threads_connected", members) + " / " +
				a.of("mysql_global_variables_max_connections", members) + " > 0.8",
			Summary: "Member {{ $labels.instance }} uses more than 80 % of its connections.",
			Action: "Check which clients use them (SHOW PROCESSLIST). " +
				"The limit depends on the size of the claim, its pods and " + a.Memory + ".",
		},
		{
			Name: "DatabaseMetricsMissing", Severity: monitoring.Warning, For: "15m",
			Expr:    a.of("mysql_up", members) + " == 0",
			Summary: "The exporter cannot read the metrics of member {{ $labels.instance }}: other alerts on it cannot fire.",
			Action:  "Check the log of the exporter (Deployment " + a.Meta.Name + "-metrics).",
		},
	}
	alerts = append(alerts, monitoring.Alert{
		Name: "DatabaseDeadlocks", Severity: monitoring.Warning, For: "15m",
		Expr:    "rate(" + a.of("mysql_global_status_innodb_deadlocks", members) + "[5m]) > 0.1",
		Summary: "Member {{ $labels.instance }} aborts {{ $value | humanize }} transactions per second because of deadlocks. Services retry.",
		Action:  "See SHOW ENGINE INNODB STATUS for the last deadlock and its tables; check for a process that hangs or has many replicas.",
	})
	if a.Members > 1 {
		alerts = append(alerts, monitoring.Alert{
			Name: "DatabaseConflicts", Severity: monitoring.Warning, For: "15m",
			Expr: "rate(" + a.of("mysql_global_status_wsrep_local_cert_failures", members) + "[5m]) + rate(" +
				a.of("mysql_global_status_wsrep_local_bf_aborts", members) + "[5m]) > 1",
			Summary: "Member {{ $labels.instance }} aborts {{ $value | humanize }} transactions per second because of conflicts with other members.",
			Action: "Services write to more than one member. A MaxScale sends all writes to one: check whether clients bypass it, " +
				"and whether it changes the primary repeatedly.",
		}, monitoring.Alert{
			Name: "DatabaseFlowControl", Severity: monitoring.Warning, For: "10m",
			Expr:    "rate(" + a.of("mysql_global_status_wsrep_flow_control_paused_ns", members) + "[5m]) / 1e9 > 0.1",
			Summary: "Galera pauses writes of member {{ $labels.instance }} for {{ $value | humanizePercentage }} of the time: one is too slow.",
			Action: "Compare wsrep_local_recv_queue of the members: the longest belongs to the slow one. " +
				"Check its node, its volume and " + a.Memory + ".",
		}, monitoring.Alert{
			Name: "DatabaseGaleraClusterDegraded", Severity: monitoring.Critical, For: "10m",
			Expr:    fmt.Sprintf("%s < %d", a.of("mysql_global_status_wsrep_cluster_size", members), a.Members),
			Summary: "Member {{ $labels.instance }} sees {{ $value }} members of its Galera cluster, fewer than configured.",
			Action:  "Check the condition GaleraReady of the MariaDB object and the logs of the members: an isolated member rejects writes.",
		})
	}
	return alerts
}

// backupAlerts returns alerts on the Jobs of backups, whose names end with the time of their creation.
func (a Alerts) backupAlerts() []monitoring.Alert {
	jobs := fmt.Sprintf(`,job_name=~"%s(-[0-9a-f]+)?-[0-9]{14}"`, a.Meta.Name)
	done := a.of("kube_job_status_completion_time", jobs)
	age := a.BackupAge.Round(time.Hour)
	const action = "Check the logs of the Job's pods, the object store and its credentials. " +
		"Delete a failed Job before another backup can run."
	return []monitoring.Alert{
		{
			Name: "DatabaseBackupFailed", Severity: monitoring.Warning, For: "5m",
			Expr:    a.of("kube_job_failed", jobs+`,condition="true"`) + " > 0",
			Summary: "Backup {{ $labels.job_name }} has failed, and no further backups run.", Action: action,
		},
		{
			Name: "DatabaseBackupOld", Severity: monitoring.Critical, For: "10m",
			Expr:    fmt.Sprintf("time() - max(%s) > %.0f", done, age.Seconds()),
			Summary: fmt.Sprintf("The last backup of the database is older than %.0f hours.", age.Hours()), Action: action,
		},
		{
			Name: "DatabaseBackupMissing", Severity: monitoring.Critical, For: fmt.Sprintf("%.0fh", age.Hours()),
			Expr:    fmt.Sprintf("absent(%s)", done),
			Summary: "The database has no backup.", Action: action,
		},
	}
}

package wiring

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// exported are the existing metrics by exporter: names or prefixes.
var exported = map[string][]string{
	// https://github.com/kubernetes/kube-state-metrics/tree/main/docs/metrics
	"kube-state-metrics": {
		"kube_deployment_status_replicas_available", "kube_deployment_spec_replicas", "kube_statefulset_status_replicas_ready",
		"kube_statefulset_replicas", "kube_statefulset_status_replicas_available",
		"kube_job_created", "kube_job_complete", "kube_job_failed", "kube_job_status_failed", "kube_job_status_completion_time",
		"kube_cronjob_next_schedule_time", "kube_pod_container_resource_limits", "kube_pod_container_status_restarts_total",
		"kube_pod_container_status_last_terminated_reason", "kube_daemonset_status_number_unavailable", "kube_pod_info",
		"kube_node_status_condition",
	},
	// https://github.com/prometheus/node_exporter, collector/filesystem_common.go and collector/uname.go
	"node_exporter": {
		"node_filesystem_avail_bytes", "node_filesystem_size_bytes", "node_filesystem_files", "node_filesystem_files_free", "node_uname_info",
	},
	// https://kubernetes.io/docs/reference/instrumentation/metrics/
	"kubelet": {"kubelet_volume_stats_available_bytes", "kubelet_volume_stats_capacity_bytes"},
	// https://github.com/google/cadvisor/blob/master/docs/storage/prometheus.md, which the kubelet serves
	"cadvisor": {"container_memory_working_set_bytes"},
	// https://cert-manager.io/docs/devops-tips/prometheus-metrics/
	"cert-manager": {"certmanager_certificate_expiration_timestamp_seconds"},
	// https://github.com/prometheus/mysqld_exporter v0.15.1, collector/global_{status,variables}.go, collector/exporter.go
	"mysqld_exporter": {
		"mysql_up", "mysql_global_status_threads_connected", "mysql_global_variables_max_connections", "mysql_global_status_wsrep_cluster_size",
		"mysql_global_status_innodb_deadlocks", "mysql_global_status_wsrep_flow_control_paused_ns",
		"mysql_global_status_wsrep_local_bf_aborts", "mysql_global_status_wsrep_local_cert_failures",
	},
	// https://github.com/rabbitmq/rabbitmq-server/blob/main/deps/rabbitmq_prometheus/metrics.md
	"rabbitmq_prometheus": {
		"rabbitmq_alarms_memory_used_watermark", "rabbitmq_alarms_free_disk_space_watermark", "rabbitmq_build_info",
		"rabbitmq_detailed_queue_messages_ready", "rabbitmq_detailed_queue_messages_unacked", "erlang_vm_dist_node_state",
	},
	// https://github.com/oliver006/redis_exporter
	"redis_exporter": {"redis_instance_info"},
	// https://docs.ceph.com/en/latest/mgr/prometheus/, and src/pybind/mgr/prometheus/module.py of Ceph
	"ceph-mgr": {
		"ceph_health_status", "ceph_health_detail", "ceph_mon_quorum_status", "ceph_osd_up", "ceph_osd_in", "ceph_osd_apply_latency_ms",
		"ceph_cluster_total_bytes", "ceph_cluster_total_used_raw_bytes", "ceph_pg_total", "ceph_pg_active", "ceph_pg_clean",
		"ceph_pool_metadata", "ceph_pool_stored", "ceph_pool_quota_bytes", "ceph_pool_rd_bytes", "ceph_pool_wr_bytes",
		"ceph_num_objects_degraded", "ceph_num_objects_misplaced", "ceph_num_objects_unfound",
	},
	// https://docs.ceph.com/en/latest/radosgw/metrics/
	"ceph-exporter": {"ceph_rgw_op_get_obj_ops", "ceph_rgw_op_put_obj_ops", "ceph_rgw_op_del_obj_ops"},
	// https://book.kubebuilder.io/reference/metrics-reference; k8s.io/client-go/tools/leaderelection
	"controller-runtime": {"controller_runtime_reconcile_errors_total", "leader_election_master_status"},
	// docs/reference/metrics.md; companion/monitoring_test.go holds the program to it.
	"companion": {
		"companion_last_observation_timestamp_seconds",
		"companion_key_repository_condition", "companion_key_repository_next_rotation_timestamp_seconds",
		"companion_key_repository_last_rotation_timestamp_seconds", "companion_key_repository_last_backup_timestamp_seconds",
		"companion_key_repository_keys", "companion_key_repository_required_keys", "companion_key_repository_rotations_total",
		"companion_database_sync_running", "companion_database_sync_failures_total", "companion_database_sync_condition",
		"companion_database_sync_last_success_timestamp_seconds",
		"companion_credential_rotation_condition", "companion_credential_rotation_next_rotation_timestamp_seconds",
		"companion_credential_rotation_last_rotation_timestamp_seconds", "companion_credential_rotation_rotations_total",
		"companion_secret_aggregate_condition", "companion_secret_aggregate_writes_total", "companion_identity_check_condition",
		"companion_remote_consumer_condition", "companion_node_issuer_condition",
		"companion_identity_check_duration_seconds_bucket", "companion_identity_check_last_token_timestamp_seconds",
		"companion_identity_check_failures_total",
		"companion_role_assignment_condition", "companion_role_assignment_assigned_total", "companion_endpoint_region_condition",
		"companion_endpoint_region_writes_total",
		"companion_cell_mapping_condition", "companion_cell_mapping_hosts", "companion_cell_mapping_runs_total",
		"companion_service_check_condition", "companion_service_check_processes_up", "companion_service_check_processes_down",
		"companion_service_check_removed_total", "companion_compute_catalog_condition", "companion_compute_catalog_changes_total",
		"companion_ovn_sync_condition", "companion_ovn_sync_differences", "companion_ovn_sync_runs_total", "companion_node_maintenance_condition",
		"companion_node_maintenance_blocked", "companion_node_maintenance_servers", "companion_hypervisor_recovery_condition",
		"companion_hypervisor_recovery_blocked", "companion_hypervisor_recovery_failed_nodes", "companion_hypervisor_recovery_nodes",
		"companion_hypervisor_recovery_remaining_servers",
		"companion_test_report_condition", "companion_test_report_tests", "companion_test_report_last_run_timestamp_seconds",
		"companion_raft_cluster_condition", "companion_raft_cluster_leaders", "companion_raft_cluster_members",
		"companion_raft_cluster_chassis", "companion_cluster_check_condition",
	},
}

var (
	quoted     = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'[^']*'`)
	braced     = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]`)
	grouping   = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	identifier = regexp.MustCompile(`[A-Za-z_:][A-Za-z0-9_:]*(\s*\()?`)
	keywords   = []string{"and", "or", "unless", "bool", "offset", "atan2"}
)

// metricsOf returns the metrics that an expression queries.
func metricsOf(expr string) []string {
	expr = quoted.ReplaceAllString(expr, "")
	expr = grouping.ReplaceAllString(braced.ReplaceAllString(expr, ""), "")
	var out []string
	for _, m := range identifier.FindAllString(expr, -1) {
		if !strings.HasSuffix(m, "(") && !slices.Contains(keywords, m) && strings.Contains(m, "_") {
			out = append(out, m)
		}
	}
	return out
}

// ofNodes returns the number of node metrics, which have no namespace, if the expression is limited to the nodes of a
// namespace's pods.
func ofNodes(queried []string, expr, namespace string) (count int) {
	_, limit, found := strings.Cut(expr, " and on (node")
	if !found || !strings.Contains(limit, `kube_pod_info{namespace="`+namespace+`"`) {
		return 0
	}
	for _, m := range queried {
		if strings.HasPrefix(m, "node_") || strings.HasPrefix(m, "kube_node_") {
			count++
		}
	}
	return count
}

// checkMetrics checks that alerts and dashboards query series that exist, of this control plane only, and that an alert
// has a description, a severity and a duration.
func (w *inventory) checkMetrics() {
	known := map[string]bool{}
	for _, names := range exported {
		for _, n := range names {
			known[n] = true
		}
	}
	query := func(o object, expr string) {
		queried := metricsOf(expr)
		if len(queried) == 0 {
			w.foundf("%s queries no metric: %s.", o, expr)
		}
		for _, m := range queried {
			if !known[m] {
				w.foundf("%s queries %s, which no known exporter exports.", o, m)
			}
		}
		if n := strings.Count(expr, `{namespace="`+o.namespace+`"`); n != len(queried)-ofNodes(queried, expr, o.namespace) {
			w.foundf("%s queries series that may be of other namespaces: %s.", o, expr)
		}
	}
	for _, o := range w.objects {
		switch {
		case o.is("PrometheusRule.monitoring.coreos.com"):
			each(o.spec(), nil, func(_ []string, m fields) {
				expr := text(m, "expr")
				if expr == "" {
					return
				}
				query(o, expr)
				if text(m, "for") == "" || text(m, "annotations", "summary") == "" || text(m, "annotations", "description") == "" ||
					!slices.Contains([]string{"critical", "warning"}, text(m, "labels", "severity")) {
					w.foundf("Alert %s lacks a severity, a duration, a summary or a description.", text(m, "alert"))
				}
			})
		case o.is("ConfigMap") && text(o.manifest, "metadata", "labels", "grafana_dashboard") != "":
			for name, content := range stringMap(o.manifest, "data") {
				var dashboard any
				if err := json.Unmarshal([]byte(content), &dashboard); err != nil {
					w.foundf("%s: %s is no dashboard: %v.", o, name, err)
				}
				each(dashboard, nil, func(_ []string, m fields) {
					if expr := text(m, "expr"); expr != "" {
						query(o, expr)
					}
				})
			}
		}
	}
}

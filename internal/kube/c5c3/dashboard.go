package c5c3

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// Dashboard returns a dashboard of the metrics that the alerts use, and related ones.
func Dashboard(w workload.Workload, conf common.Monitoring) (runtime.Object, error) {
	s, meta := seriesOf(w), w.Meta()
	meta.Name += "-dashboard"
	increase := func(metric, window string) string { return fmt.Sprintf("increase(%s[%s])", s.of(metric, ""), window) }
	one := func(expr, legend string) []monitoring.Query { return []monitoring.Query{{Expr: expr, Legend: legend}} }
	remaining := func(metric string) string { return fmt.Sprintf("(%s > 0) - time()", s.of(metric, "")) }
	notTrue := func(kind string) []monitoring.Query {
		return one(s.of("companion_"+kind+"_condition", "")+" == 0", "{{name}} {{condition}}")
	}
	panels := []monitoring.Panel{
		{Title: "Pods and leaders", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: s.of("kube_deployment_status_replicas_available", fmt.Sprintf(`,deployment=%q`, w.Name)), Legend: "pods"},
			{Expr: s.leaders(), Legend: "leaders"},
		}},
		{Title: "Errors in 15 minutes", Unit: monitoring.Number, Lines: one(s.errors(), "{{controller}}")},
		{Title: "Age of statuses", Unit: monitoring.Seconds, Lines: one(s.statusAge(""), "{{kind}} {{name}}")},
		{
			Title: "Age of keys", Unit: monitoring.Seconds,
			Lines: one(s.age("companion_key_repository_last_rotation_timestamp_seconds"), "{{name}}"),
		},
		{
			Title: "Until keys rotate (below 0: overdue)", Unit: monitoring.Seconds,
			Lines: one(remaining("companion_key_repository_next_rotation_timestamp_seconds"), "{{name}}"),
		},
		{Title: "Keys", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: s.of("companion_key_repository_keys", ""), Legend: "{{name}}"},
			{Expr: s.of("companion_key_repository_required_keys", ""), Legend: "{{name}} needed"},
			{Expr: increase("companion_key_repository_rotations_total", "1d"), Legend: "{{name}} rotations in a day"},
		}},
		{
			Title: "Since keys were backed up", Unit: monitoring.Seconds,
			Lines: one(s.age("companion_key_repository_last_backup_timestamp_seconds"), "{{name}}"),
		},
		{Title: "Conditions of keys that are not true", Unit: monitoring.Number, Lines: notTrue("key_repository")},
		{Title: "Conditions of schemas that are not true", Unit: monitoring.Number, Lines: notTrue("database_sync")},
		{Title: "Schema steps", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: s.of("companion_database_sync_running", ""), Legend: "{{name}} runs"},
			{Expr: increase("companion_database_sync_failures_total", "1h"), Legend: "{{name}} {{step}} failed in an hour"},
		}},
		{
			Title: "Since a schema step succeeded", Unit: monitoring.Seconds,
			Lines: one(s.age("companion_database_sync_last_success_timestamp_seconds"), "{{name}}"),
		},
		{
			Title: "Age of credentials", Unit: monitoring.Seconds,
			Lines: one(s.age("companion_credential_rotation_last_rotation_timestamp_seconds"), "{{name}}"),
		},
		{
			Title: "Until credentials are replaced (below 0: overdue)", Unit: monitoring.Seconds,
			Lines: one(remaining("companion_credential_rotation_next_rotation_timestamp_seconds"), "{{name}}"),
		},
		{
			Title: "Conditions of credentials that are not true", Unit: monitoring.Number, Lines: notTrue("credential_rotation"),
		},
		{Title: "Credentials and Secrets written in a day", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: increase("companion_credential_rotation_rotations_total", "1d"), Legend: "{{name}} replaced"},
			{Expr: increase("companion_secret_aggregate_writes_total", "1d"), Legend: "{{name}} written"},
		}},
		{Title: "Time for a token of Keystone", Unit: monitoring.Seconds, Lines: []monitoring.Query{
			{
				Expr: fmt.Sprintf("histogram_quantile(0.9, sum by (le) (rate(%s[1h])))",
					s.of("companion_identity_check_duration_seconds_bucket", "")),
				Legend: "nine in ten are faster",
			},
			{Expr: s.age("companion_identity_check_last_token_timestamp_seconds"), Legend: "since the last token"},
		}},
		{Title: "Objects that are not ready", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: s.isFalse("secret_aggregate", "Ready"), Legend: "Secret of {{name}}"},
			{Expr: s.isFalse("remote_consumer", "Current"), Legend: "credentials of {{name}}"},
			{Expr: s.isFalse("node_issuer", "Ready"), Legend: "certificates of nodes of {{name}}"},
			{Expr: s.isFalse("identity_check", "Reachable"), Legend: "tokens of Keystone"},
			{Expr: s.isFalse("role_assignment", "Available"), Legend: "role assignment {{name}}"},
			{Expr: s.isFalse("endpoint_region", "Available"), Legend: "region of {{name}}"},
		}},
		{Title: "Repairs in Keystone, and failed logins, in a day", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: increase("companion_role_assignment_assigned_total", "1d"), Legend: "role assignment {{name}}"},
			{Expr: increase("companion_endpoint_region_writes_total", "1d"), Legend: "region of {{name}}"},
			{Expr: increase("companion_identity_check_failures_total", "1d"), Legend: "logins that failed"},
		}},
	}
	return monitoring.Dashboard(meta, conf, "Companion of "+w.Namespace, slices.Concat(panels, s.compute(), s.networks(), s.tests())...)
}

// networks returns the panels of raft clusters.
func (s series) networks() []monitoring.Panel {
	return []monitoring.Panel{{Title: "Members of raft clusters", Unit: monitoring.Number, Lines: []monitoring.Query{
		{Expr: s.of("companion_raft_cluster_members", ""), Legend: "{{name}} {{state}} members"},
		{Expr: s.of("companion_raft_cluster_leaders", ""), Legend: "{{name}} leaders"},
		{Expr: s.of("companion_raft_cluster_chassis", ""), Legend: "{{name}} {{state}} nodes"},
		{Expr: s.of("companion_raft_cluster_condition", "") + " == 0", Legend: "{{name}} not {{condition}}"},
	}}}
}

// tests returns the panels of test results.
func (s series) tests() []monitoring.Panel {
	return []monitoring.Panel{
		{Title: "Tests of the last run", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: s.of("companion_test_report_tests", ""), Legend: "{{name}} {{result}}"},
			{Expr: s.isFalse("test_report", "TestsPassed"), Legend: "{{name}} has not passed"},
		}},
		{Title: "Since tests began to run last", Unit: monitoring.Seconds, Lines: []monitoring.Query{
			{Expr: s.age("companion_test_report_last_run_timestamp_seconds"), Legend: "{{name}}"},
		}},
	}
}

// compute returns the panels of Nova: cells, the processes that report to it, flavors and aggregates.
func (s series) compute() []monitoring.Panel {
	increase := func(metric, window string) string { return fmt.Sprintf("increase(%s[%s])", s.of(metric, ""), window) }
	return []monitoring.Panel{
		{Title: "Conditions of cells, and of flavors and aggregates, that are not true", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: s.of("companion_cell_mapping_condition", "") + " == 0", Legend: "{{name}} {{condition}}"},
			{Expr: s.of("companion_compute_catalog_condition", "") + " == 0", Legend: "{{name}} {{condition}} of flavors and aggregates"},
			{Expr: increase("companion_compute_catalog_changes_total", "1h"), Legend: "{{name}} changes of flavors and aggregates in an hour"},
		}},
		{Title: "Hosts of cells, and commands in an hour", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: s.of("companion_cell_mapping_hosts", ""), Legend: "{{name}}"},
			{Expr: increase("companion_cell_mapping_runs_total", "1h"), Legend: "{{name}} {{command}} {{result}}"},
		}},
		{Title: "Processes of services", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: s.of("companion_service_check_processes_up", ""), Legend: "{{name}} {{binary}} up"},
			{Expr: s.of("companion_service_check_processes_down", ""), Legend: "{{name}} {{binary}} down"},
			{Expr: increase("companion_service_check_removed_total", "1d"), Legend: "{{name}} records removed in a day"},
			{Expr: s.isFalse("service_check", "Ready"), Legend: "{{name}} is not ready"},
			{Expr: s.isFalse("service_check", "RemovedNodesCleanedUp"), Legend: "{{name}} has virtual machines on a node that has left"},
			{Expr: s.isFalse("service_check", "CordonedNodesEvacuated"), Legend: "{{name}} has virtual machines on a node that is cordoned"},
		}},
		{Title: "Maintenance of nodes", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: s.of("companion_node_maintenance_servers", ""), Legend: "{{name}} servers on the node"},
			{Expr: s.of("companion_node_maintenance_blocked", "") + " == 1", Legend: "{{name}} is blocked"},
			{Expr: s.of("companion_node_maintenance_condition", "") + " == 0", Legend: "{{name}} not {{condition}}"},
		}},
		{Title: "Recovery of failed nodes", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: s.of("companion_hypervisor_recovery_failed_nodes", ""), Legend: "{{name}} failed nodes"},
			{Expr: s.of("companion_hypervisor_recovery_nodes", ""), Legend: "{{name}} nodes in the state {{state}}"},
			{Expr: s.of("companion_hypervisor_recovery_remaining_servers", ""), Legend: "{{name}} servers on failed nodes"},
			{Expr: s.of("companion_hypervisor_recovery_blocked", "") + " == 1", Legend: "{{name}} is blocked"},
			{Expr: s.of("companion_hypervisor_recovery_condition", "") + " == 0", Legend: "{{name}} not {{condition}}"},
		}},
		{Title: "Differences between Neutron and OVN, and comparisons in an hour", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: s.of("companion_ovn_sync_differences", ""), Legend: "{{name}}"},
			{Expr: s.of("companion_ovn_sync_condition", "") + " == 0", Legend: "{{name}} not {{condition}}"},
			{Expr: increase("companion_ovn_sync_runs_total", "1h"), Legend: "{{name}} {{command}} {{result}}"},
		}},
	}
}

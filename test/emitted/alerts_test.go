package emitted

import (
	"bytes"
	stdcmp "cmp"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/expected"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// A scene is the input of an alert, in the notation of promtool's tests of rules, a sample a minute:
// https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/. The namespace is added by the test.
type scene struct {
	reason string
	series []string
	// start of the series after 1970, and when the alert is evaluated after that. Default: ten minutes later than the
	// alert waits.
	start, at string
	// fires lists the expected alerts: one label of each.
	fires []string
	// only limits the scene to expressions that contain it. Empty: it applies to all expressions of the alert's name.
	only string
}

// quiet and raised return the two scenes of most alerts: no alert for good series, and an alert for bad ones.
func quiet(reason string, series ...string) scene { return scene{reason: reason, series: series} }

func raised(reason, label string, series ...string) scene {
	return scene{reason: reason, series: series, fires: []string{label}}
}

// condition returns the scenes of an alert on a condition of an object.
func condition(metric, of string) []scene {
	return []scene{
		raised("It is false.", "n", metric+`{name="n",condition="`+of+`"} 0x2000`),
		quiet("It is true.", metric+`{name="n",condition="`+of+`"} 1x2000`),
		quiet("Another one is false.", metric+`{name="n",condition="`+of+`"} 1x2000`, metric+`{name="n",condition="Other"} 0x2000`),
		quiet("There is no such object."),
	}
}

// overdue returns the scenes of an alert on the time of the next rotation.
func overdue(metric string) []scene {
	return []scene{
		{reason: "It should have been two hours ago.", series: []string{metric + `{name="n"} 60x300`}, at: "3h10m", fires: []string{"n"}},
		{reason: "It should have been a few minutes ago.", series: []string{metric + `{name="n"} 3600x300`}, at: "70m"},
		{reason: "It is to come.", series: []string{metric + `{name="n"} 100000x300`}, at: "3h10m"},
		{reason: "There is to be none.", series: []string{metric + `{name="n"} 0x300`}, at: "3h10m"},
	}
}

// members returns the scenes of alerts on the pods of a set: without any pod, for one set or for all together, and with
// fewer than desired.
func members(set, one string) (down, degraded []scene) {
	ready, desired := `kube_statefulset_status_replicas_ready{statefulset="`+set+`"}`, `kube_statefulset_replicas{statefulset="`+set+`"} 3x100`
	other := `kube_statefulset_status_replicas_ready{statefulset="other"} 0x100`
	down = []scene{raised("None exists.", one, ready+" 0x100"), quiet("One is.", ready+" 1x100", other)}
	degraded = []scene{
		raised("One is missing.", set, ready+" 2x100", desired), quiet("All exist.", ready+" 3x100", desired, other),
		quiet("One was missing for ten minutes.", ready+" 3x10 2x10 3x100", desired),
	}
	return down, degraded
}

func expiring(name string) []scene {
	const metric = "certmanager_certificate_expiration_timestamp_seconds"
	return []scene{
		raised("In five days.", name, metric+`{name="`+name+`"} 432000x100`),
		quiet("In two weeks.", metric+`{name="`+name+`"} 1209600x100`),
		quiet("Of another object.", metric+`{name="other"} 432000x100`),
	}
}

func volume(bad, fine string) []scene {
	const available, capacity = "kubelet_volume_stats_available_bytes", "kubelet_volume_stats_capacity_bytes"
	claim := `{persistentvolumeclaim="storage-mariadb-0"} `
	return []scene{
		raised("Little is left.", "storage-mariadb-0", available+claim+bad, capacity+claim+"100x100"),
		quiet("Enough is left.", available+claim+fine, capacity+claim+"100x100"),
		quiet("Another volume.", available+`{persistentvolumeclaim="other"} 1x100`, capacity+`{persistentvolumeclaim="other"} 100x100`),
	}
}

// job returns the series of a Job with its result.
func job(name, created, end string) []string {
	out := []string{`kube_job_created{job_name="` + name + `"} ` + created + "x100", `kube_job_status_failed{job_name="` + name + `"} 1x100`}
	for _, how := range []string{"complete", "failed"} {
		if end == how {
			out = append(out, "kube_job_"+how+`{job_name="`+name+`",condition="true"} 1x100`, "kube_job_"+how+`{job_name="`+name+`",condition="false"} 0x100`)
		}
	}
	return out
}

// scenes of every alert, by name.
var scenes = func() map[string][]scene {
	databaseDown, databaseDegraded := members("mariadb", "mariadb")
	proxyDown, _ := members("maxscale", "maxscale")
	cacheDown, cacheDegraded := members("memcached", "memcached")
	valkeyDown, valkeyDegraded := members("valkey-valkey-node", "")
	messages := func(state, queue, count string) string {
		return `rabbitmq_detailed_queue_messages_` + state + `{pod="rabbitmq-server-0",vhost="nova",queue="` + queue + `"} ` + count + "x100"
	}
	_, queueDegraded := members("rabbitmq-server", "rabbitmq-server")
	deployment := func(name string) string {
		return `kube_deployment_status_replicas_available{deployment="` + name + `"}`
	}
	queued := func(ready string) []string {
		return []string{`kube_statefulset_status_replicas_ready{statefulset="rabbitmq-server"} ` + ready + "x100", `kube_statefulset_replicas{statefulset="rabbitmq-server"} 3x100`}
	}
	links := func(up string, most string) []string {
		var out []string
		for i, pair := range []string{"ab", "ac", "ba", "bc", "ca", "cb"} {
			state := most
			if i < 2 {
				state = up
			}
			out = append(out, `erlang_vm_dist_node_state{pod="rabbitmq-server-0",instance="`+pair[:1]+`",peer="`+pair[1:]+`"} `+state+"x100")
		}
		return append(out, `rabbitmq_build_info{pod="rabbitmq-server-0",instance="a"} 1x100`, `rabbitmq_build_info{pod="rabbitmq-server-0",instance="b"} 1x100`, `rabbitmq_build_info{pod="rabbitmq-server-0",instance="c"} 1x100`)
	}
	failed, failedToo := "keystone-bootstrap-a", "keystone-trust-flush-1"
	backup := `{job_name="mariadb-8e401227-20260101013000"`
	scenes := map[string][]scene{
		"KeystoneJobFailed": {
			quiet("No Job at all."),
			quiet("A pod failed, and the Job continues.", job(failed, "1", "")...),
			quiet("A pod failed, and the next succeeded.", job(failed, "1", "complete")...),
			raised("The Job has given up.", failed, job(failed, "1", "failed")...),
			quiet("A later one succeeded.", slices.Concat(job(failed, "1", "failed"), job("keystone-bootstrap-b", "2", "complete"))...),
			raised("A later one failed.", "keystone-bootstrap-b", slices.Concat(job(failed, "1", "complete"), job("keystone-bootstrap-b", "2", "failed"))...),
			raised("A later one runs, without a result yet.", failedToo, slices.Concat(job(failedToo, "1", "failed"), job("keystone-trust-flush-2", "2", ""))...),
			raised("Another kind's success does not count.", failedToo, slices.Concat(job(failedToo, "1", "failed"), job("keystone-bootstrap-b", "2", "complete"))...),
			{reason: "Both.", series: slices.Concat(job(failedToo, "1", "failed"), job(failed, "2", "failed")), fires: []string{failed, failedToo}},
			quiet("A Job of another service.", job("glance-bootstrap-a", "1", "failed")...),
		},

		"CompanionDown": {raised("None exists.", "companion", deployment("companion")+" 0x100"), quiet("One is.", deployment("companion")+" 1x100")},
		"CompanionNoLeader": {
			raised("No pod leads.", "", `leader_election_master_status{name="companion.cobaltcore.c5c3.io",pod="a"} 0x100`),
			raised("No metric.", ""),
			quiet("One leads.", `leader_election_master_status{name="companion.cobaltcore.c5c3.io",pod="a"} 0x100`, `leader_election_master_status{name="companion.cobaltcore.c5c3.io",pod="b"} 1x100`),
		},
		"CompanionFailing": {
			raised("Every minute.", "keyrepository", `controller_runtime_reconcile_errors_total{controller="keyrepository",job="companion"} 0+1x100`),
			quiet("Three conflicts, once.", `controller_runtime_reconcile_errors_total{controller="keyrepository",job="companion"} 0x5 3x100`),
			quiet("Another program's.", `controller_runtime_reconcile_errors_total{controller="keyrepository",job="other"} 0+1x100`),
		},
		"CompanionStatusOld": {
			{
				reason: "Of two hours ago.", start: "2h", fires: []string{"n"},
				series: []string{`companion_last_observation_timestamp_seconds{kind="CellMapping",name="n",pod="a"} 60x100`},
			},
			{
				reason: "A quiet companion writes every half hour.", start: "2h",
				series: []string{`companion_last_observation_timestamp_seconds{kind="CellMapping",name="n",pod="a"} 9000x100`},
			},
			{
				reason: "Another leader observes it.", start: "2h",
				series: []string{
					`companion_last_observation_timestamp_seconds{kind="CellMapping",name="n",pod="a"} 60x100`,
					`companion_last_observation_timestamp_seconds{kind="CellMapping",name="n",pod="b"} 7200x100`,
				},
			},
			{
				reason: "A guard uses the status.", start: "1h", fires: []string{"n"},
				series: []string{`companion_last_observation_timestamp_seconds{kind="ServiceCheck",name="n",pod="a"} 60x100`},
			},
			{
				reason: "There was none: a condition has the reason.", start: "2h",
				series: []string{`companion_last_observation_timestamp_seconds{kind="CellMapping",name="n",pod="a"} 0x100`},
			},
		},
		"PlatformClockStopped": {
			{
				reason: "The CronJob is suspended, or its controller has stopped.", start: "1h", fires: []string{"cobaltcore-clock"},
				series: []string{`kube_cronjob_status_last_schedule_time{cronjob="cobaltcore-clock"} 3600x100`},
			},
			{
				reason: "It advances every ten minutes.", start: "1h",
				series: []string{`kube_cronjob_status_last_schedule_time{cronjob="cobaltcore-clock"} 3600x9 4200x9 4800x9 5400x9 6000x9 6600x9 7200x9 7800x9`},
			},
			{
				reason: "One schedule was missed.", start: "1h",
				series: []string{`kube_cronjob_status_last_schedule_time{cronjob="cobaltcore-clock"} 3600x19 4800x9 5400x9 6000x9 6600x9 7200x9 7800x9`},
			},
			raised("It does not exist.", "cobaltcore-clock"),
			raised("Another CronJob advances.", "cobaltcore-clock", `kube_cronjob_status_last_schedule_time{cronjob="other"} 0+60x100`),
		},
		"KeysNotReady":       condition("companion_key_repository_condition", "Ready"),
		"KeysNotDistributed": condition("companion_key_repository_condition", "Distributed"),
		"KeysNotMigrated":    condition("companion_key_repository_condition", "Migrated"),
		"KeyBackupOutOfDate": condition("companion_key_repository_condition", "BackedUp"),
		"KeyRotationOverdue": overdue("companion_key_repository_next_rotation_timestamp_seconds"),
		"KeysTooOld": {
			{
				reason: "Of 61 days ago, with no next time.", start: "61d", fires: []string{"n"},
				series: []string{`companion_key_repository_next_rotation_timestamp_seconds{name="n"} 0x100`, `companion_key_repository_last_rotation_timestamp_seconds{name="n"} 60x100`},
			},
			{
				reason: "As old, and to be rotated.", start: "61d",
				series: []string{`companion_key_repository_next_rotation_timestamp_seconds{name="n"} 9000000x100`, `companion_key_repository_last_rotation_timestamp_seconds{name="n"} 60x100`},
			},
			{
				reason: "Of 59 days ago.", start: "59d",
				series: []string{`companion_key_repository_next_rotation_timestamp_seconds{name="n"} 0x100`, `companion_key_repository_last_rotation_timestamp_seconds{name="n"} 60x100`},
			},
			{
				reason: "No keys exist yet.", start: "61d",
				series: []string{`companion_key_repository_next_rotation_timestamp_seconds{name="n"} 0x100`, `companion_key_repository_last_rotation_timestamp_seconds{name="n"} 0x100`},
			},
		},
		"SchemaStepSlow": {
			raised("It runs and runs.", "n", `companion_database_sync_running{name="n"} 1x100`), quiet("Nothing runs.", `companion_database_sync_running{name="n"} 0x100`),
			quiet("Two short ones.", `companion_database_sync_running{name="n"} 1x40 0x5 1x40`),
		},
		"SchemaStepFailing": {
			raised("Again and again.", "n", `companion_database_sync_failures_total{name="n",step="expand"} 0+1x100`),
			quiet("Once, before.", `companion_database_sync_failures_total{name="n",step="expand"} 5x100`),
		},
		"SchemaNotReady":            condition("companion_database_sync_condition", "Ready"),
		"SchemaUpgradeIncomplete":   condition("companion_database_sync_condition", "Contracted"),
		"CredentialNotReady":        condition("companion_credential_rotation_condition", "Ready"),
		"CredentialNotDistributed":  condition("companion_credential_rotation_condition", "Distributed"),
		"CredentialRotationOverdue": overdue("companion_credential_rotation_next_rotation_timestamp_seconds"),
		"SecretAggregateNotReady":   condition("companion_secret_aggregate_condition", "Ready"),
		"KeystoneTokenIssueFailing": condition("companion_identity_check_condition", "Reachable"),
		"RoleAssignmentMissing":     condition("companion_role_assignment_condition", "Available"),
		"EndpointRegionMissing":     condition("companion_endpoint_region_condition", "Available"),
		"CellNotReady":              condition("companion_cell_mapping_condition", "Ready"),
		"HostsNotMapped":            condition("companion_cell_mapping_condition", "HostsMapped"),
		"ComputeCatalogNotReady":    condition("companion_compute_catalog_condition", "Ready"),
		"ServiceProcessesDown":      condition("companion_service_check_condition", "Ready"),
		"RemovedNodeNotEmpty":       condition("companion_service_check_condition", "RemovedNodesCleanedUp"),
		"NodeEvacuationIncomplete":  condition("companion_service_check_condition", "CordonedNodesEvacuated"),
		"NodeMaintenanceBlocked": {
			raised("It is blocked.", "n", `companion_node_maintenance_blocked{name="n"} 1x2000`),
			quiet("It continues.", `companion_node_maintenance_blocked{name="n"} 0x2000`),
			quiet("It was blocked for a short time.", `companion_node_maintenance_blocked{name="n"} 1x50 0x2000`),
		},
		"HypervisorRecoveryBlocked": {
			raised("It is blocked.", "n", `companion_hypervisor_recovery_blocked{name="n"} 1x200`),
			quiet("It continues.", `companion_hypervisor_recovery_blocked{name="n"} 0x200`),
			quiet("It was blocked for a short time.", `companion_hypervisor_recovery_blocked{name="n"} 1x4 0x200`),
		},
		"HypervisorFencingUnavailable": condition("companion_hypervisor_recovery_condition", "Fenceable"),
		"HypervisorFailed":             condition("companion_hypervisor_recovery_condition", "Recovered"),
		"ClusterCheckFailing":          condition("companion_cluster_check_condition", "Ready"),
		"OVNOutOfSync":                 condition("companion_ovn_sync_condition", "InSync"),
		"OVNComparisonOverdue":         condition("companion_ovn_sync_condition", "Ready"),
		"TestsFailed":                  condition("companion_test_report_condition", "TestsPassed"),
		"TempestRunOverdue": {
			{reason: "Two hours ago.", series: []string{`kube_cronjob_next_schedule_time{cronjob="tempest"} 60x300`}, at: "3h10m", fires: []string{"tempest"}},
			{reason: "A few minutes ago.", series: []string{`kube_cronjob_next_schedule_time{cronjob="tempest"} 3600x300`}, at: "70m"},
			{reason: "It is to come.", series: []string{`kube_cronjob_next_schedule_time{cronjob="tempest"} 100000x300`}, at: "3h10m"},
			{reason: "Another one's.", series: []string{`kube_cronjob_next_schedule_time{cronjob="other"} 60x300`}, at: "3h10m"},
		},

		"DatabaseDown": databaseDown, "DatabaseDegraded": databaseDegraded, "DatabaseProxyDown": proxyDown,
		"DatabaseVolumeFilling": volume("19x100", "21x100"),
		"DatabaseVolumeFull":    volume("4x100", "6x100"),
		"DatabaseConnectionsExhausting": {
			raised("Nine in ten.", "mariadb-0", `mysql_global_status_threads_connected{instance="mariadb-0"} 90x100`, `mysql_global_variables_max_connections{instance="mariadb-0"} 100x100`),
			quiet("Half.", `mysql_global_status_threads_connected{instance="mariadb-0"} 50x100`, `mysql_global_variables_max_connections{instance="mariadb-0"} 100x100`),
		},
		"DatabaseMetricsMissing": {raised("It cannot.", "mariadb-0", `mysql_up{instance="mariadb-0"} 0x100`), quiet("It can.", `mysql_up{instance="mariadb-0"} 1x100`)},
		"DatabaseGaleraClusterDegraded": {
			raised("One is alone.", "mariadb-2", `mysql_global_status_wsrep_cluster_size{instance="mariadb-2"} 1x100`, `mysql_global_status_wsrep_cluster_size{instance="mariadb-0"} 3x100`),
			quiet("All see all.", `mysql_global_status_wsrep_cluster_size{instance="mariadb-0"} 3x100`),
		},
		"DatabaseBackupFailed": {
			raised("It has.", "mariadb-8e401227-20260101013000", "kube_job_failed"+backup+`,condition="true"} 1x100`),
			quiet("It has not.", "kube_job_failed"+backup+`,condition="true"} 0x100`),
			quiet("Another Job has.", `kube_job_failed{job_name="keystone-bootstrap-a",condition="true"} 1x100`),
		},
		"DatabaseBackupOld": {
			{reason: "Of 33 hours ago.", series: []string{"kube_job_status_completion_time" + backup + "} 60x100"}, start: "33h", fires: []string{""}},
			{reason: "Of an hour ago, and an older one.", start: "33h", series: []string{
				"kube_job_status_completion_time" + backup + "} 60x100", `kube_job_status_completion_time{job_name="mariadb-8e401227-20260102013000"} 115200x100`,
			}},
		},
		"DatabaseBackupMissing": {raised("No backup.", ""), quiet("One backup.", "kube_job_status_completion_time"+backup+"} 60x2000")},

		"CacheDown": cacheDown, "CacheDegraded": cacheDegraded,
		"DatabaseDeadlocks": {
			raised("One in five seconds.", "mariadb-0", `mysql_global_status_innodb_deadlocks{instance="mariadb-0"} 0+12x100`),
			quiet("One in a minute.", `mysql_global_status_innodb_deadlocks{instance="mariadb-0"} 0+1x100`),
			quiet("Many, before.", `mysql_global_status_innodb_deadlocks{instance="mariadb-0"} 100000x100`),
		},
		"DatabaseConflicts": {
			raised("Of both kinds.", "mariadb-0", `mysql_global_status_wsrep_local_cert_failures{instance="mariadb-0"} 0+40x100`, `mysql_global_status_wsrep_local_bf_aborts{instance="mariadb-0"} 0+40x100`),
			quiet("Few.", `mysql_global_status_wsrep_local_cert_failures{instance="mariadb-0"} 0+20x100`, `mysql_global_status_wsrep_local_bf_aborts{instance="mariadb-0"} 0+20x100`),
		},
		"DatabaseFlowControl": {
			raised("A fifth of the time.", "mariadb-1", `mysql_global_status_wsrep_flow_control_paused_ns{instance="mariadb-1"} 0+12000000000x100`),
			quiet("A twentieth.", `mysql_global_status_wsrep_flow_control_paused_ns{instance="mariadb-1"} 0+3000000000x100`),
			quiet("An hour, before.", `mysql_global_status_wsrep_flow_control_paused_ns{instance="mariadb-1"} 3600000000000x100`),
		},
		"ValkeyDown": valkeyDown, "ValkeyDegraded": valkeyDegraded,
		"ValkeyNoPrimary": {
			raised("All follow.", "", `redis_instance_info{pod="a",role="slave"} 1x100`, `redis_instance_info{pod="b",role="slave"} 1x100`),
			quiet("One leads.", `redis_instance_info{pod="a",role="slave"} 1x100`, `redis_instance_info{pod="b",role="master"} 1x100`),
			quiet("No metric."),
		},
		"QueueBacklog": {
			raised("They are not consumed.", "conductor", messages("ready", "conductor", "201")),
			quiet("A few wait.", messages("ready", "conductor", "200")),
			quiet("A stream keeps consumed messages.", messages("ready", "conductor_fanout", "100000")),
			quiet("They are with readers.", messages("unacked", "conductor", "201")),
			quiet("They are taken in the end.", messages("ready", "conductor", "201x10 0")),
		},
		"QueueUnacknowledged": {
			raised("A reader hangs.", "scheduler", messages("unacked", "scheduler", "201")),
			quiet("They are worked on.", messages("unacked", "scheduler", "200")),
			quiet("A reader of a stream hangs.", messages("unacked", "scheduler_fanout", "100000")),
		},
		"QueueQuorumLost": {
			raised("One of three.", "rabbitmq-server", queued("1")...), quiet("Two of three.", queued("2")...),
		},
		"QueueDegraded": queueDegraded,
		"QueueMemoryAlarm": {
			raised("One is.", "", `rabbitmq_alarms_memory_used_watermark{pod="rabbitmq-server-0",instance="a"} 0x100`, `rabbitmq_alarms_memory_used_watermark{pod="rabbitmq-server-0",instance="b"} 1x100`),
			quiet("None is.", `rabbitmq_alarms_memory_used_watermark{pod="rabbitmq-server-0",instance="a"} 0x100`),
		},
		"QueueDiskAlarm": {
			raised("One is.", "", `rabbitmq_alarms_free_disk_space_watermark{pod="rabbitmq-server-0",instance="a"} 1x100`), quiet("None is.", `rabbitmq_alarms_free_disk_space_watermark{pod="rabbitmq-server-0",instance="a"} 0x100`),
		},
		"QueuePartitioned": {
			raised("One has no link.", "", links("1", "3")...), raised("None has a link.", "", links("1", "1")...), quiet("All see all.", links("3", "3")...),
		},
		"CertificateExpiring": slices.Concat(expiring("keystone-tls")[:2], expiring("tenant-a-pool-0123456789abcdef0123-vnc")[:2]),
	}
	space := func(volume string, free int) []string {
		in := `{persistentvolumeclaim="` + volume + `"}`
		return []string{"kubelet_volume_stats_available_bytes" + in + fmt.Sprintf(" %dx100", free), "kubelet_volume_stats_capacity_bytes" + in + " 100x100"}
	}
	for name, limit := range map[string]int{"GlanceVolumeFilling": 20, "GlanceVolumeFull": 5} {
		for _, volume := range []string{"glance-main-store", "glance-b--store", "staging-glance-0"} {
			for _, sc := range []scene{
				raised("A store's.", volume, space(volume, limit-1)...), quiet("Room enough.", space(volume, limit)...),
				quiet("Of another service.", space("storage-mariadb-0", 1)...),
			} {
				sc.only = strings.TrimSuffix(volume, "-0")
				scenes[name] = append(scenes[name], sc)
			}
		}
	}
	archived := "nova-archive-29384750"
	scenes["NovaJobFailed"] = []scene{
		raised("The last has given up.", archived, job(archived, "1", "failed")...), quiet("It succeeded.", job(archived, "1", "complete")...),
		quiet("A later one succeeded.", slices.Concat(job(archived, "1", "failed"), job("nova-archive-29384751", "2", "complete"))...),
	}
	services, err := expected.Read()
	if err != nil {
		panic(err)
	}
	// These have no options in the registry, and so no facts.
	processes := []expected.Alert{
		{Alert: "Horizon", Deployment: "horizon"}, {Alert: "OVNNorthd", Deployment: "ovn-northd"},
	}
	for _, facts := range services {
		processes = append(processes, facts.Alerts.Processes...)
		for alert, purged := range facts.Alerts.Jobs {
			scenes[alert] = []scene{
				raised("The last has given up.", purged, job(purged, "1", "failed")...), quiet("It succeeded.", job(purged, "1", "complete")...),
			}
		}
	}
	for _, p := range processes {
		name := stdcmp.Or(p.Deployment, p.StatefulSet)
		existing, desired := deployment(name), `kube_deployment_spec_replicas{deployment="`+name+`"} 3x100`
		if p.StatefulSet != "" {
			existing, desired = `kube_statefulset_status_replicas_available{statefulset="`+name+`"}`, `kube_statefulset_replicas{statefulset="`+name+`"} 3x100`
		}
		if name != "" {
			scenes[p.Alert+"Down"] = []scene{
				raised("None exists.", name, existing+" 0x100"), quiet("One is.", existing+" 1x100", deployment("other")+" 0x100"),
			}
			scenes[p.Alert+"Degraded"] = []scene{raised("One is missing.", name, existing+" 2x100", desired), quiet("All exist.", existing+" 3x100", desired)}
		}
	}
	raft := func(metric, at string) string {
		return "companion_raft_cluster_" + metric + `{name="ovn-southbound"` + at + "} "
	}
	scenes["OVNDatabaseNoLeader"] = []scene{
		raised("No member leads.", "ovn-southbound", raft("leaders", "")+"0x100"), quiet("One does.", raft("leaders", "")+"1x100"),
	}
	for name, condition := range map[string]string{"OVNClusterMismatch": "ClusterIDMatches", "OVNDatabaseDegraded": "Ready", "OVNChassisUncounted": "ChassisCounted"} {
		at := raft("condition", `,condition="`+condition+`"`)
		scenes[name] = []scene{
			raised("It is not so.", "ovn-southbound", at+"0x100"), quiet("It is.", at+"1x100"),
			quiet("Another's is not.", strings.Replace(at, "ovn-southbound", "other", 1)+"0x100"),
		}
	}
	scenes["OVNChassisOutOfDate"] = []scene{
		raised("One does nothing any more.", "ovn-southbound", raft("chassis", `,state="behind"`)+"1x100"),
		quiet("All are up to date.", raft("chassis", `,state="behind"`)+"0x100", raft("chassis", `,state="active"`)+"3x100"),
	}
	memory := func(pod string, used int) []string {
		in := `{pod="` + pod + `",container="ovn"`
		return []string{
			"container_memory_working_set_bytes" + in + fmt.Sprintf("} %dx100", used),
			"kube_pod_container_resource_limits" + in + `,resource="memory"} 100x100`,
		}
	}
	scenes["OVNMemoryHigh"] = []scene{
		raised("A member's.", "ovn-southbound-1", memory("ovn-southbound-1", 91)...), quiet("Room enough.", memory("ovn-southbound-1", 90)...),
		quiet("Of another service.", memory("mariadb-0", 99)...),
	}
	for name, limit := range map[string]int{"OVNVolumeFilling": 20, "OVNVolumeFull": 5} {
		scenes[name] = []scene{
			raised("A member's.", "data-ovn-northbound-1", space("data-ovn-northbound-1", limit-1)...),
			quiet("Room enough.", space("data-ovn-northbound-1", limit)...), quiet("Of another service.", space("data-mariadb-0", 1)...),
		}
	}
	maps.Copy(scenes, cephScenes())
	for _, label := range []string{"", "Hypervisor", "Ceph"} {
		maps.Copy(scenes, containerScenes(label))
	}
	maps.Copy(scenes, nodeScenes("Hypervisor", "nova-compute-x7d2f"))
	maps.Copy(scenes, nodeScenes("Ceph", "rook-ceph-osd-0-5d8f7"))
	scenes["HypervisorProgramMissing"] = []scene{
		raised("On one node.", "libvirt", `kube_daemonset_status_number_unavailable{daemonset="libvirt"} 1x100`),
		quiet("On none.", `kube_daemonset_status_number_unavailable{daemonset="libvirt"} 0x100`),
		quiet("It was replaced.", `kube_daemonset_status_number_unavailable{daemonset="libvirt"} 1x10 0x100`),
	}
	scenes["HypervisorCertificateExpiring"] = expiring("disk-transfer-tls")[:2]
	return scenes
}()

// containerScenes returns the scenes of alerts on containers.
func containerScenes(label string) map[string][]scene {
	const of = `{pod="api-0",container="api"`
	restarts := func(counts string) string { return "kube_pod_container_status_restarts_total" + of + "} " + counts }
	ended := func(reason string) string {
		return "kube_pod_container_status_last_terminated_reason" + of + `,reason="` + reason + `"} 1x200`
	}
	return map[string][]scene{
		label + "ContainerRestarting": {
			raised("Every ten minutes.", "api-0", restarts("0x9 1x9 2x9 3x9 4x9 5x9 6x9 7x100")),
			quiet("Twice.", restarts("0x20 1x20 2x100")), quiet("Often, before.", restarts("90x200")),
		},
		label + "ContainerOutOfMemory": {
			raised("Half an hour ago.", "api-0", restarts("0x30 1x100"), ended("OOMKilled")),
			quiet("With an error.", restarts("0x30 1x100"), ended("Error")),
			{reason: "Three hours ago.", series: []string{restarts("0x10 1x300"), strings.Replace(ended("OOMKilled"), "x200", "x400", 1)}, at: "3h10m"},
		},
	}
}

// nodeScenes returns the scenes of alerts on the nodes of a pod.
func nodeScenes(label, pod string) map[string][]scene {
	on := func(pod, node string) string { return `kube_pod_info{pod="` + pod + `",node="` + node + `"} 1x100` }
	const uname = `node_uname_info{instance="10.0.0.1:9100",nodename="node-1"} 1x100`
	file := func(metric, mountpoint, value string) string {
		return "node_filesystem_" + metric + `{instance="10.0.0.1:9100",mountpoint="` + mountpoint + `"} ` + value + "x100"
	}
	pressure := func(condition, value string) string {
		return `kube_node_status_condition{node="node-1",condition="` + condition + `",status="true"} ` + value + "x100"
	}
	filling := func(remaining, all, bad, fine string) []scene {
		return []scene{
			raised("Little is left.", "node-1", on(pod, "node-1"), uname, file(remaining, "/", bad), file(all, "/", "100")),
			raised("Of a separate file system.", "node-1", on(pod, "node-1"), uname, file(remaining, "/var/lib/cobaltcore/nova", bad), file(all, "/var/lib/cobaltcore/nova", "100")),
			quiet("Enough is left.", on(pod, "node-1"), uname, file(remaining, "/", fine), file(all, "/", "100")),
			quiet("Of one that nothing here is on.", on(pod, "node-1"), uname, file(remaining, "/boot", bad), file(all, "/boot", "100")),
			quiet("Of another node.", on(pod, "node-2"), uname, file(remaining, "/", bad), file(all, "/", "100")),
			quiet("Of another pod's node.", on("other-0", "node-1"), uname, file(remaining, "/", bad), file(all, "/", "100")),
		}
	}
	return map[string][]scene{
		label + "NodeDiskFilling":   filling("avail_bytes", "size_bytes", "19", "21"),
		label + "NodeInodesFilling": filling("files_free", "files", "9", "11"),
		label + "NodeUnderPressure": {
			raised("The disk is full.", "node-1", on(pod, "node-1"), pressure("DiskPressure", "1")),
			quiet("It is not.", on(pod, "node-1"), pressure("DiskPressure", "0")),
			quiet("It is ready.", on(pod, "node-1"), pressure("Ready", "1")),
			quiet("Another node.", on(pod, "node-2"), pressure("DiskPressure", "1")),
		},
	}
}

// absences are the alerts on missing series: they are also raised for series of other control planes.
var absences = []string{"CompanionNoLeader", "DatabaseBackupMissing", "CephMetricsMissing", "PlatformClockStopped"}

// rule is an alert in the namespace cloud.
type rule struct{ Expr, For, Severity, Runbook string }

// instances replaces names in expressions that differ between claims and cells by the names in scenes.
var instances = strings.NewReplacer("mariadb-cell-far", "mariadb", "rabbitmq-cell-far", "rabbitmq")

// cellProcess matches the name of a process of a cell.
var cellProcess = regexp.MustCompile(`"nova-[a-z0-9]+-(conductor|metadata|vnc|spice|serial)"`)

// alertsOf returns all alerts of cases: by name, each different expression.
func alertsOf(all ...testCase) map[string][]rule {
	out := map[string][]rule{}
	for _, c := range all {
		for _, o := range c.Objects {
			if o.Kind != "PrometheusRule" {
				continue
			}
			for name, rules := range rulesOf(o.Manifest.AsMap()) {
				for _, r := range rules {
					r.Expr = instances.Replace(strings.ReplaceAll(r.Expr, o.Namespace, "cloud"))
					if strings.HasPrefix(name, "NovaCell") {
						r.Expr = cellProcess.ReplaceAllString(r.Expr, `"nova-cell1-$1"`)
					}
					if !slices.Contains(out[name], r) {
						out[name] = append(out[name], r)
					}
				}
			}
		}
	}
	return out
}

// rulesOf returns the alerts at any depth of an object, by name.
func rulesOf(v any) map[string][]rule {
	out := map[string][]rule{}
	var rules func(v any)
	rules = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if name, ok := v["alert"].(string); ok {
				labels, _ := v["labels"].(map[string]any)
				annotations, _ := v["annotations"].(map[string]any)
				out[name] = append(out[name], rule{
					Expr: v["expr"].(string), For: v["for"].(string), Severity: fmt.Sprint(labels["severity"]),
					Runbook: fmt.Sprint(annotations["runbook_url"]),
				})
			}
			for _, e := range v {
				rules(e)
			}
		case []any:
			for _, e := range v {
				rules(e)
			}
		}
	}
	rules(v)
	return out
}

// ofChart returns the alerts of the Helm chart, on objects that belong to no claim.
func ofChart(t *testing.T) testCase {
	t.Helper()
	text, err := os.ReadFile("../../package/chart/generated/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec := map[string]any{}
	if err := yaml.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	manifest, err := structpb.NewStruct(map[string]any{"spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	rules := preview.Object{Kind: "PrometheusRule", Name: "cobaltcore", Namespace: "kube-system", Manifest: manifest}
	return testCase{name: "the chart", Result: &preview.Result{Objects: []preview.Object{rules}}}
}

// watched returns all cases, a pool of hypervisors, and the chart.
func watched(t *testing.T) []testCase {
	t.Helper()
	var existing []*structpb.Struct
	pool := &preview.Result{}
	for _, file := range []string{"control-plane.yaml", "claim.yaml"} {
		claim, err := examples.Files.ReadFile("hypervisor/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if pool, err = preview.RunWithClaims(existing, claim, examples.Platform, kinds.Runners()); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		existing = append(existing, pool.Existing...)
	}
	return append(slices.Clone(cases(t)), testCase{name: "a pool", Result: pool}, ofChart(t))
}

// scenesOf returns the scenes of an expression.
func scenesOf(name string, r rule) []scene {
	return slices.DeleteFunc(slices.Clone(scenes[name]), func(s scene) bool { return !strings.Contains(r.Expr, s.only) })
}

// TestEveryAlertHasScenario checks that every expression of an alert has series for which it is raised, and others for
// which it is not.
func TestEveryAlertHasScenario(t *testing.T) {
	for name, rules := range alertsOf(watched(t)...) {
		for _, r := range rules {
			raised := func(s scene) bool { return len(s.fires) > 0 }
			quiet := func(s scene) bool { return len(s.fires) == 0 }
			if shown := scenesOf(name, r); !slices.ContainsFunc(shown, raised) || !slices.ContainsFunc(shown, quiet) {
				t.Errorf("alert %s is not shown with bad series and good ones: %s", name, r.Expr)
			}
		}
	}
}

// prove makes TestAlertsFireOnlyInBadScenes write the list of alerts that it has evaluated in their scenes.
var prove = flag.Bool("prove", false, "write testdata/alerts.txt, after Prometheus's engine has evaluated every alert as its scenes want (PROMQL)")

// proofs returns a line for each alert: name, severity, duration, a hash of its scenes, and the expression.
func proofs(all map[string][]rule) []string {
	var out []string
	for name, rules := range all {
		for _, r := range rules {
			sum := sha256.Sum256(fmt.Appendf(nil, "%+v", scenesOf(name, r)))
			out = append(out, fmt.Sprintf("%s %s %s %x %s", name, r.Severity, r.For, sum[:6], strings.Join(strings.Fields(r.Expr), " ")))
		}
	}
	slices.Sort(out)
	return out
}

const proven = "testdata/alerts.txt"

// TestAlertsAreProven checks that Prometheus's engine has evaluated each alert in its current scenes, without running
// the engine. Only TestAlertsFireOnlyInBadScenes writes the list, and only if all alerts behave as in their scenes.
func TestAlertsAreProven(t *testing.T) {
	data, err := os.ReadFile(proven)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Split(strings.TrimSpace(string(data)), "\n")
	got := proofs(alertsOf(watched(t)...))
	for _, p := range got {
		if !slices.Contains(known, p) {
			t.Errorf("Prometheus's engine has not evaluated this alert in its current form; run TestAlertsFireOnlyInBadScenes with PROMQL and -prove, and review the change: %s", p)
		}
	}
	for _, k := range known {
		if !slices.Contains(got, k) {
			t.Errorf("no claim has this alert any more: %s", k)
		}
	}
}

// TestAlertsFireOnlyInBadScenes checks with Prometheus's engine that each expression of each alert is raised in the bad scenes, and
// neither in the good ones nor for the same series of another control plane.
func TestAlertsFireOnlyInBadScenes(t *testing.T) {
	tool := os.Getenv("PROMQL")
	if tool == "" {
		t.Skip("PROMQL names no engine; make test-package builds it")
	}
	type question struct {
		Expr   string   `json:"expr"`
		For    string   `json:"for"`
		Series []string `json:"series"`
		Start  string   `json:"start"`
		At     string   `json:"at"`
	}
	type expectation struct {
		alert string
		scene
	}
	alerts := alertsOf(watched(t)...)
	var questions []question
	var wants []expectation
	query := func(name string, r rule, namespace string, s scene) {
		q := question{Expr: r.Expr, For: r.For, Series: []string{}, Start: s.start, At: s.at}
		if q.At == "" {
			q.At = q.For + "10m"
			if strings.HasSuffix(q.For, "m") {
				q.At = "1h10m"
			}
		}
		for _, text := range s.series {
			q.Series = append(q.Series, strings.Replace(text, "{", `{namespace="`+namespace+`",`, 1))
		}
		questions, wants = append(questions, q), append(wants, expectation{name, s})
	}
	for _, name := range slices.Sorted(maps.Keys(scenes)) {
		if len(alerts[name]) == 0 {
			t.Errorf("there is no alert %s", name)
		}
		for _, r := range alerts[name] {
			for _, s := range scenesOf(name, r) {
				query(name, r, "cloud", s)
				if len(s.fires) > 0 && !slices.Contains(absences, name) {
					s.reason, s.fires = "Another control plane: "+s.reason, nil
					query(name, r, "other", s)
				}
			}
		}
	}
	in, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(tool, "evaluate")
	var failure bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(in), &failure
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, failure.String())
	}
	var responses [][]map[string]string
	if err := json.Unmarshal(out, &responses); err != nil {
		t.Fatal(err)
	}
	for i, want := range wants {
		var got []string
		for _, l := range responses[i] {
			got = append(got, label(l))
		}
		slices.Sort(got)
		if diff := cmp.Diff(want.fires, got); diff != "" {
			t.Errorf("%s: %s -want +got\n%s", want.alert, want.reason, diff)
		}
	}
	t.Logf("%d scenes of %d alerts", len(wants), len(scenes))
	if *prove && !t.Failed() {
		if err := os.WriteFile(proven, []byte(strings.Join(proofs(alerts), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// label returns the label that distinguishes the objects of an alert.
func label(labels map[string]string) string {
	for _, l := range []string{"job_name", "cronjob", "persistentvolumeclaim", "name", "controller", "deployment", "statefulset", "daemonset", "queue", "nodename", "node", "pod", "instance", "ceph_daemon", "pool_id"} {
		if labels[l] != "" {
			return labels[l]
		}
	}
	return ""
}

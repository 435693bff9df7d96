package c5c3

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// Lease is the name of the Lease for the leader election of the companion's pods.
const Lease = "companion.cobaltcore.c5c3.io"

// series selects the companion's metrics by the namespace and job that Prometheus adds from the Service.
type series struct{ namespace, job string }

func seriesOf(w workload.Workload) series { return series{namespace: w.Namespace, job: w.Name} }

// of returns a selector of a metric in the namespace, with further label matchers.
func (s series) of(metric, more string) string {
	return fmt.Sprintf(`%s{namespace=%q%s}`, metric, s.namespace, more)
}

// isFalse returns a selector of the objects of a kind with a condition that is not true.
func (s series) isFalse(kind, condition string) string {
	return s.of("companion_"+kind+"_condition", fmt.Sprintf(`,condition=%q`, condition)) + " == 0"
}

// overdue returns a selector of objects whose rotation was due more than an hour ago. A next rotation of 0 means never.
func (s series) overdue(kind string) string {
	next := s.of("companion_"+kind+"_next_rotation_timestamp_seconds", "")
	return fmt.Sprintf("%[1]s > 0 and %[1]s < time() - 3600", next)
}

// age returns an expression for the seconds since the time in metric. A value of 0 means never.
func (s series) age(metric string) string {
	return fmt.Sprintf("time() - (%s > 0)", s.of(metric, ""))
}

func (s series) leaders() string {
	return fmt.Sprintf("(sum(%s) or vector(0))", s.of("leader_election_master_status", fmt.Sprintf(`,name=%q`, Lease)))
}

func (s series) errors() string {
	return fmt.Sprintf("sum by (controller) (increase(%s[15m]))",
		s.of("controller_runtime_reconcile_errors_total", fmt.Sprintf(`,job=%q`, s.job)))
}

// Alerts returns the alerts on the companion. They use its own metrics, and metrics of kube-state-metrics on its pods.
func Alerts(w workload.Workload, conf common.Monitoring) runtime.Object {
	s := seriesOf(w)
	return monitoring.Rules(w.Meta(), conf, slices.Concat(
		s.companionAlerts(), s.keyAlerts(), s.schemaAlerts(), s.credentialAlerts(), s.keystoneAlerts(), s.novaAlerts(), s.neutronAlerts(),
		s.testAlerts(),
	)...)
}

// companionAlerts returns alerts on the companion's own pods.
func (s series) companionAlerts() []monitoring.Alert {
	return []monitoring.Alert{
		{
			Name: "CompanionDown", Severity: monitoring.Warning, For: "15m",
			Expr:    s.of("kube_deployment_status_replicas_available", fmt.Sprintf(`,deployment=%q`, s.job)) + " == 0",
			Summary: "No pod of the companion is available: keys and credentials are not rotated, and schemas are not changed.",
			Action:  "Check the events and logs of the pods. Running services keep their current keys and credentials.",
		},
		{
			Name: "CompanionNoLeader", Severity: monitoring.Warning, For: "15m",
			Expr:    s.leaders() + " < 1",
			Summary: "The companion has no leader, or its metrics are missing. Other alerts on it cannot fire.",
			Action:  "Check the logs of the pods and the Lease " + Lease + ", then the targets of Prometheus.",
		},
		{
			Name: "CompanionFailing", Severity: monitoring.Warning, For: "30m",
			Expr:    s.errors() + " > 3",
			Summary: "The companion's controller {{ $labels.controller }} fails repeatedly.",
			Action:  "Check the log of the leader: requests to the API server fail or are denied.",
		},
		{
			Name: "CompanionStatusOld", Severity: monitoring.Warning, For: "10m",
			Expr: fmt.Sprintf("%s > %d or %s > %d",
				s.statusAge(`,kind!~"ServiceCheck"`), int(freshness.ComponentLimit.Seconds()),
				s.statusAge(`,kind="ServiceCheck"`), int(freshness.GuardLimit.Seconds())),
			Summary: "The companion has not observed the state of {{ $labels.kind }} {{ $labels.name }} for a long time: its status is unknown.",
			Action: "See the conditions of the object and the log of the leader. Deletion guards that use the status are closed, and the " +
				"claim is not ready.",
		},
	}
}

// statusAge returns an expression for the seconds since the last observation of each object. A value of 0 means never.
func (s series) statusAge(more string) string {
	return fmt.Sprintf("time() - max by (kind, name) (%s > 0)", s.of("companion_last_observation_timestamp_seconds", more))
}

// keyAlerts returns alerts on KeyRepositories.
func (s series) keyAlerts() []monitoring.Alert {
	return []monitoring.Alert{
		{
			Name: "KeysNotReady", Severity: monitoring.Critical, For: "15m",
			Expr:    s.isFalse("key_repository", "Ready"),
			Summary: "KeyRepository {{ $labels.name }} is not ready: keys are missing or the spec is invalid.",
			Action:  "See the condition Ready of the KeyRepository. Do not delete the Secret: data encrypted with its keys would be lost.",
		},
		{
			Name: "KeyRotationOverdue", Severity: monitoring.Warning, For: "1h",
			Expr:    s.overdue("key_repository"),
			Summary: "The keys of KeyRepository {{ $labels.name }} should have been rotated more than an hour ago.",
			Action:  "See the condition Ready of the KeyRepository; usually a pod does not have the latest keys.",
		},
		{
			Name: "KeysTooOld", Severity: monitoring.Warning, For: "1h",
			Expr: s.of("companion_key_repository_next_rotation_timestamp_seconds", "") + " == 0 and " +
				s.age("companion_key_repository_last_rotation_timestamp_seconds") + " > 60 * 86400",
			Summary: "The keys of KeyRepository {{ $labels.name }} are older than 60 days, and are not rotated.",
			Action:  "Their rotation is suspended, or has no next time: check its spec.",
		},
		{
			Name: "KeysNotDistributed", Severity: monitoring.Warning, For: "1h",
			Expr:    s.isFalse("key_repository", "Distributed"),
			Summary: "Not every pod has the keys of KeyRepository {{ $labels.name }}.",
			Action: "The condition Distributed of the KeyRepository names the workload; check its rollout. Rotation is " +
				"blocked until the keys are distributed.",
		},
		{
			Name: "KeysNotMigrated", Severity: monitoring.Warning, For: "1h",
			Expr:    s.isFalse("key_repository", "Migrated"),
			Summary: "Stored data of KeyRepository {{ $labels.name }} is not yet re-encrypted with the primary key.",
			Action:  "See the condition Migrated of the KeyRepository. Rotation is blocked until the migration completes.",
		},
		{
			Name: "KeyBackupOutOfDate", Severity: monitoring.Warning, For: "1h",
			Expr:    s.isFalse("key_repository", "BackedUp"),
			Summary: "The store does not have the last keys of KeyRepository {{ $labels.name }}.",
			Action:  "See the condition BackedUp of the KeyRepository; check External Secrets and the secret store.",
		},
	}
}

// schemaAlerts returns alerts on DatabaseSyncs.
func (s series) schemaAlerts() []monitoring.Alert {
	return []monitoring.Alert{
		{
			Name: "SchemaStepSlow", Severity: monitoring.Warning, For: "1h",
			Expr:    s.of("companion_database_sync_running", "") + " > 0",
			Summary: "A step of schema {{ $labels.name }} has been running for more than an hour.",
			Action:  "The DatabaseSync names its Job: check the log of its pod, and whether the database waits for a lock.",
		},
		{
			Name: "SchemaStepFailing", Severity: monitoring.Warning, For: "5m",
			Expr:    fmt.Sprintf("increase(%s[1h]) > 0", s.of("companion_database_sync_failures_total", "")),
			Summary: "Step {{ $labels.step }} of schema {{ $labels.name }} fails repeatedly.",
			Action:  "The DatabaseSync's status.history has its last lines of output. Pods stay at the release that the schema serves.",
		},
		{
			Name: "SchemaNotReady", Severity: monitoring.Warning, For: "1h",
			Expr:    s.isFalse("database_sync", "Ready"),
			Summary: "Schema {{ $labels.name }} does not have the requested release.",
			Action:  "See the condition Ready of the DatabaseSync.",
		},
		{
			Name: "SchemaUpgradeIncomplete", Severity: monitoring.Warning, For: "1d",
			Expr:    s.isFalse("database_sync", "Contracted"),
			Summary: "The upgrade of schema {{ $labels.name }} has not completed for a day.",
			Action:  "See the condition Contracted of the DatabaseSync; usually a rollout is not complete.",
		},
	}
}

// credentialAlerts returns alerts on CredentialRotations and SecretAggregates.
func (s series) credentialAlerts() []monitoring.Alert {
	return []monitoring.Alert{
		{
			Name: "CredentialNotReady", Severity: monitoring.Critical, For: "15m",
			Expr:    s.isFalse("credential_rotation", "Ready"),
			Summary: "CredentialRotation {{ $labels.name }} has no credential that works.",
			Action: "See the condition Ready of the CredentialRotation; check Keystone and the credentials that the " +
				"CredentialRotation references.",
		},
		{
			Name: "CredentialRotationOverdue", Severity: monitoring.Warning, For: "1h",
			Expr:    s.overdue("credential_rotation"),
			Summary: "The credential of CredentialRotation {{ $labels.name }} should have been replaced more than an hour ago.",
			Action: "See the condition Ready of the CredentialRotation; usually Keystone is unavailable or a consumer has not " +
				"been updated.",
		},
		{
			Name: "CredentialNotDistributed", Severity: monitoring.Warning, For: "1h",
			Expr:    s.isFalse("credential_rotation", "Distributed"),
			Summary: "Not every consumer has the credential of CredentialRotation {{ $labels.name }}.",
			Action: "The condition Distributed of the CredentialRotation names the consumer. The one before stays valid until " +
				"then; for a RemoteConsumer, until the " +
				"next is due.",
		},
		{
			Name: "SecretAggregateNotReady", Severity: monitoring.Warning, For: "15m",
			Expr:    s.isFalse("secret_aggregate", "Ready"),
			Summary: "The Secret of SecretAggregate {{ $labels.name }} is out of date.",
			Action:  "The condition Ready of the SecretAggregate names the source.",
		},
	}
}

// keystoneAlerts returns alerts on the state in Keystone.
func (s series) keystoneAlerts() []monitoring.Alert {
	return []monitoring.Alert{
		{
			Name: "KeystoneTokenIssueFailing", Severity: monitoring.Critical, For: "5m",
			Expr:    s.isFalse("identity_check", "Reachable"),
			Summary: "Keystone does not issue tokens.",
			Action:  "See IdentityCheck {{ $labels.name }} for the response of Keystone; check its pods, then the database.",
		},
		{
			Name: "RoleAssignmentMissing", Severity: monitoring.Warning, For: "15m",
			Expr:    s.isFalse("role_assignment", "Available"),
			Summary: "RoleAssignment {{ $labels.name }}: the user lacks the role, or is not exempt from lockout and inactivity.",
			Action:  "See the conditions of the RoleAssignment.",
		},
		{
			Name: "EndpointRegionMissing", Severity: monitoring.Warning, For: "15m",
			Expr:    s.isFalse("endpoint_region", "Available"),
			Summary: "EndpointRegion {{ $labels.name }}: the endpoint is not in its region, so that clients of the region do not find it.",
			Action:  "See the conditions of the EndpointRegion.",
		},
	}
}

// novaAlerts returns alerts on the state in Nova.
func (s series) novaAlerts() []monitoring.Alert {
	return []monitoring.Alert{
		{
			Name: "CellNotReady", Severity: monitoring.Warning, For: "15m",
			Expr:    s.isFalse("cell_mapping", "Ready"),
			Summary: "The cell of CellMapping {{ $labels.name }} is not mapped as specified.",
			Action: "See the condition Ready of the CellMapping. If several cells have the same name, delete all but the one " +
				"with hosts and servers.",
		},
		{
			Name: "HostsNotMapped", Severity: monitoring.Warning, For: "30m",
			Expr:    s.isFalse("cell_mapping", "HostsMapped"),
			Summary: "A hypervisor is mapped to no cell, according to CellMapping {{ $labels.name }}: it gets no servers.",
			Action: "The condition HostsMapped of the CellMapping names the host; check which database it registers in, and " +
				"whether its cell has a CellMapping.",
		},
		{
			Name: "ComputeCatalogNotReady", Severity: monitoring.Warning, For: "30m",
			Expr:    s.isFalse("compute_catalog", "Ready"),
			Summary: "Flavors or host aggregates of ComputeCatalog {{ $labels.name }} do not match the spec.",
			Action:  "See the condition Ready of the ComputeCatalog for the object and the response of Nova.",
		},
		{
			Name: "ServiceProcessesDown", Severity: monitoring.Warning, For: "15m",
			Expr:    s.isFalse("service_check", "Ready"),
			Summary: "ServiceCheck {{ $labels.name }}: a process or a backend of volumes does not report, or the service does not respond.",
			Action: "See the condition Ready of the ServiceCheck for the process and its pod; check the log of the pod, then " +
				"its queue and database. For a backend, " +
				"see the condition CephConnected of the claim.",
		},
		{
			Name: "RemovedNodeNotEmpty", Severity: monitoring.Warning, For: "1h",
			Expr:    s.isFalse("service_check", "RemovedNodesCleanedUp"),
			Summary: "A node has been removed from the pool of ServiceCheck {{ $labels.name }}, but Nova still lists servers on it.",
			Action:  "See the condition RemovedNodesCleanedUp of the ServiceCheck for the node and the remedy.",
		},
		{
			Name: "NodeEvacuationIncomplete", Severity: monitoring.Warning, For: "2h",
			Expr:    s.isFalse("service_check", "CordonedNodesEvacuated"),
			Summary: "A node of the pool of ServiceCheck {{ $labels.name }} is cordoned, but servers are still on it.",
			Action: "See the condition CordonedNodesEvacuated of the ServiceCheck for the servers that cannot be migrated, the reason and " +
				"the remedy.",
		},
		{
			Name: "NodeMaintenanceBlocked", Severity: monitoring.Warning, For: "1h",
			Expr:    s.of("companion_node_maintenance_blocked", "") + " == 1",
			Summary: "NodeMaintenance {{ $labels.name }} is blocked: its node is not ready for the maintenance, or does not return from it.",
			Action:  "See the condition Unblocked of the NodeMaintenance for the server or the service, and the remedy.",
		},
		{
			Name: "HypervisorRecoveryBlocked", Severity: monitoring.Critical, For: "5m",
			Expr:    s.of("companion_hypervisor_recovery_blocked", "") + " == 1",
			Summary: "Failed nodes of the pool {{ $labels.name }} are not recovered, or the pool cannot be observed.",
			Action:  "See the condition Unblocked of the HypervisorRecovery for the nodes and servers, and the remedy.",
		},
		{
			Name: "HypervisorFencingUnavailable", Severity: monitoring.Warning, For: "30m",
			Expr:    s.isFalse("hypervisor_recovery", "Fenceable"),
			Summary: "Healthy nodes of the pool {{ $labels.name }} could not be powered off after a failure.",
			Action:  "See the condition Fenceable of the HypervisorRecovery for the nodes, and the remedy.",
		},
		{
			Name: "HypervisorFailed", Severity: monitoring.Warning, For: "1m",
			Expr:    s.isFalse("hypervisor_recovery", "Recovered"),
			Summary: "Nodes of the pool {{ $labels.name }} have failed, are forced down, or do not report to all witnesses.",
			Action:  "See the condition Recovered of the HypervisorRecovery for the reason and the nodes.",
		},
	}
}

// neutronAlerts returns alerts on the comparison of Neutron with OVN.
func (s series) neutronAlerts() []monitoring.Alert {
	return []monitoring.Alert{
		{
			Name: "OVNOutOfSync", Severity: monitoring.Warning, For: "5m",
			Expr:    s.isFalse("ovn_sync", "InSync"),
			Summary: "OVN differs from the Neutron database, as found by OVNSync {{ $labels.name }}.",
			Action:  "See status.answer of the OVNSync for the differences. Request mode Repair to update OVN from the database.",
		},
		{
			Name: "OVNComparisonOverdue", Severity: monitoring.Warning, For: "3h",
			Expr:    s.isFalse("ovn_sync", "Ready"),
			Summary: "The requested run of OVNSync {{ $labels.name }} has not completed for hours.",
			Action:  "See the condition Ready of the OVNSync, and its status.run for the last lines of output.",
		},
	}
}

// testAlerts returns alerts on test results.
func (s series) testAlerts() []monitoring.Alert {
	return []monitoring.Alert{{
		Name: "TestsFailed", Severity: monitoring.Warning, For: "5m",
		Expr:    s.isFalse("test_report", "TestsPassed"),
		Summary: "The last test run of TestReport {{ $labels.name }} failed or did not complete.",
		Action:  "See the condition TestsPassed of the claim for the failed tests, and the log of the Job for details.",
	}}
}

package c5c3

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// Lease is what the companion's pods elect a leader by.
const Lease = "companion.cobaltcore.c5c3.io"

// series are selectors of the companion's metrics. Prometheus adds namespace and job of the Service that it reads them by.
type series struct{ namespace, job string }

func seriesOf(w workload.Workload) series { return series{namespace: w.Namespace, job: w.Name} }

// of selects a metric in the namespace, by further labels.
func (s series) of(metric, more string) string {
	return fmt.Sprintf(`%s{namespace=%q%s}`, metric, s.namespace, more)
}

// isFalse selects the objects of a kind of which a condition is not true.
func (s series) isFalse(kind, condition string) string {
	return s.of("companion_"+kind+"_condition", fmt.Sprintf(`,condition=%q`, condition)) + " == 0"
}

// overdue selects what should have been replaced an hour ago, and was not. 0 is never.
func (s series) overdue(kind string) string {
	next := s.of("companion_"+kind+"_next_rotation_timestamp_seconds", "")
	return fmt.Sprintf("%[1]s > 0 and %[1]s < time() - 3600", next)
}

// age of what was replaced last, in seconds. 0 is never.
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

// Alerts use the companion's own metrics, and those of kube-state-metrics on its pods.
func Alerts(w workload.Workload, conf common.Monitoring) runtime.Object {
	s := seriesOf(w)
	return monitoring.Rules(w.Meta(), conf,
		slices.Concat(s.companionAlerts(), s.keyAlerts(), s.schemaAlerts(), s.credentialAlerts(), s.keystoneAlerts(), s.novaAlerts(), s.neutronAlerts(), s.testAlerts())...)
}

// companionAlerts are alerts on the companion's own pods.
func (s series) companionAlerts() []monitoring.Alert {
	return []monitoring.Alert{
		{
			Name: "CompanionDown", Severity: monitoring.Warning, For: "15m",
			Expr:    s.of("kube_deployment_status_replicas_available", fmt.Sprintf(`,deployment=%q`, s.job)) + " == 0",
			Summary: "No pod of the companion is available: no key or credential is replaced, and no schema is changed.",
			Action:  "Look at the pods' events and logs. What runs goes on with the keys and credentials that it has.",
		},
		{
			Name: "CompanionWithoutLeader", Severity: monitoring.Warning, For: "15m",
			Expr:    s.leaders() + " < 1",
			Summary: "No pod of the companion leads, or its metrics do not come in: then no other alert on what it does can fire.",
			Action:  "Look at the pods' logs and at the Lease " + Lease + ", then at the targets of Prometheus.",
		},
		{
			Name: "CompanionFailing", Severity: monitoring.Warning, For: "30m",
			Expr:    s.errors() + " > 3",
			Summary: "The companion's controller {{ $labels.controller }} fails again and again.",
			Action:  "Read the leader's log: calls to the API server are refused or not answered.",
		},
	}
}

// keyAlerts are alerts on KeyRepositories.
func (s series) keyAlerts() []monitoring.Alert {
	return []monitoring.Alert{
		{
			Name: "KeysNotReady", Severity: monitoring.Critical, For: "15m",
			Expr:    s.isFalse("key_repository", "Ready"),
			Summary: "KeyRepository {{ $labels.name }} has no keys in order, or its settings are refused.",
			Action:  "Its condition Ready says why. Do not delete the Secret: what it has encrypted would be lost.",
		},
		{
			Name: "KeyRotationOverdue", Severity: monitoring.Warning, For: "1h",
			Expr:    s.overdue("key_repository"),
			Summary: "The keys of KeyRepository {{ $labels.name }} should have been rotated more than an hour ago.",
			Action:  "Its condition Ready says what the rotation waits for; mostly a pod that has not got the last keys.",
		},
		{
			Name: "KeysOld", Severity: monitoring.Warning, For: "1h",
			Expr: s.of("companion_key_repository_next_rotation_timestamp_seconds", "") + " == 0 and " +
				s.age("companion_key_repository_last_rotation_timestamp_seconds") + " > 60 * 86400",
			Summary: "The keys of KeyRepository {{ $labels.name }} are older than 60 days, and are not rotated.",
			Action:  "Their rotation is suspended, or has no next time: look at its spec.",
		},
		{
			Name: "KeysNotDistributed", Severity: monitoring.Warning, For: "1h",
			Expr:    s.isFalse("key_repository", "Distributed"),
			Summary: "Not every pod has the keys of KeyRepository {{ $labels.name }}.",
			Action:  "Its condition Distributed names the workload; look at its roll-out. Nothing is rotated before that.",
		},
		{
			Name: "KeysNotMigrated", Severity: monitoring.Warning, For: "1h",
			Expr:    s.isFalse("key_repository", "Migrated"),
			Summary: "What is stored is not yet encrypted with the last key of KeyRepository {{ $labels.name }}.",
			Action:  "Its condition Migrated says why. Nothing is rotated before that.",
		},
		{
			Name: "KeyBackupStale", Severity: monitoring.Warning, For: "1h",
			Expr:    s.isFalse("key_repository", "BackedUp"),
			Summary: "The store does not have the last keys of KeyRepository {{ $labels.name }}.",
			Action:  "Its condition BackedUp says why; look at External Secrets and the store.",
		},
	}
}

// schemaAlerts are alerts on DatabaseSyncs.
func (s series) schemaAlerts() []monitoring.Alert {
	return []monitoring.Alert{
		{
			Name: "SchemaStepLong", Severity: monitoring.Warning, For: "1h",
			Expr:    s.of("companion_database_sync_running", "") + " > 0",
			Summary: "A step of schema {{ $labels.name }} has been running for more than an hour.",
			Action:  "The DatabaseSync names its Job: read the log of its pod, and see whether the database waits for a lock.",
		},
		{
			Name: "SchemaStepFailing", Severity: monitoring.Warning, For: "5m",
			Expr:    fmt.Sprintf("increase(%s[1h]) > 0", s.of("companion_database_sync_failures_total", "")),
			Summary: "Step {{ $labels.step }} of schema {{ $labels.name }} fails again and again.",
			Action:  "The DatabaseSync's status.history has the last lines that it wrote. Pods stay at the release that the schema serves.",
		},
		{
			Name: "SchemaNotReady", Severity: monitoring.Warning, For: "1h",
			Expr:    s.isFalse("database_sync", "Ready"),
			Summary: "Schema {{ $labels.name }} has not come to the wanted release.",
			Action:  "Its condition Ready says what it waits for.",
		},
		{
			Name: "SchemaNotContracted", Severity: monitoring.Warning, For: "1d",
			Expr:    s.isFalse("database_sync", "Contracted"),
			Summary: "The upgrade of schema {{ $labels.name }} has not ended for a day.",
			Action:  "Its condition Contracted says what the last steps wait for; mostly a roll-out.",
		},
	}
}

// credentialAlerts are alerts on CredentialRotations and SecretAggregates.
func (s series) credentialAlerts() []monitoring.Alert {
	return []monitoring.Alert{
		{
			Name: "CredentialNotReady", Severity: monitoring.Critical, For: "15m",
			Expr:    s.isFalse("credential_rotation", "Ready"),
			Summary: "CredentialRotation {{ $labels.name }} has no credential that works.",
			Action:  "Its condition Ready says why; look at Keystone, and at the login that the CredentialRotation names.",
		},
		{
			Name: "CredentialRotationOverdue", Severity: monitoring.Warning, For: "1h",
			Expr:    s.overdue("credential_rotation"),
			Summary: "The credential of CredentialRotation {{ $labels.name }} should have been replaced more than an hour ago.",
			Action:  "Its condition Ready says what that waits for: Keystone, or a consumer that has not got the last one.",
		},
		{
			Name: "CredentialNotDistributed", Severity: monitoring.Warning, For: "1h",
			Expr:    s.isFalse("credential_rotation", "Distributed"),
			Summary: "Not every consumer has the credential of CredentialRotation {{ $labels.name }}.",
			Action: "Its condition Distributed names the consumer. The one before stays valid until then; for a RemoteConsumer, until the " +
				"next is due.",
		},
		{
			Name: "SecretAggregateNotReady", Severity: monitoring.Warning, For: "15m",
			Expr:    s.isFalse("secret_aggregate", "Ready"),
			Summary: "The Secret of SecretAggregate {{ $labels.name }} does not hold what its sources make today.",
			Action:  "Its condition Ready names the source.",
		},
	}
}

// keystoneAlerts are alerts on what only Keystone knows.
func (s series) keystoneAlerts() []monitoring.Alert {
	return []monitoring.Alert{
		{
			Name: "KeystoneGivesNoTokens", Severity: monitoring.Critical, For: "5m",
			Expr:    s.isFalse("identity_check", "Reachable"),
			Summary: "Keystone gives the companion no tokens.",
			Action:  "IdentityCheck {{ $labels.name }} says what Keystone answers; look at its pods, then at the database.",
		},
		{
			Name: "RoleNotGiven", Severity: monitoring.Warning, For: "15m",
			Expr:    s.isFalse("role_assignment", "Available"),
			Summary: "RoleAssignment {{ $labels.name }} is not there in Keystone.",
			Action:  "Its conditions say why.",
		},
		{
			Name: "EndpointNotInRegion", Severity: monitoring.Warning, For: "15m",
			Expr:    s.isFalse("endpoint_region", "Available"),
			Summary: "EndpointRegion {{ $labels.name }}: the endpoint is not in its region, so that clients of the region do not find it.",
			Action:  "Its conditions say why.",
		},
	}
}

// novaAlerts are alerts on what only Nova knows.
func (s series) novaAlerts() []monitoring.Alert {
	return []monitoring.Alert{
		{
			Name: "CellNotReady", Severity: monitoring.Warning, For: "15m",
			Expr:    s.isFalse("cell_mapping", "Ready"),
			Summary: "Nova does not know the cell of CellMapping {{ $labels.name }} as it is wanted.",
			Action:  "Its condition Ready says why. Of several cells of one name, remove all but the one that has hosts and virtual machines.",
		},
		{
			Name: "HostsNotMapped", Severity: monitoring.Warning, For: "30m",
			Expr:    s.isFalse("cell_mapping", "HostsMapped"),
			Summary: "A hypervisor is mapped to no cell, as CellMapping {{ $labels.name }} sees it: it gets no virtual machines.",
			Action:  "Its condition HostsMapped names the host; look at which database that registers in, and whether its cell has a CellMapping.",
		},
		{
			Name: "ComputeCatalogNotReady", Severity: monitoring.Warning, For: "30m",
			Expr:    s.isFalse("compute_catalog", "Ready"),
			Summary: "Flavors or host aggregates of ComputeCatalog {{ $labels.name }} are not as they are desired.",
			Action:  "Its condition Ready names the flavor or aggregate and what Nova answers.",
		},
		{
			Name: "ProcessesDown", Severity: monitoring.Warning, For: "15m",
			Expr:    s.isFalse("service_check", "Ready"),
			Summary: "ServiceCheck {{ $labels.name }}: a process or a backend of volumes does not report, or the service does not answer.",
			Action: "Its condition Ready names the process and its pod; look at that pod's log, then at its queue and database. Of a backend, " +
				"the claim's condition CephConnected says what to do.",
		},
		{
			Name: "NodeLeftMachinesBehind", Severity: monitoring.Warning, For: "1h",
			Expr:    s.isFalse("service_check", "Cleared"),
			Summary: "A node has left the pool of ServiceCheck {{ $labels.name }}, and virtual machines are still on it, as far as Nova knows.",
			Action:  "Its condition Cleared names the node, and says what to do.",
		},
		{
			Name: "CordonedNodeNotEmpty", Severity: monitoring.Warning, For: "2h",
			Expr:    s.isFalse("service_check", "Evicted"),
			Summary: "A node of the pool of ServiceCheck {{ $labels.name }} is cordoned, and virtual machines are still on it.",
			Action:  "Its condition Evicted names those that do not move, and says why and what to do.",
		},
	}
}

// neutronAlerts are alerts on what only a comparison with OVN shows.
func (s series) neutronAlerts() []monitoring.Alert {
	return []monitoring.Alert{
		{
			Name: "NetworksDrifted", Severity: monitoring.Warning, For: "5m",
			Expr:    s.isFalse("ovn_sync", "InSync"),
			Summary: "OVN is not as Neutron's database says, as the last comparison of OVNSync {{ $labels.name }} found.",
			Action:  "Its status.answer names what differs. A request with the mode Repair makes OVN what the database says.",
		},
		{
			Name: "ComparisonNotAnswered", Severity: monitoring.Warning, For: "3h",
			Expr:    s.isFalse("ovn_sync", "Ready"),
			Summary: "The comparison of OVNSync {{ $labels.name }} that was asked for has not come to an end for hours.",
			Action:  "Its condition Ready says what it waits for, and its status.run the last lines that it wrote.",
		},
	}
}

// testAlerts are alerts on how tests ended.
func (s series) testAlerts() []monitoring.Alert {
	return []monitoring.Alert{{
		Name: "TestsFailed", Severity: monitoring.Warning, For: "5m",
		Expr:    s.isFalse("test_report", "TestsPassed"),
		Summary: "The last run of TestReport {{ $labels.name }} has found tests that fail, or has not come to its end.",
		Action:  "The claim's condition TestsPassed names them; the log of the Job's pod says of each what it found.",
	}}
}

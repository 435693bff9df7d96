package ovn

import (
	"fmt"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/schedule"
)

// alerts use metrics of the companion, kube-state-metrics, the kubelet and cert-manager.
func (m *model) alerts() ([]compose.Stage, error) {
	in := fmt.Sprintf(`namespace=%q`, m.namespace)
	both := fmt.Sprintf(`%s,name=~"%s|%s"`, in, m.north.workload.Name, m.south.workload.Name)
	pods := fmt.Sprintf(`{%s,deployment=%q}`, in, m.sub(northd))
	alerts := []monitoring.Alert{
		{
			Name: "OVNDatabaseNoLeader", Severity: monitoring.Critical, For: "2m",
			Expr:    fmt.Sprintf(`companion_raft_cluster_leaders{%s} == 0`, both),
			Summary: "Database {{ $labels.name }} has no Raft leader. Networks, ports and routers cannot be changed; existing ones keep working.",
			Action: "Check its pods: a majority must run and be able to connect to each other. If a majority's volumes are lost, follow " +
				"the runbook.",
		},
		{
			Name: "OVNClusterMismatch", Severity: monitoring.Critical, For: "1m",
			Expr:    fmt.Sprintf(`companion_raft_cluster_condition{%s,condition="ClusterIDMatches"} == 0`, both),
			Summary: "A pod of {{ $labels.name }} belongs to another Raft cluster. Its clients see different networks.",
			Action:  "The RaftCluster's condition ClusterIDMatches names it. Save its file, then delete its volume and its pod, so that it joins.",
		},
		{
			Name: "OVNDatabaseDegraded", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf(`companion_raft_cluster_condition{%s,condition="Ready"} == 0`, both),
			Summary: "At least one pod of {{ $labels.name }} is not an up-to-date member.",
			Action:  "See the condition Ready of the RaftCluster for the pod and the reason.",
		},
		{
			Name: "OVNChassisOutOfDate", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf(`companion_raft_cluster_chassis{%s,state="behind"} > 0`, both),
			Summary: "{{ $value }} chassis are out of date: ovn-controller is not running or cannot connect to the southbound database.",
			Action: "The condition ControllersReady of the OVNCluster names them. Check ovn-controller on these nodes. Remove a node that " +
				"no longer exists from the southbound database.",
		},
		{
			Name: "OVNChassisUncounted", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf(`companion_raft_cluster_condition{%s,condition="ChassisCounted"} == 0`, both),
			Summary: "The companion cannot read the chassis from {{ $labels.name }}: nodes that fail are not noticed.",
			Action:  "The condition ChassisCounted of the RaftCluster has the reason. Check the load and the log of the pod that it names.",
		},
		{
			Name: "OVNMemoryHigh", Severity: monitoring.Warning, For: "15m",
			Expr:    m.memoryUsed() + " > 0.9",
			Summary: "Pod {{ $labels.pod }} uses 90 % of its memory limit. Above the limit it is killed, and reads its file again.",
			Action:  "Raise the memory limit of the members: they keep the database in memory. Relays reduce the load of many nodes.",
		},
		{
			Name: "OVNNorthdDown", Severity: monitoring.Critical, For: "2m",
			Expr:    "kube_deployment_status_replicas_available" + pods + " == 0",
			Summary: "No pod of ovn-northd is available. Network changes do not reach the nodes.",
			Action:  "Check the events and logs of the pods, then the databases.",
		},
		{
			Name: "OVNNorthdDegraded", Severity: monitoring.Warning, For: "15m",
			Expr:    "kube_deployment_status_replicas_available" + pods + " < kube_deployment_spec_replicas" + pods,
			Summary: "Fewer pods of ovn-northd are available than desired.",
			Action:  "Check the events of the pods: a node may be full or unavailable, or an image cannot be pulled.",
		},
	}
	alerts = append(alerts, monitoring.VolumesFilling("OVN", m.namespace,
		fmt.Sprintf("data-(%s|%s)-.+", m.north.workload.Name, m.south.workload.Name), "its member stops writing",
		"Databases are compacted automatically: find the source of the writes, and enlarge the volumes of the members one by one.")...)
	alerts = append(alerts, m.relayAlerts()...)
	snapshots, err := m.snapshotAlerts()
	if err != nil {
		return nil, err
	}
	alerts = append(alerts, snapshots...)
	shown, err := m.dashboard()
	if err != nil {
		return nil, err
	}
	return []compose.Stage{{
		{Name: "alerts", Object: monitoring.Rules(m.meta(m.name), m.spec.Monitoring, alerts...)}, {Name: "dashboard", Object: shown},
	}}, nil
}

// relayAlerts returns alerts on relays of the southbound database.
func (m *model) relayAlerts() []monitoring.Alert {
	if !m.relay.enabled {
		return nil
	}
	pods := fmt.Sprintf(`{namespace=%q,deployment=%q}`, m.namespace, m.relay.workload.Name)
	return []monitoring.Alert{
		{
			Name: "OVNRelayDown", Severity: monitoring.Critical, For: "2m",
			Expr:    "kube_deployment_status_replicas_available" + pods + " == 0",
			Summary: "No relay of the southbound database is available. Network changes do not reach the nodes that use it.",
			Action:  "Check the events and logs of the pods, then the southbound database: a relay is not ready without it.",
		},
		{
			Name: "OVNRelayDegraded", Severity: monitoring.Warning, For: "15m",
			Expr:    "kube_deployment_status_replicas_available" + pods + " < kube_deployment_spec_replicas" + pods,
			Summary: "Fewer relays of the southbound database are available than desired.",
			Action:  "Check the events of the pods: a node may be full or unavailable, or an image cannot be pulled.",
		},
	}
}

// snapshotAlerts returns alerts on the Jobs of snapshots.
func (m *model) snapshotAlerts() ([]monitoring.Alert, error) {
	if m.spec.Backup == nil {
		return nil, nil
	}
	s, err := schedule.Parse(string(m.spec.Backup.Schedule))
	if err != nil {
		return nil, err
	}
	// A snapshot may take an hour.
	age := (s.Longest() + time.Hour).Round(time.Hour)
	jobs := fmt.Sprintf(`{namespace=%q,job_name=~"%s-[0-9]+"}`, m.namespace, m.sub(snapshot))
	const action = "Check the log of the Job's pod, the object store and its credentials."
	return []monitoring.Alert{
		{
			Name: "OVNSnapshotOld", Severity: monitoring.Warning, For: "10m",
			Expr:    fmt.Sprintf("time() - max(kube_job_status_completion_time%s) > %.0f", jobs, age.Seconds()),
			Summary: fmt.Sprintf("The last backup of OVN's databases is older than %.0f hours.", age.Hours()), Action: action,
		},
		{
			Name: "OVNSnapshotMissing", Severity: monitoring.Warning, For: fmt.Sprintf("%.0fh", age.Hours()),
			Expr:    "absent(kube_job_status_completion_time" + jobs + ")",
			Summary: "No backup of OVN's databases exists.", Action: action,
		},
	}, nil
}

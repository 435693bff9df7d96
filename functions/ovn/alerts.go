package ovn

import (
	"fmt"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
)

// alerts use the companion's metrics, and those of kube-state-metrics, the kubelet and cert-manager.
func (m *model) alerts() ([]compose.Stage, error) {
	in := fmt.Sprintf(`namespace=%q`, m.namespace)
	both := fmt.Sprintf(`%s,name=~"%s|%s"`, in, m.north.workload.Name, m.south.workload.Name)
	pods := fmt.Sprintf(`{%s,deployment=%q}`, in, m.sub(northd))
	alerts := []monitoring.Alert{
		{
			Name: "OVNWithoutLeader", Severity: monitoring.Critical, For: "2m",
			Expr:    fmt.Sprintf(`companion_raft_cluster_leaders{%s} == 0`, both),
			Summary: "Nobody leads the database {{ $labels.name }}: no network, port or router can be changed. What is there works on.",
			Action: "Look at its pods: a majority has to run and to reach each other. If a majority's volumes are lost, see the operations guide " +
				"on a lost quorum.",
		},
		{
			Name: "OVNOtherCluster", Severity: monitoring.Critical, For: "1m",
			Expr:    fmt.Sprintf(`companion_raft_cluster_condition{%s,condition="SameCluster"} == 0`, both),
			Summary: "A pod of {{ $labels.name }} is a member of another cluster: clients that reach it see other networks than those of the rest.",
			Action:  "The RaftCluster's condition SameCluster names it. Save its file, then delete its volume and its pod, so that it joins.",
		},
		{
			Name: "OVNMembersMissing", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf(`companion_raft_cluster_condition{%s,condition="Ready"} == 0`, both),
			Summary: "Not every pod of {{ $labels.name }} is a member that keeps up.",
			Action:  "The RaftCluster's condition Ready names the pod and says what it lacks.",
		},
		{
			Name: "OVNNodesBehind", Severity: monitoring.Warning, For: "15m",
			Expr:    fmt.Sprintf(`companion_raft_cluster_chassis{%s,state="behind"} > 0`, both),
			Summary: "{{ $value }} nodes have not done what is wanted: their controllers do not run, or do not reach the database.",
			Action: "The condition ControllersReady of the OVNCluster names them. Look at ovn-controller there. A node that is gone for good " +
				"is removed from the southbound database.",
		},
		{
			Name: "OVNMemoryHigh", Severity: monitoring.Warning, For: "15m",
			Expr:    m.memoryUsed() + " > 0.9",
			Summary: "Pod {{ $labels.pod }} uses nine tenths of the memory that it may. Beyond that it is ended, and reads all from its file again.",
			Action:  "Give the members more memory: a database is in memory as a whole. Many nodes are less work for it behind relays.",
		},
		{
			Name: "OVNNorthdDown", Severity: monitoring.Critical, For: "2m",
			Expr:    "kube_deployment_status_replicas_available" + pods + " == 0",
			Summary: "No pod of ovn-northd is available: what is changed in networks does not come to nodes.",
			Action:  "Look at the pods' events and logs, then at the databases.",
		},
		{
			Name: "OVNNorthdDegraded", Severity: monitoring.Warning, For: "15m",
			Expr:    "kube_deployment_status_replicas_available" + pods + " < kube_deployment_spec_replicas" + pods,
			Summary: "Fewer pods of ovn-northd are available than wanted.",
			Action:  "Look at the pods' events: a node may be full or gone, or an image may not be pulled.",
		},
	}
	alerts = append(alerts, monitoring.VolumesFilling("OVN", m.namespace,
		fmt.Sprintf("data-(%s|%s)-.+", m.north.workload.Name, m.south.workload.Name), "its member stops writing",
		"A database is compacted by itself: find out who writes so much, and give its members larger volumes one by one.")...)
	alerts = append(alerts, m.relayAlerts()...)
	alerts = append(alerts, m.snapshotAlerts()...)
	for _, d := range []struct{ part, name string }{{northbound, "Northbound"}, {southbound, "Southbound"}} {
		alerts = append(alerts, monitoring.CertificateExpiring("OVN"+d.name+"CertificateExpiring", "The "+d.part+" database's certificate",
			m.namespace, m.secret(d.part)))
	}
	if m.relay.asked {
		alerts = append(alerts, monitoring.CertificateExpiring("OVNRelayCertificateExpiring", "The relays' certificate",
			m.namespace, m.secret(relay)))
	}
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
	if !m.relay.asked {
		return nil
	}
	pods := fmt.Sprintf(`{namespace=%q,deployment=%q}`, m.namespace, m.relay.workload.Name)
	return []monitoring.Alert{
		{
			Name: "OVNRelayDown", Severity: monitoring.Critical, For: "2m",
			Expr:    "kube_deployment_status_replicas_available" + pods + " == 0",
			Summary: "No relay of the southbound database is available: what is changed in networks does not come to the nodes that read them.",
			Action:  "Look at the pods' events and logs, then at the southbound database: a relay without its source is not ready.",
		},
		{
			Name: "OVNRelayDegraded", Severity: monitoring.Warning, For: "15m",
			Expr:    "kube_deployment_status_replicas_available" + pods + " < kube_deployment_spec_replicas" + pods,
			Summary: "Fewer relays of the southbound database are available than wanted.",
			Action:  "Look at the pods' events: a node may be full or gone, or an image may not be pulled.",
		},
	}
}

// snapshotAlerts returns alerts on the Jobs of snapshots.
func (m *model) snapshotAlerts() []monitoring.Alert {
	if m.spec.Backup == nil {
		return nil
	}
	// The longest interval of the schedule, and the time that a snapshot may take.
	age := (mariadb.LongestGap(m.schedule()) + time.Hour).Round(time.Hour)
	jobs := fmt.Sprintf(`{namespace=%q,job_name=~"%s-[0-9]+"}`, m.namespace, m.sub(snapshot))
	const action = "Read the log of the Job's pod; look at the object store and at its credentials."
	return []monitoring.Alert{
		{
			Name: "OVNSnapshotOld", Severity: monitoring.Warning, For: "10m",
			Expr:    fmt.Sprintf("time() - max(kube_job_status_completion_time%s) > %.0f", jobs, age.Seconds()),
			Summary: fmt.Sprintf("The last copy of OVN's databases is older than %.0f hours.", age.Hours()), Action: action,
		},
		{
			Name: "OVNSnapshotMissing", Severity: monitoring.Warning, For: fmt.Sprintf("%.0fh", age.Hours()),
			Expr:    "absent(kube_job_status_completion_time" + jobs + ")",
			Summary: "There is no copy of OVN's databases.", Action: action,
		},
	}
}

package ovn

import (
	"fmt"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
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
	for _, d := range []struct{ part, name string }{{northbound, "Northbound"}, {southbound, "Southbound"}} {
		alerts = append(alerts, monitoring.CertificateExpiring("OVN"+d.name+"CertificateExpiring", "The "+d.part+" database's certificate",
			m.namespace, m.secret(d.part)))
	}
	return service.Single("alerts", monitoring.Rules(m.meta(m.name), m.spec.Monitoring, alerts...)), nil
}

package mariadb

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// Ports of the processes that the operator runs, from its source: pkg/controller/galera/resources, api/v1alpha1 (agent 5555, MaxScale's
// REST API 8989, exporters 9104 and 9105).
var (
	galeraPorts   = []int32{4444, 4567, 4568}
	serverPort    = []int32{common.DatabasePort}
	agentPort     = []int32{5555}
	adminPort     = []int32{AdminPort}
	metricsPort   = []int32{9104}
	proxyExporter = []int32{9105}
)

// Pods returns the labels that the operator sets on the pods of a server.
func Pods(name string) map[string]string { return labels("mariadb", name) }

// ExporterPods returns the labels of the exporter of a server or a proxy.
func ExporterPods(name string) map[string]string { return labels("exporter", name+"-metrics") }

// ProxyPods returns the labels of the pods of a proxy.
func ProxyPods(name string) map[string]string { return labels("maxscale", name) }

func labels(app, instance string) map[string]string {
	return map[string]string{"app.kubernetes.io/name": app, "app.kubernetes.io/instance": instance}
}

// ServiceJobs lists the components of services' Jobs that connect to databases.
var ServiceJobs = []string{"archive", "bootstrap", "migration", "schema", "schema-check", "trust-flush"}

// OperatorJobs selects the pods of the operator's Jobs: backups, restores and recoveries. The operator sets few or no labels on them, so
// they are selected by labels that Kubernetes sets on all pods of Jobs.
func OperatorJobs() []metav1.LabelSelectorRequirement {
	const managedBy = "app.kubernetes.io/managed-by"
	return []metav1.LabelSelectorRequirement{
		{Key: batchv1.JobNameLabel, Operator: metav1.LabelSelectorOpExists},
		{Key: managedBy, Operator: metav1.LabelSelectorOpNotIn, Values: []string{workload.ManagedPodLabels()[managedBy]}},
	}
}

// Network describes the connections of a server and its proxy, exporters and Jobs.
type Network struct {
	// Server is the name of the MariaDB object, Members its number of members, Proxy the name of its MaxScale. Empty: none.
	Server  string
	Members int32
	Proxy   string
	// Metrics: there are exporters.
	Metrics bool
	// ClientLabels lists the labels of client pods, one entry for each kind of pod.
	ClientLabels []map[string]string
	// Buckets lists the ports of the object stores for backups and restores.
	Buckets    []int32
	Neighbours common.Neighbours
}

// Policy is a NetworkPolicy with its name.
type Policy struct {
	Name   string
	Object runtime.Object
}

// Policies returns a policy for each kind of pod.
func (n Network) Policies(meta func(name string) object.Meta) []Policy {
	var out []Policy
	add := func(name string, pods metav1.LabelSelector, inbound, outbound []workload.Flow) {
		out = append(out, Policy{name, workload.NetworkPolicy(meta(name), pods, inbound, outbound)})
	}
	monitoring := workload.Names(n.Neighbours.Monitoring)
	in, open := n.flows()
	add(n.Server, labelled(Pods(n.Server)), in, open)
	if n.Metrics {
		add(n.Server+"-exporter", labelled(ExporterPods(n.Server)),
			[]workload.Flow{{Namespaces: monitoring, Ports: metricsPort}}, []workload.Flow{{Pods: Pods(n.Server), Ports: serverPort}})
	}
	if n.Proxy == "" {
		return out
	}
	add(n.Proxy, labelled(ProxyPods(n.Proxy)),
		append(workload.From(n.ClientLabels, serverPort),
			workload.Flow{Namespaces: workload.Names(n.Neighbours.MariaDBOperator), Ports: adminPort},
			workload.Flow{Pods: ExporterPods(n.Proxy), Ports: adminPort},
		),
		[]workload.Flow{{Pods: Pods(n.Server), Ports: serverPort}})
	if n.Metrics {
		add(n.Proxy+"-exporter", labelled(ExporterPods(n.Proxy)),
			[]workload.Flow{{Namespaces: monitoring, Ports: proxyExporter}}, []workload.Flow{{Pods: ProxyPods(n.Proxy), Ports: adminPort}})
	}
	return out
}

// Backups returns a policy that allows the Jobs of the operator to connect to the server and the object stores.
func (n Network) Backups(meta object.Meta) runtime.Object {
	return workload.NetworkPolicy(meta, metav1.LabelSelector{MatchExpressions: OperatorJobs()}, nil, []workload.Flow{
		{Pods: Pods(n.Server), Ports: serverPort}, {Anywhere: true, Ports: n.Buckets},
	})
}

// flows returns the traffic of the members. In a cluster they connect to each other, and to the API server: sidecars of the operator
// use it to identify themselves and to authenticate their clients.
func (n Network) flows() (in, out []workload.Flow) {
	in = workload.From(n.ClientLabels, serverPort)
	operator := workload.Flow{Namespaces: workload.Names(n.Neighbours.MariaDBOperator), Ports: serverPort}
	if n.Proxy != "" {
		in = append(in, workload.Flow{Pods: ProxyPods(n.Proxy), Ports: serverPort})
	}
	if n.Metrics {
		in = append(in, workload.Flow{Pods: ExporterPods(n.Server), Ports: serverPort})
	}
	if len(n.Buckets) > 0 {
		in = append(in, workload.Flow{Expressions: OperatorJobs(), Ports: serverPort})
	}
	if n.Members > 1 {
		members := workload.Flow{Pods: Pods(n.Server), Ports: galeraPorts}
		in = append(in, members)
		operator.Ports = slices.Concat(agentPort, serverPort)
		out = []workload.Flow{members, {Anywhere: true, Ports: n.Neighbours.APIServerPorts}}
	}
	return append(in, operator), out
}

func labelled(labels map[string]string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: labels}
}

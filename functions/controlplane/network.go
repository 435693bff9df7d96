package controlplane

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

// Ports and labels of the pods of Valkey's operator, from its chart.
var (
	valkeyPort    = []int32{6379}
	sentinelPort  = []int32{26379}
	challengePort = []int32{8089}
	valkeyMetrics = []int32{9121}
	valkeyPods    = map[string]string{"app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": valkeyName}
	// challengePods serve HTTP-01 challenges for public certificates (https://cert-manager.io/docs/configuration/acme/http01/).
	challengePods = map[string]string{"acme.cert-manager.io/http01-solver": "true"}
)

// serviceJobs selects the pods of services' Jobs, which connect to databases only. The companion performs migrations itself.
var serviceJobs = []metav1.LabelSelectorRequirement{
	{Key: "app.kubernetes.io/component", Operator: metav1.LabelSelectorOpIn, Values: mariadb.ServiceJobs},
}

// neighboursOf returns the namespaces of clients from outside of a control plane's namespace, from the PlatformConfig or, by default, from
// the upstream manifests.
func neighboursOf(n *platformv1.Network) common.Neighbours {
	requested := ptr.Deref(n, platformv1.Network{})
	out := common.Neighbours{
		MariaDBOperator:   namespaces(requested.MariaDBOperator, "mariadb-operator"),
		RabbitMQOperators: namespaces(requested.RabbitMQOperators, "rabbitmq-system"),
		Monitoring:        namespaces(requested.Monitoring, "monitoring"),
		APIServerPorts:    platform.APIServerPorts(n),
	}
	return out
}

func namespaces(requested []common.NamespaceName, fallback common.NamespaceName) []common.NamespaceName {
	if len(requested) == 0 {
		return []common.NamespaceName{fallback}
	}
	return requested
}

// policies composes the network policies of each kind of pod. Services, the companion and memcached compose their own.
func policies(m *model) ([]compose.Stage, error) {
	var stage compose.Stage
	add := func(name string, pods metav1.LabelSelector, in, out []workload.Flow) {
		stage = append(stage, compose.Resource{Name: name + "-network-policy", Object: workload.NetworkPolicy(m.meta(name), pods, in, out)})
	}
	database := m.databaseNetwork()
	if m.externalMariaDB() == nil {
		for _, p := range database.Policies(m.meta) {
			stage = append(stage, compose.Resource{Name: p.Name + "-network-policy", Object: p.Object})
		}
	}
	if m.runsQueue() {
		policy := m.cluster("").NetworkPolicy([]map[string]string{workload.ManagedPodLabels()}, m.monitoring.Enabled, m.neighbours)
		stage = append(stage, compose.Resource{Name: rabbitMQName + "-network-policy", Object: policy})
	}
	if m.locks() {
		in, out := m.storeFlows()
		add(valkeyName, labelled(valkeyPods), in, out)
	}
	if len(database.Buckets) > 0 {
		const name = "operator-jobs"
		stage = append(stage, compose.Resource{Name: name + "-network-policy", Object: database.Backups(m.meta(name))})
	}
	// With an external identity service there may be no service with a database.
	if slices.ContainsFunc(m.services, func(s *serviceState) bool { return m.connectionsOf(s) > 0 }) {
		add("service-jobs", metav1.LabelSelector{MatchExpressions: serviceJobs}, nil, m.databaseFlow())
	}
	for _, s := range m.services {
		if flows := databaseFlows(m.databasesOf(s)); len(flows) > 0 {
			add(s.name+"-cell-databases", inspectors(s), nil, flows)
		}
	}
	if m.exposure.Type == exposure.Ingress && m.tls.IssuerRef != nil && ptr.Deref(m.tls.Enabled, true) {
		from := workload.Flow{Namespaces: exposure.Namespaces(&common.ServiceExposure{Exposure: m.exposure}), Ports: challengePort}
		from.Anywhere = len(from.Namespaces) == 0
		add("http-challenge", labelled(challengePods), []workload.Flow{from}, nil)
	}
	return []compose.Stage{stage}, nil
}

// inspectors selects the pods of a service's Jobs that connect to all of its databases, whose addresses are in its own records.
func inspectors(s *serviceState) metav1.LabelSelector {
	pods := workload.ManagedPodLabels()
	pods["app.kubernetes.io/instance"] = s.name
	return metav1.LabelSelector{MatchLabels: pods, MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app.kubernetes.io/component", Operator: metav1.LabelSelectorOpIn, Values: s.inspectors},
	}}
}

// databaseFlow permits connections to the control plane's own database, or to any address at the port of an external one, because a policy
// cannot contain host names.
func (m *model) databaseFlow() []workload.Flow {
	if e := m.externalMariaDB(); e != nil {
		return []workload.Flow{{Anywhere: true, Ports: []int32{databasePort(*e)}}}
	}
	out := []workload.Flow{{Pods: mariadb.Pods(mariaDBName), Ports: []int32{mariaDBPort}}}
	if m.proxy.replicas > 0 {
		out = append(out, workload.Flow{Pods: mariadb.ProxyPods(maxScaleName), Ports: []int32{mariaDBPort}})
	}
	return out
}

func databaseFlows(databases []databaseServer) []workload.Flow {
	out := make([]workload.Flow, len(databases))
	for i, d := range databases {
		out[i] = workload.Flow{Pods: mariadb.Pods(d.server), Ports: []int32{mariaDBPort}}
	}
	return out
}

// isolation denies all other traffic. It comes last, after all policies that a pod needs.
func isolation(m *model) ([]compose.Stage, error) {
	const name = "default-deny"
	return []compose.Stage{{{Name: name, Object: workload.DenyAll(m.meta(name))}}}, nil
}

func labelled(labels map[string]string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: labels}
}

// databaseNetwork returns the network policy settings of the database.
func (m *model) databaseNetwork() mariadb.Network {
	n := mariadb.Network{
		Server: mariaDBName, Members: m.databaseReplicas(), Metrics: m.databaseMetrics(),
		ClientLabels: []map[string]string{workload.ManagedPodLabels()}, Buckets: m.bucketPorts(), Neighbours: m.neighbours,
	}
	if m.proxy.replicas > 0 {
		n.Proxy = maxScaleName
	}
	return n
}

// storeFlows returns the traffic of Valkey's members. Clients query the sentinels for the primary.
func (m *model) storeFlows() (in, out []workload.Flow) {
	ports := valkeyPort
	if m.store.sentinel {
		ports = slices.Concat(valkeyPort, sentinelPort)
	}
	in = []workload.Flow{{Pods: workload.ManagedPodLabels(), Ports: ports}}
	if m.store.replicas > 1 {
		members := workload.Flow{Pods: valkeyPods, Ports: ports}
		in, out = append(in, members), append(out, members)
	}
	if m.monitoring.Enabled {
		in = append(in, workload.Flow{Namespaces: workload.Names(m.neighbours.Monitoring), Ports: valkeyMetrics})
	}
	return in, out
}

// bucketPorts returns the ports of the object stores of database backups and restores.
func (m *model) bucketPorts() []int32 {
	db := m.spec.Infrastructure.MariaDB
	var endpoints []string
	if db.Backup != nil {
		endpoints = append(endpoints, db.Backup.S3.Endpoint)
	}
	if db.RestoreFrom != nil {
		endpoints = append(endpoints, db.RestoreFrom.S3.Endpoint)
	}
	var out []int32
	for _, e := range endpoints {
		port := workload.HTTPSPort(e)
		if len(out) == 0 || out[0] != port {
			out = append(out, port)
		}
	}
	return out
}

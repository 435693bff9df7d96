package controlplane

import (
	"net"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

const httpsPort = 443

// Ports of what operators run, as their sources name them.
//   - mariadb-operator: pkg/controller/galera/resources, api/v1alpha1 (agent 5555, MaxScale's REST API 8989, exporters 9104 and 9105);
//   - RabbitMQ: https://www.rabbitmq.com/docs/networking#ports. Tools in a pod speak to their own node only;
//   - Valkey: the chart in its operator.
var (
	galeraPorts     = []int32{4444, 4567, 4568}
	queuePorts      = []int32{4369, 25672}
	valkeyPort      = []int32{6379}
	sentinelPort    = []int32{26379}
	challengePort   = []int32{8089}
	databasePort    = []int32{mariaDBPort}
	agentPort       = []int32{5555}
	proxyAdminPort  = []int32{8989}
	exporterPort    = []int32{9104}
	proxyMetrics    = []int32{9105}
	amqpPort        = []int32{5671}
	managementPort  = []int32{15671}
	queueMetrics    = []int32{15691}
	valkeyMetrics   = []int32{9121}
	defaultAPIPorts = []int32{httpsPort, 6443}
)

// Labels that operators give their pods.
var (
	databasePods      = map[string]string{"app.kubernetes.io/name": "mariadb", "app.kubernetes.io/instance": mariaDBName}
	databaseExporter  = map[string]string{"app.kubernetes.io/name": "exporter", "app.kubernetes.io/instance": mariaDBName + "-metrics"}
	proxyPods         = map[string]string{"app.kubernetes.io/name": "maxscale", "app.kubernetes.io/instance": maxScaleName}
	proxyExporterPods = map[string]string{"app.kubernetes.io/name": "exporter", "app.kubernetes.io/instance": maxScaleName + "-metrics"}
	queuePods         = map[string]string{"app.kubernetes.io/name": rabbitMQName}
	valkeyPods        = map[string]string{"app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": valkeyName}
	// challengePods answer for a host name where its public certificate is ordered by http
	// (https://cert-manager.io/docs/configuration/acme/http01/).
	challengePods = map[string]string{"acme.cert-manager.io/http01-solver": "true"}
	// ourPods are those of services and of the companion.
	ourPods = map[string]string{"app.kubernetes.io/part-of": "openstack", "app.kubernetes.io/managed-by": "crossplane-cobaltcore"}
)

const componentLabel = "app.kubernetes.io/component"

// jobComponents are the components of services' Jobs. The companion makes migrations itself.
var jobComponents = []string{"archive", "bootstrap", "migration", "schema", "trust-flush"}

// serviceJobs are the pods of services' Jobs, which speak to the database alone.
var serviceJobs = []metav1.LabelSelectorRequirement{
	{Key: componentLabel, Operator: metav1.LabelSelectorOpIn, Values: jobComponents},
}

// operatorJobs are pods of Jobs that are not services': backups, restores and recoveries. Operators label them with little or nothing,
// so they are known by what Kubernetes itself gives the pods of Jobs.
var operatorJobs = []metav1.LabelSelectorRequirement{
	{Key: batchv1.JobNameLabel, Operator: metav1.LabelSelectorOpExists},
	{Key: componentLabel, Operator: metav1.LabelSelectorOpNotIn, Values: jobComponents},
}

// neighbours are the namespaces that reach into a control plane's: those of operators and of Prometheus.
type neighbours struct {
	mariaDB, rabbitMQ, monitoring []string
	// apiServer are the ports that the API server listens on.
	apiServer []int32
}

// neighboursOf are those that the platform names, or else where upstream's own manifests put them.
func neighboursOf(n *platformv1.Network) neighbours {
	said := ptr.Deref(n, platformv1.Network{})
	out := neighbours{
		mariaDB:    namespaces(said.MariaDBOperator, "mariadb-operator"),
		rabbitMQ:   namespaces(said.RabbitMQOperators, "rabbitmq-system"),
		monitoring: namespaces(said.Monitoring, "monitoring"),
		apiServer:  defaultAPIPorts,
	}
	if len(said.APIServerPorts) > 0 {
		out.apiServer = said.APIServerPorts
	}
	return out
}

func namespaces(said []common.NamespaceName, fallback string) []string {
	var out []string
	for _, n := range said {
		out = append(out, string(n))
	}
	if len(out) == 0 {
		return []string{fallback}
	}
	return out
}

// policies let through what each kind of pod needs. Services, the companion and memcached bring their own.
func policies(m *model) ([]compose.Stage, error) {
	var stage compose.Stage
	add := func(name string, pods metav1.LabelSelector, in, out []workload.Flow) {
		stage = append(stage, compose.Resource{Name: name + "-network-policy", Object: workload.NetworkPolicy(m.meta(name), pods, in, out)})
	}
	n := m.neighbours
	in, out := m.databaseFlows()
	add(mariaDBName, labelled(databasePods), in, out)
	if m.databaseMetrics() {
		add(mariaDBName+"-exporter", labelled(databaseExporter),
			[]workload.Flow{{Namespaces: n.monitoring, Ports: exporterPort}},
			[]workload.Flow{{Pods: databasePods, Ports: databasePort}})
	}
	if m.proxy.replicas > 0 {
		add(maxScaleName, labelled(proxyPods),
			[]workload.Flow{
				{Pods: ourPods, Ports: databasePort},
				{Namespaces: n.mariaDB, Ports: proxyAdminPort},
				{Pods: proxyExporterPods, Ports: proxyAdminPort},
			},
			[]workload.Flow{{Pods: databasePods, Ports: databasePort}})
		if m.databaseMetrics() {
			add(maxScaleName+"-exporter", labelled(proxyExporterPods),
				[]workload.Flow{{Namespaces: n.monitoring, Ports: proxyMetrics}},
				[]workload.Flow{{Pods: proxyPods, Ports: proxyAdminPort}})
		}
	}
	if m.messaging() {
		in, out := m.queueFlows()
		add(rabbitMQName, labelled(queuePods), in, out)
	}
	if m.locks() {
		in, out := m.storeFlows()
		add(valkeyName, labelled(valkeyPods), in, out)
	}
	if ports := m.bucketPorts(); len(ports) > 0 {
		add("operator-jobs", metav1.LabelSelector{MatchExpressions: operatorJobs}, nil, []workload.Flow{
			{Pods: databasePods, Ports: databasePort}, {Anywhere: true, Ports: ports},
		})
	}
	jobs := []workload.Flow{{Pods: databasePods, Ports: databasePort}}
	if m.proxy.replicas > 0 {
		jobs = append(jobs, workload.Flow{Pods: proxyPods, Ports: databasePort})
	}
	add("service-jobs", metav1.LabelSelector{MatchExpressions: serviceJobs}, nil, jobs)
	if m.exposure.Type == exposure.Ingress && m.tls.IssuerRef != nil && ptr.Deref(m.tls.Enabled, true) {
		from := workload.Flow{Namespaces: exposure.Namespaces(&common.ServiceExposure{Exposure: m.exposure}), Ports: challengePort}
		from.Anywhere = len(from.Namespaces) == 0
		add("http-challenge", labelled(challengePods), []workload.Flow{from}, nil)
	}
	return []compose.Stage{stage}, nil
}

// isolation denies what no policy lets through. It comes last, when every policy is there that a pod needs.
func isolation(m *model) ([]compose.Stage, error) {
	const name = "default-deny"
	return []compose.Stage{{{Name: name, Object: workload.DenyAll(m.meta(name))}}}, nil
}

func labelled(labels map[string]string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: labels}
}

// databaseFlows are those of the database's members. In a cluster they speak to each other, and to the API server, of which the
// operator's containers beside them ask who they are and who it is that asks them.
func (m *model) databaseFlows() (in, out []workload.Flow) {
	in = []workload.Flow{{Pods: ourPods, Ports: databasePort}}
	operator := workload.Flow{Namespaces: m.neighbours.mariaDB, Ports: databasePort}
	if m.proxy.replicas > 0 {
		in = append(in, workload.Flow{Pods: proxyPods, Ports: databasePort})
	}
	if m.databaseMetrics() {
		in = append(in, workload.Flow{Pods: databaseExporter, Ports: databasePort})
	}
	if len(m.bucketPorts()) > 0 {
		in = append(in, workload.Flow{Expressions: operatorJobs, Ports: databasePort})
	}
	if m.databaseReplicas() > 1 {
		members := workload.Flow{Pods: databasePods, Ports: galeraPorts}
		in = append(in, members)
		operator.Ports = slices.Concat(agentPort, databasePort)
		out = []workload.Flow{members, {Anywhere: true, Ports: m.neighbours.apiServer}}
	}
	return append(in, operator), out
}

// queueFlows are those of RabbitMQ's members. They find each other by the API server.
func (m *model) queueFlows() (in, out []workload.Flow) {
	in = []workload.Flow{{Pods: ourPods, Ports: amqpPort}, {Namespaces: m.neighbours.rabbitMQ, Ports: managementPort}}
	if m.monitoring.Enabled {
		in = append(in, workload.Flow{Namespaces: m.neighbours.monitoring, Ports: queueMetrics})
	}
	if m.queue.replicas > 1 {
		members := workload.Flow{Pods: queuePods, Ports: queuePorts}
		in, out = append(in, members), append(out, members)
	}
	return in, append(out, workload.Flow{Anywhere: true, Ports: m.neighbours.apiServer})
}

// storeFlows are those of Valkey's members. Sentinels are asked which of them is the primary.
func (m *model) storeFlows() (in, out []workload.Flow) {
	ports := valkeyPort
	if m.store.sentinel {
		ports = slices.Concat(valkeyPort, sentinelPort)
	}
	in = []workload.Flow{{Pods: ourPods, Ports: ports}}
	if m.store.replicas > 1 {
		members := workload.Flow{Pods: valkeyPods, Ports: ports}
		in, out = append(in, members), append(out, members)
	}
	if m.monitoring.Enabled {
		in = append(in, workload.Flow{Namespaces: m.neighbours.monitoring, Ports: valkeyMetrics})
	}
	return in, out
}

// bucketPorts are the ports of the object stores that the database is backed up to and restored from.
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
		port := portOf(e)
		if len(out) == 0 || out[0] != port {
			out = append(out, port)
		}
	}
	return out
}

// portOf is the port of host:port, or that of https.
func portOf(endpoint string) int32 {
	_, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		return httpsPort
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return httpsPort
	}
	return int32(n)
}

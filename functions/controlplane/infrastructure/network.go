package infrastructure

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// Ports and labels of the pods of Valkey's operator, from its chart.
var (
	valkeyPort    = []int32{6379}
	sentinelPort  = []int32{26379}
	challengePort = []int32{8089}
	valkeyMetrics = []int32{9121}
	valkeyPods    = map[string]string{"app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": ValkeyName}
	// challengePods serve HTTP-01 challenges for public certificates (https://cert-manager.io/docs/configuration/acme/http01/).
	challengePods = map[string]string{"acme.cert-manager.io/http01-solver": "true"}
)

// serviceJobs selects the pods of services' Jobs, which connect to databases only. The companion performs migrations itself.
var serviceJobs = []metav1.LabelSelectorRequirement{
	{Key: "app.kubernetes.io/component", Operator: metav1.LabelSelectorOpIn, Values: mariadb.ServiceJobs},
}

// DatabaseInspector is a service whose Jobs connect to all of its own database servers, whose addresses are in its own records.
type DatabaseInspector struct {
	Service string
	// Components are the components of these Jobs.
	Components []string
	Databases  []DatabaseServer
}

// ComposeNetworkPolicies composes the network policies of each kind of pod. Services, the companion and memcached compose their own.
// hasJobs is true if a service has a database, to which its Jobs connect.
func (inf *Infrastructure) ComposeNetworkPolicies(hasJobs bool, inspectors []DatabaseInspector) ([]compose.Stage, error) {
	var stage compose.Stage
	add := func(name string, pods metav1.LabelSelector, in, out []workload.Flow) {
		stage = append(stage, compose.Resource{Name: name + "-network-policy", Object: workload.NetworkPolicy(inf.Meta(name), pods, in, out)})
	}
	database, err := inf.databaseNetwork()
	if err != nil {
		return nil, err
	}
	if inf.ExternalMariaDB() == nil {
		for _, p := range database.Policies(inf.Meta) {
			stage = append(stage, compose.Resource{Name: p.Name + "-network-policy", Object: p.Object})
		}
	}
	if inf.RunsQueue() {
		image, err := inf.thirdPartyImage(release.RabbitMQ)
		if err != nil {
			return nil, err
		}
		policy := inf.Cluster(image).NetworkPolicy([]map[string]string{workload.ManagedPodLabels()}, inf.Monitoring.Enabled, inf.Neighbours)
		stage = append(stage, compose.Resource{Name: rabbitMQName + "-network-policy", Object: policy})
	}
	if inf.Locks() {
		in, out := inf.storeFlows()
		add(ValkeyName, labelled(valkeyPods), in, out)
	}
	if len(database.Buckets) > 0 {
		const name = "operator-jobs"
		stage = append(stage, compose.Resource{Name: name + "-network-policy", Object: database.Backups(inf.Meta(name))})
	}
	if hasJobs {
		add("service-jobs", metav1.LabelSelector{MatchExpressions: serviceJobs}, nil, inf.databaseFlow())
	}
	for _, s := range inspectors {
		if flows := databaseFlows(s.Databases); len(flows) > 0 {
			add(s.Service+"-cell-databases", s.pods(), nil, flows)
		}
	}
	if inf.Exposure.Type == exposure.Ingress && inf.TLS.IssuerRef != nil && ptr.Deref(inf.TLS.Enabled, true) {
		from := workload.Flow{Namespaces: exposure.Namespaces(&common.ServiceExposure{Exposure: inf.Exposure}), Ports: challengePort}
		from.Anywhere = len(from.Namespaces) == 0
		add("http-challenge", labelled(challengePods), []workload.Flow{from}, nil)
	}
	return []compose.Stage{stage}, nil
}

// pods selects the pods of the Jobs.
func (s DatabaseInspector) pods() metav1.LabelSelector {
	pods := workload.ManagedPodLabels()
	pods["app.kubernetes.io/instance"] = s.Service
	return metav1.LabelSelector{MatchLabels: pods, MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app.kubernetes.io/component", Operator: metav1.LabelSelectorOpIn, Values: s.Components},
	}}
}

// databaseFlow permits connections to the control plane's own database, or to any address at the port of an external one, because a policy
// cannot contain host names.
func (inf *Infrastructure) databaseFlow() []workload.Flow {
	if e := inf.ExternalMariaDB(); e != nil {
		return []workload.Flow{{Anywhere: true, Ports: []int32{e.Port}}}
	}
	out := []workload.Flow{{Pods: mariadb.Pods(mariaDBName), Ports: []int32{mariaDBPort}}}
	if inf.proxy.replicas > 0 {
		out = append(out, workload.Flow{Pods: mariadb.ProxyPods(maxScaleName), Ports: []int32{mariaDBPort}})
	}
	return out
}

func databaseFlows(databases []DatabaseServer) []workload.Flow {
	out := make([]workload.Flow, len(databases))
	for i, d := range databases {
		out[i] = workload.Flow{Pods: mariadb.Pods(d.Name), Ports: []int32{mariaDBPort}}
	}
	return out
}

// ComposeIsolation denies all other traffic. It comes last, after all policies that a pod needs.
func (inf *Infrastructure) ComposeIsolation() ([]compose.Stage, error) {
	const name = "default-deny"
	return []compose.Stage{{{Name: name, Object: workload.DenyAll(inf.Meta(name))}}}, nil
}

func labelled(labels map[string]string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: labels}
}

// databaseNetwork returns the network policy settings of the database.
func (inf *Infrastructure) databaseNetwork() (mariadb.Network, error) {
	buckets, err := inf.bucketPorts()
	if err != nil {
		return mariadb.Network{}, err
	}
	n := mariadb.Network{
		Server: mariaDBName, Members: inf.DatabaseReplicas(), Metrics: inf.databaseMetrics(),
		ClientLabels: []map[string]string{workload.ManagedPodLabels()}, Buckets: buckets, Neighbours: inf.Neighbours,
	}
	if inf.proxy.replicas > 0 {
		n.Proxy = maxScaleName
	}
	return n, nil
}

// storeFlows returns the traffic of Valkey's members. Clients query the sentinels for the primary.
func (inf *Infrastructure) storeFlows() (in, out []workload.Flow) {
	ports := valkeyPort
	if inf.Store.Sentinel {
		ports = slices.Concat(valkeyPort, sentinelPort)
	}
	in = []workload.Flow{{Pods: workload.ManagedPodLabels(), Ports: ports}}
	if inf.Store.replicas > 1 {
		members := workload.Flow{Pods: valkeyPods, Ports: ports}
		in, out = append(in, members), append(out, members)
	}
	if inf.Monitoring.Enabled {
		in = append(in, workload.Flow{Namespaces: workload.Names(inf.Neighbours.Monitoring), Ports: valkeyMetrics})
	}
	return in, out
}

// bucketPorts returns the ports of the object stores of database backups and restores.
func (inf *Infrastructure) bucketPorts() ([]int32, error) {
	db := inf.Spec.Infrastructure.MariaDB
	endpoints := map[string]string{}
	if db.Backup != nil {
		endpoints["backup"] = db.Backup.S3.Endpoint
	}
	if db.RestoreFrom != nil {
		endpoints["restoreFrom"] = db.RestoreFrom.S3.Endpoint
	}
	var out []int32
	for _, from := range slices.Sorted(maps.Keys(endpoints)) {
		port, err := workload.HTTPSPort(endpoints[from])
		if err != nil {
			return nil, invalid.Field("spec.infrastructure.mariadb."+from+".s3.endpoint", "%s", err)
		}
		if !slices.Contains(out, port) {
			out = append(out, port)
		}
	}
	return out, nil
}

package rabbitmq

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// config is RabbitMQ's own configuration. A part of the members stops rather than have two halves go on; a queue that a client
// declares without a type is one that outlives the loss of a member, which a classic queue of RabbitMQ 4 does not
// (https://www.rabbitmq.com/docs/vhosts#node-wide-default-queue-type).
//
// The operator verifies the queue by the authority that it is told, and lets the queue ask clients for certificates of it in turn, which
// ours have none of: they log in by passwords (cluster-operator v2.20.0, internal/resource/configmap.go).
const config = `cluster_partition_handling = pause_minority
default_queue_type = quorum
ssl_options.verify = verify_none
ssl_options.fail_if_no_peer_cert = false
`

// Cluster is a message queue. It listens with TLS only, for its operators, too (docs/design/0020-one-authority-for-queues.md).
type Cluster struct {
	// Name of the RabbitmqCluster and, with a suffix, of what its operator makes of it: the StatefulSet <name>-server.
	Name string
	// Meta of an object of that name.
	Meta func(name string) object.Meta
	common.QueueServer
	// PullSecrets are the names of Secrets.
	PullSecrets []common.ObjectName
	// Exposure is how other clusters reach it. Nil: they do not.
	Exposure *common.MemberExposure
	// Hosts are the names and addresses by which they do, as far as there are some. The certificate carries them.
	Hosts []string
}

// ClusterHost is where clients connect to.
func ClusterHost(name, namespace string) string { return name + "." + namespace + ".svc" }

// TLSSecret names the Secret of the certificate, which holds its authority, too.
func TLSSecret(name string) string { return name + "-tls" }

func (c Cluster) host() string { return ClusterHost(c.Name, c.Meta(c.Name).Namespace) }

// Certificate is what it listens with.
func (c Cluster) Certificate() runtime.Object {
	meta := c.Meta(TLSSecret(c.Name))
	host, nodes := c.host(), "*."+c.Name+"-nodes."+meta.Namespace+".svc"
	domain := "." + string(c.ClusterDomain)
	names := append([]string{host, host + domain, nodes, nodes + domain}, c.Hosts...)
	return certificate.Server(meta, c.IssuerRef, names...)
}

// Object makes the RabbitmqCluster object.
func (c Cluster) Object() *unstructured.Unstructured {
	res, tls := guaranteed(c.Resources), TLSSecret(c.Name)
	return object.New(apiVersion, "RabbitmqCluster", c.Meta(c.Name), object.WithOptional(object.Map{
		"replicas":          int64(c.Replicas),
		"delayStartSeconds": int64(0),
		// The operator's default is a week: a queue that cannot be drained would hold a node back for so long.
		"terminationGracePeriodSeconds": int64(600),
		"persistence": object.WithOptional(object.Map{"storage": c.StorageSize},
			object.Map{"storageClassName": string(c.StorageClass)}),
		"rabbitmq": object.Map{"additionalConfig": config + diskLimit(res, c.StorageSize) + walLimit(res, c.StorageSize) + c.options()},
		"tls":      object.Map{"secretName": tls, "caSecretName": tls, "disableNonTLSListeners": true},
		"affinity": c.affinity(),
		// The operator has no field for a class. A list of containers is required here, and none changes those that there are.
		"override": object.Map{"statefulSet": object.Map{"spec": object.Map{"template": object.Map{"spec": object.Map{
			"containers": object.List{}, "priorityClassName": workload.PriorityInfrastructure,
		}}}}},
	}, object.Map{
		"resources":        object.Resources(res),
		"tolerations":      object.Tolerations(c.Tolerations),
		"image":            c.Image,
		"imagePullSecrets": c.pullSecrets(),
	}))
}

// options returns the lines of the claim's options.
func (c Cluster) options() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.Config)) {
		fmt.Fprintf(&out, "%s = %s\n", name, c.Config[name])
	}
	return out.String()
}

// DisruptionBudget keeps a majority while nodes are drained.
func (c Cluster) DisruptionBudget() runtime.Object {
	return workload.DisruptionBudget(c.Meta(c.Name), Pods(c.Name))
}

// Pods are the labels that the operator gives the pods of a cluster.
func Pods(name string) map[string]string { return map[string]string{"app.kubernetes.io/name": name} }

// guaranteed sets aside all the memory that a member may use: RabbitMQ reckons with its limit, and its operator warns of less.
func guaranteed(res *common.Resources) *common.Resources {
	if res == nil || res.Limits == nil || res.Limits.Memory == nil {
		return res
	}
	out := *res.DeepCopy()
	if out.Requests == nil {
		out.Requests = &common.ResourceAmounts{}
	}
	out.Requests.Memory = out.Limits.Memory
	return &out
}

// diskLimit is how much of the disk has to be free before the queue takes no more: as much as it may have in memory, and has to write to
// it, but a third of the volume at most, or a small volume would be too full from the first message on. It is set as a number: the
// operator's default is one, of 2 GB, and a number goes before a share of the memory. How much memory that is the operator says itself,
// by the limit.
func diskLimit(res *common.Resources, storage string) string {
	if res == nil || res.Limits == nil || res.Limits.Memory == nil {
		return ""
	}
	const share = 3
	limit := res.Limits.Memory.Value()
	if volume, err := resource.ParseQuantity(storage); err == nil {
		limit = min(limit, volume.Value()/share)
	}
	return fmt.Sprintf("disk_free_limit.absolute = %d\n", limit)
}

// walLimit returns the size at which the write-ahead log of quorum queues is rolled over, empty where RabbitMQ's own, 512 MiB, fits.
//
// A member keeps in memory what is in the log, and frees it some time after the log is rolled over: RabbitMQ recommends memory for three
// logs (https://www.rabbitmq.com/docs/quorum-queues#resource-use). Publishers are blocked at 60% of what the operator gives RabbitMQ, which
// is four fifths of the limit: an eighth of the limit fits three times below that. Logs that are not yet written to segments are beside
// each other on the volume; three of a sixteenth leave room for segments and streams beside the third that stays free.
func walLimit(res *common.Resources, storage string) string {
	const memoryShare, volumeShare, own = 8, 16, 512 << 20
	limit := int64(own)
	if res != nil && res.Limits != nil && res.Limits.Memory != nil {
		limit = min(limit, res.Limits.Memory.Value()/memoryShare)
	}
	if volume, err := resource.ParseQuantity(storage); err == nil {
		limit = min(limit, volume.Value()/volumeShare)
	}
	if limit == own {
		return ""
	}
	return fmt.Sprintf("raft.wal_max_size_bytes = %d\n", limit)
}

// affinity puts members on different nodes, and in different zones, as far as there are some; and on nodes with the labels of a
// selector, for which the operator has no field. A cluster with fewer nodes than members runs nevertheless.
func (c Cluster) affinity() object.Map {
	apart := func(weight int64, topology string) object.Map {
		return object.Map{"weight": weight, "podAffinityTerm": object.Map{
			"labelSelector": object.Map{"matchLabels": object.Strings(Pods(c.Name))}, "topologyKey": topology,
		}}
	}
	const node, zone = 100, 50
	out := object.Map{"podAntiAffinity": object.Map{"preferredDuringSchedulingIgnoredDuringExecution": object.List{
		apart(node, corev1.LabelHostname), apart(zone, corev1.LabelTopologyZone),
	}}}
	var expressions object.List
	for _, k := range slices.Sorted(maps.Keys(c.NodeSelector)) {
		expressions = append(expressions, object.Map{"key": k, "operator": "In", "values": object.List{string(c.NodeSelector[k])}})
	}
	if expressions != nil {
		out["nodeAffinity"] = object.Map{"requiredDuringSchedulingIgnoredDuringExecution": object.Map{
			"nodeSelectorTerms": object.List{object.Map{"matchExpressions": expressions}},
		}}
	}
	return out
}

func (c Cluster) pullSecrets() object.List {
	var out object.List
	for _, n := range c.PullSecrets {
		out = append(out, object.Map{"name": string(n)})
	}
	return out
}

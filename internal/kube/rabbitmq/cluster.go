package rabbitmq

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// config is the RabbitMQ configuration. In a partition, the minority stops instead of continuing separately. The default queue type is
// quorum, which survives the loss of a member, unlike a classic queue of RabbitMQ 4
// (https://www.rabbitmq.com/docs/vhosts#node-wide-default-queue-type).
//
// The operator verifies the queue with the configured authority, and then configures the queue to request client certificates of it.
// Clients of this project use passwords instead (cluster-operator v2.20.0, internal/resource/configmap.go).
const config = `cluster_partition_handling = pause_minority
default_queue_type = quorum
ssl_options.verify = verify_none
ssl_options.fail_if_no_peer_cert = false
`

// Cluster is a message queue. It listens only with TLS, also for its operators (docs/design/0020-one-authority-for-queues.md).
type Cluster struct {
	// Name of the RabbitmqCluster and, with a suffix, of the objects of its operator: the StatefulSet <name>-server.
	Name string
	// Meta returns the metadata of an object with the given name.
	Meta func(name string) object.Meta
	common.QueueServer
	// PullSecrets lists names of Secrets.
	PullSecrets []common.ObjectName
	// Exposure configures access from other clusters. Nil: none.
	Exposure *common.MemberExposure
	// Hosts lists the known names and addresses for other clusters. The certificate contains them.
	Hosts []string
}

// ClusterHost returns the host name for clients.
func ClusterHost(name, namespace string) string { return name + "." + namespace + ".svc" }

// TLSSecret returns the name of the Secret with the certificate and its authority.
func TLSSecret(name string) string { return name + "-tls" }

func (c Cluster) host() string { return ClusterHost(c.Name, c.Meta(c.Name).Namespace) }

// Certificate builds the server certificate.
func (c Cluster) Certificate() runtime.Object {
	meta := c.Meta(TLSSecret(c.Name))
	host, nodes := c.host(), "*."+c.Name+"-nodes."+meta.Namespace+".svc"
	domain := "." + string(c.ClusterDomain)
	names := append([]string{host, host + domain, nodes, nodes + domain}, c.Hosts...)
	return certificate.Server(meta, c.IssuerRef, names...)
}

// Object builds the RabbitmqCluster.
func (c Cluster) Object() *unstructured.Unstructured {
	res, tls := guaranteed(c.Resources), TLSSecret(c.Name)
	return object.New(apiVersion, "RabbitmqCluster", c.Meta(c.Name), object.WithOptional(object.Map{
		"replicas":          int64(c.Replicas),
		"delayStartSeconds": int64(0),
		// The operator's default is a week: a queue that cannot be drained would block the drain of a node for that time.
		"terminationGracePeriodSeconds": int64(600),
		"persistence": object.WithOptional(object.Map{"storage": c.StorageSize},
			object.Map{"storageClassName": string(c.StorageClass)}),
		"rabbitmq": object.WithOptional(
			object.Map{"additionalConfig": config + diskLimit(res, c.StorageSize) + walLimit(res, c.StorageSize) + c.options()},
			object.Map{"envConfig": c.envConfig(), "erlangInetConfig": c.inetOptions(), "advancedConfig": c.streamOptions()},
		),
		"tls":      object.Map{"secretName": tls, "caSecretName": tls, "disableNonTLSListeners": true},
		"affinity": c.affinity(),
		"override": object.Map{"statefulSet": object.Map{"spec": object.Map{"template": object.Map{"spec": c.podOverride()}}}},
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

// DisruptionBudget builds a PodDisruptionBudget that keeps a majority while nodes are drained.
func (c Cluster) DisruptionBudget() runtime.Object {
	return workload.DisruptionBudget(c.Meta(c.Name), Pods(c.Name))
}

// Pods returns the labels that the operator sets on the pods of a cluster.
func Pods(name string) map[string]string { return map[string]string{"app.kubernetes.io/name": name} }

// guaranteed requests all memory of the limit: RabbitMQ sizes itself by the limit, and its operator warns if the request is lower.
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

// diskLimit returns the amount of free disk space below which the queue accepts no messages: the memory limit, because memory may have to
// be written to disk, but at most a third of the volume, because a small volume would otherwise be too full from the start. It is an
// absolute number because the operator's default, 2 GB, is one, and takes precedence over a share of the memory. The operator sets the
// memory itself, by the limit.
func diskLimit(res *common.Resources, storage string) string {
	if res == nil || res.Limits == nil || res.Limits.Memory == nil {
		return ""
	}
	const share = 3
	limit := res.Limits.Memory.Value()
	if volume := quantity.Bytes(storage); volume > 0 {
		limit = min(limit, volume/share)
	}
	return fmt.Sprintf("disk_free_limit.absolute = %d\n", limit)
}

// walLimit returns the size at which the write-ahead log of quorum queues is rolled over, or "" if RabbitMQ's default, 512 MiB, fits.
//
// A member keeps the content of the log in memory, and frees it some time after the log is rolled over: RabbitMQ recommends memory for
// three logs (https://www.rabbitmq.com/docs/quorum-queues#resource-use). Publishers are blocked at 60% of the memory that the operator
// configures, which is four fifths of the limit: an eighth of the limit fits three times below that. Logs that are not yet written to
// segments accumulate on the volume; three of a sixteenth leave room for segments and streams next to the third that stays free.
func walLimit(res *common.Resources, storage string) string {
	const memoryShare, volumeShare, own = 8, 16, 512 << 20
	limit := int64(own)
	if res != nil && res.Limits != nil && res.Limits.Memory != nil {
		limit = min(limit, res.Limits.Memory.Value()/memoryShare)
	}
	if volume := quantity.Bytes(storage); volume > 0 {
		limit = min(limit, volume/volumeShare)
	}
	if limit == own {
		return ""
	}
	return fmt.Sprintf("raft.wal_max_size_bytes = %d\n", limit)
}

// affinity prefers separate nodes and separate zones for members; and requires nodes with the labels of a selector, for which the
// operator has no field. A cluster with fewer nodes than members runs nevertheless.
func (c Cluster) affinity() object.Map {
	term := func(weight int64, topology string) object.Map {
		return object.Map{"weight": weight, "podAffinityTerm": object.Map{
			"labelSelector": object.Map{"matchLabels": object.Strings(Pods(c.Name))}, "topologyKey": topology,
		}}
	}
	const node, zone = 100, 50
	out := object.Map{"podAntiAffinity": object.Map{"preferredDuringSchedulingIgnoredDuringExecution": object.List{
		term(node, corev1.LabelHostname), term(zone, corev1.LabelTopologyZone),
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

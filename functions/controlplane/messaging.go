package controlplane

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// rabbitMQName names RabbitMQ and, with a suffix, what its operator makes of it: the StatefulSet rabbitmq-server.
const rabbitMQName = "rabbitmq"

// queueTLS names its certificate's Secret.
const queueTLS = rabbitMQName + "-tls"

// queueConfig is RabbitMQ's own configuration. A part of the members stops rather than have two halves go on; a queue that a client
// declares without a type is one that outlives the loss of a member, which a classic queue of RabbitMQ 4 does not
// (https://www.rabbitmq.com/docs/vhosts#node-wide-default-queue-type).
const queueConfig = "cluster_partition_handling = pause_minority\ndefault_queue_type = quorum\n"

// messaging is RabbitMQ. It listens with TLS only, for its operators, too (docs/design/0020-one-authority-for-queues.md).
func messaging(m *model) ([]compose.Stage, error) {
	r := m.spec.Infrastructure.RabbitMQ
	tls := m.meta(queueTLS)
	host := m.queueHost()
	nodes := "*." + rabbitMQName + "-nodes." + m.instance + ".svc"
	res := guaranteed(merge.Over(r.Resources, m.size.messagingResources))
	image, err := m.thirdPartyImage(release.RabbitMQ)
	if err != nil {
		return nil, err
	}
	spec := object.With(object.Map{
		"replicas":          int64(m.queue.replicas),
		"delayStartSeconds": int64(0),
		// The operator's default is a week: a queue that cannot be drained would hold a node back for so long.
		"terminationGracePeriodSeconds": int64(600),
		"resources":                     object.Resources(res),
		"persistence": object.With(object.Map{"storage": m.queue.storage},
			object.Map{"storageClassName": m.queue.class}),
		"rabbitmq": object.Map{"additionalConfig": queueConfig + diskLimit(res, m.queue.storage)},
		"tls":      object.Map{"secretName": tls.Name, "caSecretName": tls.Name, "disableNonTLSListeners": true},
		"affinity": queueAffinity(r.NodeSelector),
	}, object.Map{
		"tolerations":      object.Tolerations(r.Tolerations),
		"image":            image,
		"imagePullSecrets": m.pullSecrets(),
	})
	run := compose.Stage{
		{Name: messagingResource, Object: object.New("rabbitmq.com/v1beta1", "RabbitmqCluster", m.meta(rabbitMQName), spec), Retain: true},
		{Name: "messaging-disruption-budget", Object: workload.DisruptionBudget(m.meta(rabbitMQName), queuePods)},
	}
	return []compose.Stage{
		{{Name: "messaging-certificate", Object: certificate.Server(tls, m.queueIssuer(),
			host, host+"."+m.clusterDomain(), nodes, nodes+"."+m.clusterDomain())}},
		run,
	}, nil
}

// queueIssuer issues the queue's certificate: the platform's for queues, whose authority the operator of virtual hosts trusts. It knows no
// control plane's own, and reads what it trusts once, when it starts.
func (m *model) queueIssuer() common.IssuerReference {
	if m.platform.QueueIssuer == "" {
		return m.issuer()
	}
	return common.IssuerReference{Name: m.platform.QueueIssuer, Kind: "ClusterIssuer"}
}

func (m *model) queueHost() string { return rabbitMQName + "." + m.instance + ".svc" }

// guaranteed sets aside all the memory that a member may use: RabbitMQ reckons with its limit, and its operator warns of less.
func guaranteed(res *common.Resources) *common.Resources {
	if res.Limits == nil || res.Limits.Memory == nil {
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
	if res.Limits == nil || res.Limits.Memory == nil {
		return ""
	}
	const share = 3
	limit := res.Limits.Memory.Value()
	if volume, err := resource.ParseQuantity(storage); err == nil {
		limit = min(limit, volume.Value()/share)
	}
	return fmt.Sprintf("disk_free_limit.absolute = %d\n", limit)
}

// queueAffinity puts members on different nodes, and in different zones, as far as there are some; and on nodes with the labels of a
// selector, for which the operator has no field. A cluster with fewer nodes than members runs nevertheless.
func queueAffinity(selector map[string]common.LabelValue) object.Map {
	apart := func(weight int64, topology string) object.Map {
		return object.Map{"weight": weight, "podAffinityTerm": object.Map{
			"labelSelector": object.Map{"matchLabels": object.Strings(queuePods)}, "topologyKey": topology,
		}}
	}
	const node, zone = 100, 50
	out := object.Map{"podAntiAffinity": object.Map{"preferredDuringSchedulingIgnoredDuringExecution": object.List{
		apart(node, corev1.LabelHostname), apart(zone, corev1.LabelTopologyZone),
	}}}
	var expressions object.List
	for _, k := range slices.Sorted(maps.Keys(selector)) {
		expressions = append(expressions, object.Map{"key": k, "operator": "In", "values": object.List{string(selector[k])}})
	}
	if expressions != nil {
		out["nodeAffinity"] = object.Map{"requiredDuringSchedulingIgnoredDuringExecution": object.Map{
			"nodeSelectorTerms": object.List{object.Map{"matchExpressions": expressions}},
		}}
	}
	return out
}

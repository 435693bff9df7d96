package controlplane

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// rabbitMQName is the name of the RabbitmqCluster.
const rabbitMQName = "rabbitmq"

// messaging composes RabbitMQ.
func messaging(m *model) ([]compose.Stage, error) {
	if !m.runsQueue() {
		return m.externalMessaging(), nil
	}
	image, err := m.thirdPartyImage(release.RabbitMQ)
	if err != nil {
		return nil, err
	}
	c := m.cluster(image)
	return []compose.Stage{
		{{Name: "messaging-certificate", Object: c.Certificate()}},
		{
			{Name: messagingResource, Object: c.Object(), Retain: true},
			{Name: "messaging-disruption-budget", Object: c.DisruptionBudget()},
		},
	}, nil
}

// cluster returns the RabbitMQ settings with an image.
func (m *model) cluster(image string) rabbitmq.Cluster {
	r := m.spec.Infrastructure.RabbitMQ
	return rabbitmq.Cluster{
		Name: rabbitMQName, Meta: m.meta, PullSecrets: m.images.PullSecrets, Exposure: r.Exposure, Hosts: m.queueHosts(),
		QueueServer: common.QueueServer{
			Members: common.Members{
				Replicas: m.queue.replicas, StorageSize: m.queue.storage, StorageClass: common.ObjectName(m.queue.class),
				Resources: m.queueResources(), Placement: r.Placement, Image: image,
			},
			Config: m.serverOptions.queue, IssuerRef: m.queueIssuer(), ClusterDomain: common.Hostname(m.clusterDomain()),
		},
	}
}

func (m *model) queueResources() *common.Resources {
	return merge.Overlay(m.spec.Infrastructure.RabbitMQ.Resources, m.size.messagingResources)
}

// queueIssuer returns the issuer of the queue's certificate: the platform's issuer for queues, whose CA the topology operator trusts. The
// operator does not trust the control plane's own CA, and reads its trusted CAs only at start.
func (m *model) queueIssuer() common.IssuerReference {
	if m.platform.QueueIssuer == "" {
		return m.issuer()
	}
	return common.IssuerReference{Name: m.platform.QueueIssuer, Kind: "ClusterIssuer"}
}

func (m *model) queueHost() string { return rabbitmq.ClusterHost(rabbitMQName, m.instance) }

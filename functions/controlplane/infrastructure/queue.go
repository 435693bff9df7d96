package infrastructure

import (
	"errors"
	"net"
	"strconv"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// queueConnection is the name of that Secret and of the resource that creates it.
const queueConnection = rabbitMQName + "-connection"

// ExternalQueueHosts are the allowed hosts of external queues.
var ExternalQueueHosts = bounds.NewHostList("queueHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.QueueHosts) })

// ExternalQueueReferences returns both addresses of an external queue.
func ExternalQueueReferences(path string, q controlplanev1.ExternalQueue) []bounds.ExternalReference {
	if q.Host == "" {
		return nil
	}
	at := func(field string, port int32) bounds.ExternalReference {
		return bounds.ExternalReference{List: &ExternalQueueHosts, Field: path + field, Value: net.JoinHostPort(q.Host, strconv.Itoa(int(port)))}
	}
	out := []bounds.ExternalReference{at(".host", q.Port)}
	if q.ManagementPort != q.Port {
		out = append(out, at(".managementPort", q.ManagementPort))
	}
	return out
}

// externalMessaging composes the credentials of the topology operator and the CA certificate for clients. They are separate copies of the
// tenant's Secret: pods and hypervisors read the CA certificate from a Secret without a password.
func (inf *Infrastructure) externalMessaging() []compose.Stage {
	q := inf.Spec.Infrastructure.RabbitMQ.External
	e := rabbitmq.External{
		Host: q.Host, ManagementPort: q.ManagementPort, User: q.User,
		Password: inf.sourceOf(q.PasswordSecretRef.Name), PasswordKey: string(q.PasswordSecretRef.Key),
	}
	return []compose.Stage{{
		{
			Name: "messaging-connection", Object: e.Connection(inf.Meta(queueConnection)), After: inf.copied(&q.PasswordSecretRef),
		},
		inf.authority("messaging-authority", rabbitmq.TLSSecret(rabbitMQName), q.CASecretRef),
	}}
}

// externalQueueSpec returns the message queue settings of a service with an external queue.
func (inf *Infrastructure) externalQueueSpec() common.Queue {
	q := inf.Spec.Infrastructure.RabbitMQ.External
	return common.Queue{
		Broker: common.Broker{ConnectionSecretRef: claim.LocalReference(queueConnection)}, SharedAs: common.ObjectName(inf.Instance),
		Host: q.Host, Port: q.Port, CASecretRef: queueAuthority(),
	}
}

// queueAuthority references the CA certificate of the queue, whether external or not.
func queueAuthority() common.SecretKeyReference {
	return common.SecretKeyReference{Name: common.ObjectName(rabbitmq.TLSSecret(rabbitMQName)), Key: certificate.CAKey}
}

// rabbitMQName is the name of the RabbitmqCluster.
const rabbitMQName = "rabbitmq"

// ComposeMessaging composes RabbitMQ.
func (inf *Infrastructure) ComposeMessaging() ([]compose.Stage, error) {
	if !inf.RunsQueue() {
		return inf.externalMessaging(), nil
	}
	image, err := inf.thirdPartyImage(release.RabbitMQ)
	if err != nil {
		return nil, err
	}
	return openstack.QueueServer(MessagingResource, inf.Cluster(image)), nil
}

// Cluster returns the RabbitMQ settings with an image.
func (inf *Infrastructure) Cluster(image string) rabbitmq.Cluster {
	r := inf.Spec.Infrastructure.RabbitMQ
	running, _ := inf.Observed.Get(MessagingResource)
	return rabbitmq.Cluster{
		Name: rabbitMQName, Meta: inf.Meta, PullSecrets: inf.Images.PullSecrets, Exposure: r.Exposure, Hosts: inf.queueHosts(),
		Running: running.String("spec", "image"),
		QueueServer: common.QueueServer{
			Members: common.Members{
				Replicas: inf.queue.replicas, StorageSize: inf.queue.storage, StorageClass: common.ObjectName(inf.queue.class),
				Resources: inf.queueResources(), Placement: r.Placement, Image: image,
			},
			Config: inf.serverOptions.queue, IssuerRef: inf.queueIssuer(), ClusterDomain: common.Hostname(inf.ClusterDomain()),
			IPFamily: inf.queue.family, MemberTLS: inf.queue.tls,
		},
	}
}

// queueResources returns the resources of a member of RabbitMQ: of the claim and of its size.
func (inf *Infrastructure) queueResources() *common.Resources {
	return merge.Overlay(inf.Spec.Infrastructure.RabbitMQ.Resources, inf.Size.MessagingResources)
}

// queueIssuer returns the issuer of the queue's certificate: the platform's issuer for queues, whose CA the topology operator trusts. The
// operator does not trust the control plane's own CA, and reads its trusted CAs only at start.
func (inf *Infrastructure) queueIssuer() common.IssuerReference {
	if inf.Platform.QueueIssuer == "" {
		return inf.Issuer()
	}
	return common.IssuerReference{Name: inf.Platform.QueueIssuer, Kind: "ClusterIssuer"}
}

// StreamLimit returns the largest size of a stream, in bytes. 0: the queue is external.
func (inf *Infrastructure) StreamLimit() int64 {
	if !inf.RunsQueue() {
		return 0
	}
	return rabbitmq.StreamLimit(inf.queue.storage)
}

func (inf *Infrastructure) queueHost() string {
	return rabbitmq.ClusterHost(rabbitMQName, inf.Instance)
}

// QueueSpec returns the message queue settings of a service.
func (inf *Infrastructure) QueueSpec() common.Queue {
	if inf.Spec.Infrastructure.RabbitMQ.External != nil {
		return inf.externalQueueSpec()
	}
	return common.Queue{
		Broker:      common.Broker{RabbitMQRef: claim.LocalReference(rabbitMQName)},
		Host:        inf.queueHost(),
		Port:        common.QueuePort,
		CASecretRef: queueAuthority(),
	}
}

// CheckQueueSettings returns an error for settings of RabbitMQ without an effect. RabbitMQ sizes itself by its memory limit, which the
// pod also requests.
func (inf *Infrastructure) CheckQueueSettings() error {
	r := inf.Spec.Infrastructure.RabbitMQ
	err := CheckNotExposed("spec.infrastructure.rabbitmq.exposure", r.Exposure)
	requests := ptr.Deref(r.Resources, common.Resources{}).Requests
	limits := ptr.Deref(inf.queueResources(), common.Resources{}).Limits
	if requests == nil || requests.Memory == nil || limits == nil || limits.Memory == nil || requests.Memory.Cmp(*limits.Memory) == 0 {
		return err
	}
	return errors.Join(err, invalid.Field("spec.infrastructure.rabbitmq.resources.requests.memory",
		"must equal the memory limit, which is %s: RabbitMQ uses memory by its limit; remove it, or set limits.memory", limits.Memory))
}

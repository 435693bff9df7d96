package controlplane

import (
	"cmp"
	"net"
	"strconv"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// A queue that somebody else runs is what one of our own is for services: a host, and an authority under the same name. RabbitMQ's topology
// operator makes their virtual hosts and users there, too, and finds it by a Secret in place of a RabbitmqCluster.

// queueConnection is that Secret, and the resource that makes it.
const queueConnection = rabbitMQName + "-connection"

// externalQueueHosts are hosts of queues that exist elsewhere.
var externalQueueHosts = allowList{"queueHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.QueueHosts) }, limit.Hosts}

// externalQueueReferences are both addresses of it.
func externalQueueReferences(path string, q controlplanev1.ExternalQueue) []externalReference {
	if q.Host == "" {
		return nil
	}
	at := func(field string, port int32) externalReference {
		return externalReference{&externalQueueHosts, path + field, net.JoinHostPort(q.Host, strconv.Itoa(int(port)))}
	}
	out := []externalReference{at(".host", queuePort(&q))}
	if managementPort(&q) != queuePort(&q) {
		out = append(out, at(".managementPort", managementPort(&q)))
	}
	return out
}

func queuePort(q *controlplanev1.ExternalQueue) int32 { return cmp.Or(q.Port, common.QueuePort) }

func managementPort(q *controlplanev1.ExternalQueue) int32 {
	return cmp.Or(q.ManagementPort, controlplanev1.QueueManagementPort)
}

// externalMessaging is how it is administrated, and how clients verify it. Of the tenant's Secret neither has more than it needs: pods and
// hypervisors read the authority where no password is.
func (m *model) externalMessaging() []compose.Stage {
	q := m.spec.Infrastructure.RabbitMQ.External
	e := rabbitmq.External{
		Host: q.Host, ManagementPort: managementPort(q), User: q.User,
		Password: m.sourceOf(q.PasswordSecretRef.Name), PasswordKey: string(q.PasswordSecretRef.Key),
	}
	return []compose.Stage{{
		{
			Name: "messaging-connection", Object: e.Connection(m.meta(queueConnection)), After: m.copied(&q.PasswordSecretRef),
		},
		m.authority("messaging-authority", rabbitmq.TLSSecret(rabbitMQName), q.CASecretRef),
	}}
}

// externalQueueSpec is what a service is told of it.
func (m *model) externalQueueSpec() common.Queue {
	q := m.spec.Infrastructure.RabbitMQ.External
	return common.Queue{
		Broker: common.Broker{ConnectionSecretRef: local(queueConnection)}, SharedAs: common.ObjectName(m.instance),
		Host: q.Host, Port: queuePort(q), CASecretRef: queueAuthority(),
	}
}

// queueAuthority is where the authority of the queue's certificate is, whoever runs it.
func queueAuthority() common.SecretKeyReference {
	return common.SecretKeyReference{Name: common.ObjectName(rabbitmq.TLSSecret(rabbitMQName)), Key: certificate.CAKey}
}

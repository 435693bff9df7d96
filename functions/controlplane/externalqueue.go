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

// Services use an external queue like the control plane's own: a host, and a CA certificate in a Secret of the same name. RabbitMQ's
// topology operator creates virtual hosts and users there, too, and finds it by a connection Secret instead of a RabbitmqCluster.

// queueConnection is the name of that Secret and of the resource that creates it.
const queueConnection = rabbitMQName + "-connection"

// externalQueueHosts are the allowed hosts of external queues.
var externalQueueHosts = allowList{"queueHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.QueueHosts) }, limit.Hosts}

// externalQueueReferences returns both addresses of an external queue.
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

// externalMessaging composes the credentials of the topology operator and the CA certificate for clients. They are separate copies of the
// tenant's Secret: pods and hypervisors read the CA certificate from a Secret without a password.
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

// externalQueueSpec returns the message queue settings of a service with an external queue.
func (m *model) externalQueueSpec() common.Queue {
	q := m.spec.Infrastructure.RabbitMQ.External
	return common.Queue{
		Broker: common.Broker{ConnectionSecretRef: local(queueConnection)}, SharedAs: common.ObjectName(m.instance),
		Host: q.Host, Port: queuePort(q), CASecretRef: queueAuthority(),
	}
}

// queueAuthority references the CA certificate of the queue, whether external or not.
func queueAuthority() common.SecretKeyReference {
	return common.SecretKeyReference{Name: common.ObjectName(rabbitmq.TLSSecret(rabbitMQName)), Key: certificate.CAKey}
}

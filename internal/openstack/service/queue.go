package service

import (
	corev1 "k8s.io/api/core/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// Environment variables with the queue user, which changes together with its password.
const (
	queueUserEnv     = "QUEUE_USERNAME"
	queuePasswordEnv = "QUEUE_PASSWORD"
)

// transportURL is the variable with the address of the queue.
var transportURL = oslo.MustEnvName("DEFAULT", "transport_url")

// queueOptions must be the same for all programs that share a virtual host: quorum queues, which survive the loss of a
// member, also for replies, and streams for fanout messages, which require a prefetch count. Notifications are disabled,
// because they have no consumer and would accumulate. https://docs.openstack.org/oslo.messaging/latest/admin/rabbit.html
var queueOptions = oslo.Config{
	"oslo_messaging_rabbit": {
		"rabbit_quorum_queue":           true,
		"rabbit_transient_quorum_queue": true,
		"use_queue_manager":             true,
		"rabbit_stream_fanout":          true,
		"rabbit_qos_prefetch_count":     10,
	},
	"oslo_messaging_notifications": {"driver": "noop"},
}

// QueueOptions returns the queue options of a program in a release. The program is a service, or shares a virtual host with
// one, such as a program on a hypervisor.
//
// By default, oslo.messaging accepts any certificate of the CA, for any host name. The CA of an external queue may issue
// certificates for others, too, so the host name is verified. The option is not set in releases that always verify the host
// name, which removed or deprecate it, or that support neither.
func QueueOptions(q *common.Queue, app string, r release.Release) oslo.Config {
	const group, byName = "oslo_messaging_rabbit", "ssl_enforce_hostname_verification"
	out := oslo.Config{}.Merge(queueOptions)
	if known, err := registry.For(app, string(r)); err == nil && q != nil && q.SharedAs != "" {
		if found := known.Lookup(group, byName); len(found) > 0 && found[0].Removal == nil {
			out[group][byName] = true
		}
	}
	return out
}

func (b *Base) queueSecret() string { return QueueSecret(b.Name) }

// QueueSecret returns the name of the Secret with a service's queue user, for other programs that use its virtual host.
func QueueSecret(name string) string { return name + "-queue" }

// queueEnv returns the environment variables with the URL and the user of the virtual host.
func (b *Base) queueEnv() []corev1.EnvVar {
	q := b.Spec.Queue
	url := rabbitmq.Transport{
		UserVar: queueUserEnv, PasswordVar: queuePasswordEnv, Hosts: []string{q.Host}, Port: q.Port, Vhost: q.VirtualHost(b.user()),
		CAFile: b.Path(queueCA, string(q.CASecretRef.Key)),
	}.URL()
	return []corev1.EnvVar{
		workload.SecretEnv(queueUserEnv, b.queueSecret(), secret.UsernameKey),
		workload.SecretEnv(queuePasswordEnv, b.queueSecret(), secret.PasswordKey),
		{Name: transportURL, Value: url},
	}
}

// processName returns the environment variable with the process name, which is part of queue names in addition to the pod
// name. Two processes with the same name on the same host would receive each other's replies.
func (b *Base) processName(process string) corev1.EnvVar {
	return corev1.EnvVar{Name: oslo.MustEnvName("oslo_messaging_rabbit", "processname"), Value: b.Sub(process)}
}

// QueueServer returns the stages of a queue: its certificates and the other given objects, and then the queue. The authority of members
// that connect with TLS is retained with the queue. The names of resources start with the prefix.
func QueueServer(prefix string, c rabbitmq.Cluster, others ...compose.Resource) []compose.Stage {
	var stages []compose.Stage
	before := append(compose.Stage{{Name: prefix + "-certificate", Object: c.Certificate()}}, others...)
	if c.MemberTLS {
		members := prefix + "-members"
		stages = append(stages,
			compose.Stage{{Name: members + "-self-signed", Object: c.MembersSelfSigned()}},
			compose.Stage{{Name: members + "-ca", Object: c.MembersAuthority(), Retain: true}},
			compose.Stage{{Name: members + "-issuer", Object: c.MembersIssuer()}},
		)
		before = append(before, compose.Resource{Name: members + "-certificate", Object: c.MembersCertificate()})
	}
	return append(stages, before, compose.Stage{
		{Name: prefix, Object: c.Object(), Retain: true},
		{Name: prefix + "-disruption-budget", Object: c.DisruptionBudget()},
	})
}

// buildQueueAccount builds the virtual host on the message queue and its user, which is replaced regularly. Messages are data
// while their receiving pods are stopped, so the virtual host is retained. The user is not data, but it is retained as
// well: external clients that are connected continue to use it until the service is created again.
func buildQueueAccount[M Instance](m M) ([]compose.Stage, error) {
	s := m.Embedded()
	retained := s.Spec.DeletionPolicy != common.DeletionPolicyDelete
	q := s.Spec.Queue
	vhost := rabbitmq.Account{
		Meta: s.Meta(ObjectName(s.user())), Vhost: q.VirtualHost(s.user()), Broker: q.Broker, DeleteData: !retained,
	}
	own := c5c3v1.QueuePermission{Broker: q.Broker, Vhost: q.VirtualHost(s.user())}
	user := &c5c3v1.QueueUser{
		Permissions: append([]c5c3v1.QueuePermission{own}, s.extension.Access.VirtualHosts...), DeletionPolicy: common.DeletionPolicyRetain,
	}
	if !retained {
		user.DeletionPolicy = common.DeletionPolicyDelete
	}
	credential := s.rotation(s.queueSecret(), s.Spec.Identity.CredentialRotation, c5c3v1.CredentialRotationSpec{
		Target: "QueueUser", Queue: user, Consumers: consumersOf(s.Consumers()),
	})
	stages := []compose.Stage{{
		{Name: "queue-vhost", Object: vhost.VirtualHost(), Retain: true},
		{Name: "queue-credential", Object: credential},
	}}
	if s.Spec.StreamBytes > 0 {
		// Pods wait for the policy: the segments of an existing stream keep their size.
		stages = append(stages, compose.Stage{{Name: "queue-streams", Object: vhost.StreamPolicy(s.Spec.StreamBytes)}})
	}
	return stages, nil
}

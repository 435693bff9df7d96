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

// Environment variables with the user of the queue, which changes with its password.
const (
	queueUserEnv     = "QUEUE_USERNAME"
	queuePasswordEnv = "QUEUE_PASSWORD"
)

// queueOptions are those of the message queue, of which all that share a virtual host have to have the same: queues that outlive the loss
// of a member, also those of answers, and streams for what goes to everybody, which want a prefetch count. Nobody takes notifications,
// which would only pile up. https://docs.openstack.org/oslo.messaging/latest/admin/rabbit.html
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

// QueueOptions are those of a program of a release that uses a queue: of a service, or of what shares a virtual host with one, such as what
// runs on a hypervisor.
//
// Without being told, oslo.messaging takes any certificate of the authority, whatever its name: of somebody else's, others may have some,
// too. Releases that always look at the name have the option no more, or on its way out, and some have neither.
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

func (s *Service) queueSecret() string { return QueueSecret(s.Name) }

// QueueSecret is the Secret of a service of a name with its user of the message queue, for what else talks to it there.
func QueueSecret(name string) string { return name + "-queue" }

// queueEnv is how a pod reaches the virtual host.
func (s *Service) queueEnv() []corev1.EnvVar {
	q := s.Spec.Queue
	url := rabbitmq.Transport{
		UserVar: queueUserEnv, PasswordVar: queuePasswordEnv, Hosts: []string{q.Host}, Port: q.Port, Vhost: q.VirtualHost(s.user()),
		CAFile: s.Path(queueCA, string(q.CASecretRef.Key)),
	}.URL()
	return []corev1.EnvVar{
		workload.SecretEnv(queueUserEnv, s.queueSecret(), secret.UsernameKey),
		workload.SecretEnv(queuePasswordEnv, s.queueSecret(), secret.PasswordKey),
		{Name: oslo.MustEnvName("DEFAULT", "transport_url"), Value: url},
	}
}

// processName is what the queues of a process are called besides its pod: two processes of one name on one host would take each other's
// answers.
func (s *Service) processName(process string) corev1.EnvVar {
	return corev1.EnvVar{Name: oslo.MustEnvName("oslo_messaging_rabbit", "processname"), Value: s.Sub(process)}
}

// QueueAccount is the virtual host on the shared message queue, and the user there, which is another one regularly. Messages are data while
// the pods that they are for are away. A user is none, but who is connected elsewhere goes on with it, until the service is ordered again.
func QueueAccount[M Instance](m M) ([]compose.Stage, error) {
	s := m.Base()
	retained := s.Spec.DeletionPolicy != common.DeletionPolicyDelete
	q := s.Spec.Queue
	vhost := rabbitmq.Account{
		Meta: s.Meta(ObjectName(s.user())), Vhost: q.VirtualHost(s.user()), Broker: q.Broker, DeleteData: !retained,
	}
	own := c5c3v1.QueuePermission{Broker: q.Broker, Vhost: q.VirtualHost(s.user())}
	user := &c5c3v1.QueueUser{
		Permissions: append([]c5c3v1.QueuePermission{own}, s.Vhosts...), DeletionPolicy: common.DeletionPolicyRetain,
	}
	if !retained {
		user.DeletionPolicy = common.DeletionPolicyDelete
	}
	credential := s.rotation(s.queueSecret(), s.Spec.Identity.CredentialRotation, c5c3v1.CredentialRotationSpec{
		Target: "QueueUser", Queue: user, Consumers: consumersOf(s.Consumers()),
	})
	return []compose.Stage{{
		{Name: "queue-vhost", Object: vhost.VirtualHost(), Retain: true},
		{Name: "queue-credential", Object: credential},
	}}, nil
}

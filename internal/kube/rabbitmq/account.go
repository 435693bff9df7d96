// Package rabbitmq builds objects of RabbitMQ's operators: clusters, the virtual hosts of services, and the users that the companion
// creates.
//
// The messaging topology operator connects to the management API of the queue. If that requires TLS, the operator must trust its
// certificate, but it trusts only the authorities in its image (https://www.rabbitmq.com/kubernetes/operator/tls-topology-operator).
package rabbitmq

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/quantity"
)

// Group and Version of the operator's API.
const (
	Group   = "rabbitmq.com"
	Version = "v1beta1"
)

const apiVersion = Group + "/" + Version

// allNames is a permission expression that matches the names of all queues and exchanges.
const allNames = ".*"

// Account is a virtual host on a queue, and a user with all permissions in it and none in other virtual hosts.
type Account struct {
	// Meta of the objects.
	Meta object.Meta
	// Broker is the queue, as an object of the same namespace.
	Broker common.Broker
	// Vhost is the name of the virtual host, Login the name of the user, if they differ from the name of the objects. They are immutable.
	Vhost, Login string
	// Secret has the username, which is the login, and the password under the keys username and password. It has the labels of Watched.
	Secret string
	// DeleteData: the virtual host and its messages are deleted with the object. Otherwise they are kept.
	DeleteData bool
}

// VirtualHost builds the virtual host. The default queue type is quorum, which survives the loss of a member.
func (a Account) VirtualHost() *unstructured.Unstructured {
	policy := "retain"
	if a.DeleteData {
		policy = "delete"
	}
	return a.object("Vhost", object.Map{"name": a.vhost(), "defaultQueueType": "quorum", "deletionPolicy": policy})
}

// StreamPolicy builds the policy that bounds each stream of the virtual host. oslo.messaging declares its streams, the queues of fan-out
// messages, with an age only, and a policy takes precedence over arguments (rabbit_stream_queue, policy_precedence). RabbitMQ removes whole
// segments and keeps the newest one, so a stream has up to two segments more than max-length-bytes. Up to RabbitMQ 3.11 a policy cannot
// select streams, so it selects the names of the queues.
func (a Account) StreamPolicy(limit int64) *unstructured.Unstructured {
	const segments, removable = 4, 2
	segment := max(1, limit/segments)
	return a.object("Policy", object.Map{
		"name": "streams", "vhost": a.vhost(), "applyTo": "queues", "pattern": "_fanout$",
		"definition": object.Map{"max-length-bytes": removable * segment, "stream-max-segment-size-bytes": segment},
	})
}

// StreamLimit returns the largest size of a stream on a volume, in bytes: a cloud with Neutron's agents and several cells has about 60
// streams, which may fill a quarter of the volume. The rest is for the write-ahead log, the segments of quorum queues and disk_free_limit.
// 0: storage is empty.
func StreamLimit(storage string) int64 {
	const share = 256
	return quantity.Bytes(storage) / share
}

// Watched returns the labels of a Secret with credentials: since 1.20 the operator reads only Secrets with them
// (https://github.com/rabbitmq/messaging-topology-operator/blob/v1.20.1/api/v1beta1/labels.go).
func Watched() object.Map { return object.Map{"rabbitmq.com/topology-operator": "true"} }

// User builds the user. Up to 1.19 the operator reads the Secret only once, and then uses its own Secret, <name>-user-credentials: a
// changed password requires another User. The operator deletes the user with the object, which closes the user's connections.
func (a Account) User() *unstructured.Unstructured {
	return a.object("User", object.Map{"importCredentialsSecret": object.Map{"name": a.Secret}})
}

// Permission builds the permission for everything in the virtual host. The operator retries until both exist.
//
// It refers to the user name and not to the User, because the operator makes a referenced User the controller of the Permission.
func (a Account) Permission() *unstructured.Unstructured {
	return a.object("Permission", object.Map{
		"vhost": a.vhost(),
		"user":  a.login(),
		"permissions": object.Map{
			"configure": allNames, "read": allNames, "write": allNames,
		},
	})
}

func (a Account) object(kind string, spec object.Map) *unstructured.Unstructured {
	spec[brokerReference] = reference(a.Broker)
	return object.New(apiVersion, kind, a.Meta, spec)
}

func (a Account) vhost() string { return cmp.Or(a.Vhost, a.Meta.Name) }
func (a Account) login() string { return cmp.Or(a.Login, a.Meta.Name) }

// Package rabbitmq makes objects of RabbitMQ's messaging topology operator: a service's virtual host, and the users that the companion
// makes.
//
// The operator speaks to the queue's management API. Where that listens with TLS only, the operator has to trust its certificate, and
// knows no authorities but those of its own image (https://www.rabbitmq.com/kubernetes/operator/tls-topology-operator).
package rabbitmq

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Group and Version of the operator's API.
const (
	Group   = "rabbitmq.com"
	Version = "v1beta1"
)

const apiVersion = Group + "/" + Version

// everything is the expression of a permission that matches the name of every queue and exchange.
const everything = ".*"

// Account is a virtual host on a queue, and a user that may do everything in it and nothing elsewhere.
type Account struct {
	// Meta of the objects.
	Meta object.Meta
	// Broker is the queue, as an object of the same namespace.
	Broker common.Broker
	// Vhost is the name of the virtual host, Login that of the user, where they are not that of the objects. They never change.
	Vhost, Login string
	// Secret holds the credentials under the keys username, which is the login, and password. It has the labels of Watched.
	Secret string
	// DeleteData: the virtual host and its messages are deleted with the object. Otherwise they stay.
	DeleteData bool
}

// VirtualHost makes the virtual host. A queue that is declared in it without a type is one that outlives the loss of a member.
func (a Account) VirtualHost() *unstructured.Unstructured {
	policy := "retain"
	if a.DeleteData {
		policy = "delete"
	}
	return a.object("Vhost", object.Map{"name": a.vhost(), "defaultQueueType": "quorum", "deletionPolicy": policy})
}

// Watched are the labels of a Secret with credentials: since 1.20 the operator finds no other
// (https://github.com/rabbitmq/messaging-topology-operator/blob/v1.20.1/api/v1beta1/labels.go).
func Watched() object.Map { return object.Map{"rabbitmq.com/topology-operator": "true"} }

// User makes the user. Up to 1.19 the operator reads the Secret once, and then keeps a Secret of its own, <name>-user-credentials: a
// password that is changed later reaches the queue by another User only. It deletes the user with the object, which ends its connections.
func (a Account) User() *unstructured.Unstructured {
	return a.object("User", object.Map{"importCredentialsSecret": object.Map{"name": a.Secret}})
}

// Permission gives the user everything in the virtual host. Until both exist, the operator tries again.
//
// It names the user and not the User: of the latter the operator makes the User the one controller.
func (a Account) Permission() *unstructured.Unstructured {
	return a.object("Permission", object.Map{
		"vhost": a.vhost(),
		"user":  a.login(),
		"permissions": object.Map{
			"configure": everything, "read": everything, "write": everything,
		},
	})
}

func (a Account) object(kind string, spec object.Map) *unstructured.Unstructured {
	spec[brokerReference] = reference(a.Broker)
	return object.New(apiVersion, kind, a.Meta, spec)
}

func (a Account) vhost() string { return cmp.Or(a.Vhost, a.Meta.Name) }
func (a Account) login() string { return cmp.Or(a.Login, a.Meta.Name) }

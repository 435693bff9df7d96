package rabbitmq

import (
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

// brokerReference is the field in which every object of the operator refers to its broker. It is immutable.
const brokerReference = "rabbitmqClusterReference"

// reference returns the reference to a broker: a RabbitmqCluster, or the Secret with the administrator of an external broker. Both are in
// the namespace of the object
// (https://github.com/rabbitmq/messaging-topology-operator/blob/v1.20.1/rabbitmqclient/cluster_reference.go).
func reference(b common.Broker) object.Map {
	if name := string(b.ConnectionSecretRef.Name); name != "" {
		return object.Map{"connectionSecret": object.Map{"name": name}}
	}
	return object.Map{"name": string(b.RabbitMQRef.Name)}
}

// BrokerOf returns the broker that an object of the operator refers to.
func BrokerOf(u *unstructured.Unstructured) (b common.Broker) {
	cluster, _, _ := unstructured.NestedString(u.Object, "spec", brokerReference, "name")
	connection, _, _ := unstructured.NestedString(u.Object, "spec", brokerReference, "connectionSecret", "name")
	b.RabbitMQRef.Name, b.ConnectionSecretRef.Name = common.ObjectName(cluster), common.ObjectName(connection)
	return b
}

// External is an externally managed broker.
type External struct {
	// Host and ManagementPort are the address of its management API, with https.
	Host           string
	ManagementPort int32
	// User is its administrator; Password contains the password under PasswordKey.
	User        string
	Password    secret.Source
	PasswordKey string
}

// Connection builds the Secret that objects of the operator refer to. It is kept after its owner is deleted: without it, the operator
// can neither delete anything nor release its objects.
func (e External) Connection(meta object.Meta) *unstructured.Unstructured {
	return secret.Composed(meta, e.Password, Watched(), object.Map{
		"uri":              "https://" + net.JoinHostPort(e.Host, strconv.Itoa(int(e.ManagementPort))),
		secret.UsernameKey: e.User,
		secret.PasswordKey: "{{ .password }}",
	}, object.Map{secret.PasswordKey: e.PasswordKey})
}

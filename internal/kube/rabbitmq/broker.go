package rabbitmq

import (
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

// brokerReference is the field in which every object of the operator's names its broker. It never changes.
const brokerReference = "rabbitmqClusterReference"

// reference is how the operator is told of a broker: by a RabbitmqCluster of its sister's, or by the Secret with which it administrates
// one that somebody else runs. Either is in the object's own namespace
// (https://github.com/rabbitmq/messaging-topology-operator/blob/v1.20.1/rabbitmqclient/cluster_reference.go).
func reference(b common.Broker) object.Map {
	if name := string(b.ConnectionSecretRef.Name); name != "" {
		return object.Map{"connectionSecret": object.Map{"name": name}}
	}
	return object.Map{"name": string(b.RabbitMQRef.Name)}
}

// BrokerOf is the broker that an object of the operator's names.
func BrokerOf(u *unstructured.Unstructured) (b common.Broker) {
	cluster, _, _ := unstructured.NestedString(u.Object, "spec", brokerReference, "name")
	connection, _, _ := unstructured.NestedString(u.Object, "spec", brokerReference, "connectionSecret", "name")
	b.RabbitMQRef.Name, b.ConnectionSecretRef.Name = common.ObjectName(cluster), common.ObjectName(connection)
	return b
}

// External is a broker that somebody else runs.
type External struct {
	// Host and ManagementPort are where its management API is, by https.
	Host           string
	ManagementPort int32
	// User administrates it, with the password that a source holds under a key.
	User        string
	Password    secret.Source
	PasswordKey string
}

// Connection makes the Secret that objects name to be made there. It outlives what makes it: without it, the operator deletes nothing, and
// lets none of its objects go.
func (e External) Connection(meta object.Meta) *unstructured.Unstructured {
	return secret.Composed(meta, e.Password, Watched(), object.Map{
		"uri":              "https://" + net.JoinHostPort(e.Host, strconv.Itoa(int(e.ManagementPort))),
		secret.UsernameKey: e.User,
		secret.PasswordKey: "{{ .password }}",
	}, object.Map{secret.PasswordKey: e.PasswordKey})
}

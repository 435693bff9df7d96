package v1alpha1

import "cmp"

// QueuePort is that of a message queue whose reference names none: AMQP over TLS.
const QueuePort = 5671

// Broker is a message queue, as those who make virtual hosts and users there are told of it. Exactly one field is set.
type Broker struct { //nolint:recvcheck // What is generated takes a pointer, and a sentence a value.
	// RabbitmqCluster object in the same namespace.
	// +optional
	RabbitMQRef LocalReference `json:"rabbitMQRef,omitzero"`
	// Secret in the same namespace with the keys uri, username and password: how a queue that somebody else runs is administrated.
	// +optional
	ConnectionSecretRef LocalReference `json:"connectionSecretRef,omitzero"`
}

// Name is that of the object.
func (b Broker) Name() string { return string(cmp.Or(b.RabbitMQRef.Name, b.ConnectionSecretRef.Name)) }

// String is what the broker is called in a sentence.
func (b Broker) String() string {
	if b.ConnectionSecretRef.Name != "" {
		return "the RabbitMQ of Secret " + b.Name()
	}
	return "RabbitmqCluster " + b.Name()
}

// Queue is the message queue of a service. The service has a virtual host and a user of its own there.
// +kubebuilder:validation:XValidation:rule="has(self.rabbitMQRef) != has(self.connectionSecretRef)",message="a queue is a RabbitmqCluster, or one that somebody else runs; name one of rabbitMQRef and connectionSecretRef"
type Queue struct {
	Broker `json:",inline"`
	// Somebody else runs the queue, and others may use it, too: the control plane's own name, with which the names end of virtual hosts there.
	// Absent: the queue is its own.
	// +optional
	SharedAs ObjectName `json:"sharedAs,omitempty"`
	// Host name that clients connect to.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`
	// Port, with TLS.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=5671
	// +optional
	Port int32 `json:"port,omitempty"`
	// Secret key that holds the authority of the queue's certificate.
	CASecretRef SecretKeyReference `json:"caSecretRef"`
}

// VirtualHost is what a virtual host is called there: by its own name, or, where others have some of the same name, by one that is nobody
// else's. RabbitMQ's operator takes over what has the name that it looks for, and deletes it in the end.
func (q *Queue) VirtualHost(name string) string {
	if q.SharedAs == "" {
		return name
	}
	return name + "-" + string(q.SharedAs)
}

package v1alpha1

import "cmp"

// QueuePort is the port of a message queue whose reference does not set one: AMQP over TLS.
const QueuePort = 5671

// Broker refers to a message queue, for the creation of virtual hosts and users. Exactly one field is set.
type Broker struct { //nolint:recvcheck // Generated methods have a pointer receiver, String has a value receiver.
	// RabbitmqCluster object in the same namespace.
	// +optional
	RabbitMQRef LocalReference `json:"rabbitMQRef,omitzero"`
	// Secret in the same namespace with the keys uri, username and password: the administrator of an external queue.
	// +optional
	ConnectionSecretRef LocalReference `json:"connectionSecretRef,omitzero"`
}

// Name returns the name of the referenced object.
func (b Broker) Name() string { return string(cmp.Or(b.RabbitMQRef.Name, b.ConnectionSecretRef.Name)) }

// String returns a description of the broker for messages.
func (b Broker) String() string {
	if b.ConnectionSecretRef.Name != "" {
		return "the RabbitMQ of Secret " + b.Name()
	}
	return "RabbitmqCluster " + b.Name()
}

// Queue is the message queue of a service, in which the service has its own virtual host and user.
// +kubebuilder:validation:XValidation:rule="has(self.rabbitMQRef) != has(self.connectionSecretRef)",message="set exactly one of rabbitMQRef and connectionSecretRef"
type Queue struct {
	Broker `json:",inline"`
	// Suffix of the names of virtual hosts on an external, possibly shared, queue: the name of the control plane. Empty if the queue belongs
	// to the control plane.
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
	// Secret key with the authority of the queue's certificate.
	CASecretRef SecretKeyReference `json:"caSecretRef"`
}

// VirtualHost returns the name of a virtual host on the queue: the given name or, on a shared queue, the name with the suffix of the
// control plane. RabbitMQ's operator adopts an existing virtual host of the same name, and deletes it with its own object.
func (q *Queue) VirtualHost(name string) string {
	if q.SharedAs == "" {
		return name
	}
	return name + "-" + string(q.SharedAs)
}

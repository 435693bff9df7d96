package v1alpha1

// QueuePort is that of a message queue whose reference names none: AMQP over TLS.
const QueuePort = 5671

// Queue is the message queue of a service. The service has a virtual host and a user of its own there.
type Queue struct {
	// RabbitmqCluster object in the workload namespace.
	RabbitMQRef LocalReference `json:"rabbitMQRef"`
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

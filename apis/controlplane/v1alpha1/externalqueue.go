package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// ExternalQueue is a RabbitMQ outside of the control plane. Its operator is responsible for its version, members and availability. The
// control plane only creates virtual hosts and users of the services in it: see docs/external-queue.md.
type ExternalQueue struct {
	// Host that services, and the operator of virtual hosts and users, connect to: queue.example.com.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`
	// +kubebuilder:example="queue.example.com"
	Host string `json:"host"`
	// Port of AMQP over TLS.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=5671
	// +optional
	Port int32 `json:"port,omitempty"`
	// Port of the management API, by https.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=15671
	// +optional
	ManagementPort int32 `json:"managementPort,omitempty"`
	// Secret key with the authority of its certificate, in the claim's namespace.
	CASecretRef common.SecretKeyReference `json:"caSecretRef"`
	// Name of a user of the queue with the tag administrator.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._@-]*$`
	// +kubebuilder:example="cloud-admin"
	User string `json:"user"`
	// Secret key with the user's password, in the claim's namespace.
	PasswordSecretRef common.SecretKeyReference `json:"passwordSecretRef"`
}

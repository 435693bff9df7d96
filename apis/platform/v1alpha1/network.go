package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Network lists the namespaces that may connect to the pods of control planes in their cluster. Network policies deny all others.
type Network struct {
	// Namespaces of mariadb-operator. Defaults to mariadb-operator.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	MariaDBOperator []common.NamespaceName `json:"mariadbOperator,omitempty"`
	// Namespaces of RabbitMQ's two operators. Defaults to rabbitmq-system.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	RabbitMQOperators []common.NamespaceName `json:"rabbitmqOperators,omitempty"`
	// Namespaces of Prometheus. Defaults to monitoring.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	Monitoring []common.NamespaceName `json:"monitoring,omitempty"`
	// Ports of the API server for pods: the endpoints of the Service kubernetes. Defaults to 443 and 6443.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=65535
	// +listType=set
	// +optional
	APIServerPorts []int32 `json:"apiServerPorts,omitempty"`
}

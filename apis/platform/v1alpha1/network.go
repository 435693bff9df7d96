package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Network says who reaches the pods of control planes from other namespaces of their cluster. Network policies deny everybody else.
type Network struct {
	// Namespaces of mariadb-operator. Absent: mariadb-operator.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	MariaDBOperator []common.NamespaceName `json:"mariadbOperator,omitempty"`
	// Namespaces of RabbitMQ's two operators. Absent: rabbitmq-system.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	RabbitMQOperators []common.NamespaceName `json:"rabbitmqOperators,omitempty"`
	// Namespaces of Prometheus. Absent: monitoring.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	Monitoring []common.NamespaceName `json:"monitoring,omitempty"`
	// Ports of the API server, as pods reach it: behind the Service kubernetes. Absent: 443 and 6443.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=65535
	// +listType=set
	// +optional
	APIServerPorts []int32 `json:"apiServerPorts,omitempty"`
}

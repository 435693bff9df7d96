package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// ThirdPartyImages are the images that are not part of OpenStack. An unset image is the default of its operator, from images.registry if
// that is set. An image that is set does not change when the operator is upgraded.
type ThirdPartyImages struct {
	// MariaDB. The installed mariadb-operator must support it.
	// +optional
	MariaDB *common.InfrastructureImage `json:"mariadb,omitempty"`
	// Exporter of MariaDB's metrics (mysqld_exporter).
	// +optional
	MariaDBExporter *common.InfrastructureImage `json:"mariadbExporter,omitempty"`
	// MaxScale.
	// +optional
	MaxScale *common.InfrastructureImage `json:"maxScale,omitempty"`
	// Exporter of MaxScale's metrics.
	// +optional
	MaxScaleExporter *common.InfrastructureImage `json:"maxScaleExporter,omitempty"`
	// RabbitMQ, with its management plugin.
	// +optional
	RabbitMQ *common.InfrastructureImage `json:"rabbitmq,omitempty"`
	// Ceph. The installed Rook must support it. Another version is an upgrade, which Rook performs daemon by daemon; it cannot be undone.
	// +optional
	Ceph *common.InfrastructureImage `json:"ceph,omitempty"`
	// Hypervisor operator of pools of hypervisors. Its CRDs must be installed in the cluster of their nodes.
	// +optional
	HypervisorOperator *common.InfrastructureImage `json:"hypervisorOperator,omitempty"`
	// KVM node agent of pools of hypervisors.
	// +optional
	KVMNodeAgent *common.InfrastructureImage `json:"kvmNodeAgent,omitempty"`
	// Labels injector of pools of hypervisors.
	// +optional
	LabelsInjector *common.InfrastructureImage `json:"labelsInjector,omitempty"`
	// Memcached, for claims that do not set an image.
	// +optional
	Memcached *common.InfrastructureImage `json:"memcached,omitempty"`
}

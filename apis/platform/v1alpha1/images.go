package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// ThirdPartyImages are the images of what is not OpenStack's. An image that is absent is the one that its operator runs by default, from
// images.registry where that is set. One that is named stays when the operator is upgraded.
type ThirdPartyImages struct {
	// MariaDB, which has to be one that the installed mariadb-operator supports.
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
	// Ceph, which has to be one that the installed Rook supports. Another version is an upgrade, which Rook makes daemon by daemon; it
	// cannot be undone.
	// +optional
	Ceph *common.InfrastructureImage `json:"ceph,omitempty"`
	// Hypervisor operator of pools of hypervisors, whose CRDs have to be installed in the cluster of their nodes.
	// +optional
	HypervisorOperator *common.InfrastructureImage `json:"hypervisorOperator,omitempty"`
	// KVM node agent of pools of hypervisors.
	// +optional
	KVMNodeAgent *common.InfrastructureImage `json:"kvmNodeAgent,omitempty"`
	// Labels injector of pools of hypervisors.
	// +optional
	LabelsInjector *common.InfrastructureImage `json:"labelsInjector,omitempty"`
	// Memcached, where a claim names none.
	// +optional
	Memcached *common.InfrastructureImage `json:"memcached,omitempty"`
}

package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Rook is the namespace and the service account of Rook's operator, which gets permissions in the namespace of each Ceph cluster.
type Rook struct {
	// Namespace of the operator.
	// +kubebuilder:default=rook-ceph
	// +optional
	Namespace common.NamespaceName `json:"namespace,omitempty"`
	// Service account of the operator.
	// +kubebuilder:default=rook-ceph-system
	// +optional
	ServiceAccount common.ObjectName `json:"serviceAccount,omitempty"`
	// CSI drivers of Ceph, which must run in every cluster with Ceph clusters. They are required for StorageClasses of pools in claims; every
	// user who may create a PersistentVolumeClaim in the cluster can use these classes. If unset, there are no drivers.
	// +optional
	CSI *RookCSI `json:"csi,omitempty"`
}

// RookCSI are the CSI drivers of Ceph.
type RookCSI struct {
	// Prefix of the names of drivers, before .rbd.csi.ceph.com: since Rook 1.20 the prefix of the names of its Drivers, before that
	// CSI_DRIVER_NAME_PREFIX. Defaults to the namespace of the operator.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	DriverNamePrefix string `json:"driverNamePrefix,omitempty"`
}

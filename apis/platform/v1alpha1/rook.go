package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Rook is where Rook's operator runs, and as whom: it gets rights in the namespace of each Ceph cluster.
type Rook struct {
	// Namespace of the operator.
	// +kubebuilder:default=rook-ceph
	// +optional
	Namespace common.NamespaceName `json:"namespace,omitempty"`
	// Service account of the operator.
	// +kubebuilder:default=rook-ceph-system
	// +optional
	ServiceAccount common.ObjectName `json:"serviceAccount,omitempty"`
	// CSI drivers of Ceph, which run wherever there are Ceph clusters. With them claims may have StorageClasses of pools; whoever may
	// make a PersistentVolumeClaim there may use these. Absent: there are no drivers.
	// +optional
	CSI *RookCSI `json:"csi,omitempty"`
}

// RookCSI are the CSI drivers of Ceph.
type RookCSI struct {
	// What names of drivers begin with, before .rbd.csi.ceph.com: from Rook 1.20 on what their Drivers are called, before that what
	// CSI_DRIVER_NAME_PREFIX says. Absent: the namespace of the operator.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	DriverNamePrefix string `json:"driverNamePrefix,omitempty"`
}

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
}

package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// NFS are servers of NFS, 4.1 and later. They export no file system until Ceph's administrator creates exports.
type NFS struct {
	// Name of the servers, for the creation of exports.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Number of servers, each with its own address. With network.host, each requires a separate node, and one more node is required: a server
	// is replaced by a new one that starts before the old one stops.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	// +kubebuilder:default=1
	// +optional
	Servers int32 `json:"servers,omitempty"`
	// Resources of each server. Rook also applies them to its D-Bus sidecar. Defaults to 1Gi of memory.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// NFSStatus is the connection data for clients of NFS.
type NFSStatus struct {
	// Name of the servers.
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`
	// Host names of the servers inside the cluster, with port 2049.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Servers []common.Hostname `json:"servers,omitempty"`
}

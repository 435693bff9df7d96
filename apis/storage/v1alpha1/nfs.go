package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// NFS are servers of NFS, 4.1 and later. They serve nothing until Ceph's administrator exports file systems by them.
type NFS struct {
	// Name of the servers, by which file systems are exported.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Servers, each of which has an address of its own. With network.host each has a node for itself, and there is one node more than servers:
	// one is replaced by another that runs before it ends.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	// +kubebuilder:default=1
	// +optional
	Servers int32 `json:"servers,omitempty"`
	// Resources of each server, which Rook gives to the bus of messages beside it as well. Absent: 1Gi of memory.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// NFSStatus is what clients of NFS need to know.
type NFSStatus struct {
	// Name of the servers.
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`
	// Host names of the servers inside the cluster, at port 2049.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Servers []common.Hostname `json:"servers,omitempty"`
}

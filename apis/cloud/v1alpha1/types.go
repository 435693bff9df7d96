package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
)

// An OpenStackCluster is a complete cloud: a control plane, pools of hypervisors and storage. Each part is described inline, or is an
// existing claim that several clouds can share.
//
// The type describes both the claim and the composite resource (XOpenStackCluster) that Crossplane creates for it.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=cobaltcore
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.spec.openStackRelease`
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
// +kubebuilder:printcolumn:name="Identity",type=string,JSONPath=`.status.endpoints[?(@.service=='keystone')].public`,priority=1
type OpenStackCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec OpenStackClusterSpec `json:"spec"`
	// Observed state.
	// +optional
	Status OpenStackClusterStatus `json:"status,omitempty"`
}

// OpenStackClusterSpec is the desired state of a cloud.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.storage) || has(self.storage)",message="storage cannot be removed while the cloud exists: its data would become unreachable; restore the previous value"
// +kubebuilder:validation:XValidation:rule="has(self.openStackRelease) == has(self.controlPlane.spec)",message="openStackRelease is required with controlPlane.spec, and cannot be set with controlPlane.ref: that control plane has its own release",fieldPath=".openStackRelease"
type OpenStackClusterSpec struct {
	// OpenStack release of all services. It is required if controlPlane has a spec.
	// +kubebuilder:validation:Enum="2025.1";"2025.2";"2026.1";"2026.2"
	// +optional
	OpenStackRelease string `json:"openStackRelease,omitempty"`
	// Size of the control plane: default numbers of replicas, memory and volume sizes.
	// +kubebuilder:validation:Enum=development;small;medium;large
	// +kubebuilder:default=small
	// +optional
	Size string `json:"size,omitempty"`
	// Control plane of the cloud.
	ControlPlane ControlPlane `json:"controlPlane"`
	// Storage of the cloud. Defaults to none: images, volumes and disks are stored elsewhere.
	// +optional
	Storage *Storage `json:"storage,omitempty"`
	// Pools of hypervisors.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	HypervisorPools []HypervisorPool `json:"hypervisorPools,omitempty"`
}

// ControlPlane is the control plane of a cloud.
// +kubebuilder:validation:XValidation:rule="has(self.spec) != has(self.ref)",message="set exactly one of spec (a new control plane) and ref (an existing one)"
// +kubebuilder:validation:XValidation:rule="has(self.ref) == has(oldSelf.ref) && (!has(self.ref) || self.ref == oldSelf.ref)",message="a control plane cannot be replaced by another one: its hypervisors belong to it; create another OpenStackCluster"
type ControlPlane struct {
	// Existing control plane. It must allow the claim's namespace.
	// +optional
	Ref *common.ClaimReference `json:"ref,omitempty"`
	// Spec of a ControlPlaneCluster, without openStackRelease and size. Pools of a StorageCluster default to the cloud's storage.
	// +optional
	Spec *controlplanev1.ControlPlaneClusterSpec `json:"spec,omitempty"`
}

// Storage is the storage of a cloud.
// +kubebuilder:validation:XValidation:rule="has(self.spec) != has(self.ref)",message="set exactly one of spec (a new StorageCluster) and ref (an existing one)"
// +kubebuilder:validation:XValidation:rule="has(self.ref) == has(oldSelf.ref) && (!has(self.ref) || self.ref == oldSelf.ref)",message="storage cannot be replaced by other storage: data cannot be moved; create another OpenStackCluster"
type Storage struct {
	// Existing StorageCluster. It must allow the claim's namespace.
	// +optional
	Ref *common.ClaimReference `json:"ref,omitempty"`
	// Spec of a StorageCluster.
	// +optional
	Spec *storagev1.StorageClusterSpec `json:"spec,omitempty"`
}

// HypervisorPool is a pool of hypervisors of a cloud.
// +kubebuilder:validation:XValidation:rule="has(self.spec) != has(self.ref)",message="set exactly one of spec (a new pool) and ref (an existing one)"
// +kubebuilder:validation:XValidation:rule="has(self.ref) == has(oldSelf.ref) && (!has(self.ref) || self.ref == oldSelf.ref)",message="a pool cannot be replaced by another one: add the other pool with another name"
type HypervisorPool struct {
	// Name of the pool in the cloud. With spec, it is the last part of the name of the HypervisorCluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self != 'storage'",message="storage is the name of the cloud's StorageCluster; choose another name"
	Name string `json:"name"`
	// Existing HypervisorCluster, whose controlPlaneRef must be the control plane of the cloud.
	// +optional
	Ref *common.ClaimReference `json:"ref,omitempty"`
	// Spec of a HypervisorCluster, without controlPlaneRef. Storage defaults to the cloud's.
	// +optional
	Spec *hypervisorv1.HypervisorClusterSpec `json:"spec,omitempty"`
}

// OpenStackClusterStatus is the observed state of a cloud.
type OpenStackClusterStatus struct {
	common.CloudStatus `json:",inline"`
	// Current release of the control plane.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	Release string `json:"release,omitempty"`
	// Addresses of the APIs.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=service
	// +optional
	Endpoints []common.Endpoint `json:"endpoints,omitempty"`
	// Claims of the cloud.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Parts []PartStatus `json:"parts,omitempty"`
}

// PartStatus is the state of a claim of the cloud.
type PartStatus struct {
	// Name of the part: storage, control-plane, or pool- and the name of a pool.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Kind of the claim.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Namespace and name of the claim.
	ClaimRef common.ClaimReference `json:"claimRef"`
	// Phase of the claim. Unset: nothing is composed for it yet, or it does not exist.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Phase string `json:"phase,omitempty"`
	// True: everything of the claim is ready. A claim of the cloud itself also has the last edit of it.
	Ready *bool `json:"ready"`
	// True: the claim has the last edit of the cloud, so that its deletion follows that edit. Always true for a claim that does not exist yet,
	// and for an existing claim, which is not deleted with the cloud.
	Applied *bool `json:"applied"`
	// Reason why the claim is not ready.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

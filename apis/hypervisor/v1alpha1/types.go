package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
)

// A HypervisorCluster is a pool of nodes that run the virtual machines of one control plane, with libvirt, Open vSwitch, OVN, nova-compute
// and other agents.
//
// The type describes both the claim and the composite resource (XHypervisorCluster) that Crossplane creates for it.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=cobaltcore
// +kubebuilder:printcolumn:name="Control plane",type=string,JSONPath=`.spec.controlPlaneRef.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodeCount`
// +kubebuilder:printcolumn:name="Ready nodes",type=integer,JSONPath=`.status.readyNodes`
// +kubebuilder:printcolumn:name="Virtual machines",type=integer,JSONPath=`.status.virtualMachines`
// +kubebuilder:printcolumn:name="Available VCPU",type=integer,JSONPath=`.status.availableVCPU`,priority=1
// +kubebuilder:printcolumn:name="Available memory",type=string,JSONPath=`.status.availableMemory`,priority=1
type HypervisorCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec HypervisorClusterSpec `json:"spec"`
	// Observed state.
	// +optional
	Status HypervisorClusterStatus `json:"status,omitempty"`
}

// HypervisorClusterSpec is the desired state of a pool of hypervisors.
// +kubebuilder:validation:XValidation:rule="has(self.cluster) == has(oldSelf.cluster)",message="cluster cannot be added or removed: servers cannot be moved between clusters; delete the claim and create it again"
// +kubebuilder:validation:XValidation:rule="self.controlPlaneRef == oldSelf.controlPlaneRef",message="controlPlaneRef is immutable: the servers of the hypervisors belong to that control plane; restore the previous value"
// +kubebuilder:validation:XValidation:rule="self.cell == oldSelf.cell",message="cell is immutable: servers are recorded in the cell's database; restore the previous value"
// +kubebuilder:validation:XValidation:rule="has(self.storage) == has(oldSelf.storage)",message="storage cannot be added or removed: disks of servers cannot be moved; create another HypervisorCluster"
type HypervisorClusterSpec struct {
	// Control plane of the virtual machines.
	ControlPlaneRef common.ClaimReference `json:"controlPlaneRef"`
	// Cell of that control plane's Nova.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*$`
	// +kubebuilder:default=cell1
	// +optional
	Cell string `json:"cell,omitempty"`
	// Kubernetes cluster of the nodes. Defaults to the management cluster.
	// +optional
	Cluster *common.Cluster `json:"cluster,omitempty"`
	// Region of the nodes (label topology.kubernetes.io/region). Defaults to all regions.
	// +optional
	Region Zone `json:"region,omitempty"`
	// Availability zone of the virtual machines on these nodes, and of routers whose gateways are here. Defaults to nova, the zone of hosts
	// without a zone.
	// +kubebuilder:validation:XValidation:rule="self != 'internal'",message="internal is the zone of Nova's own processes; choose another name"
	// +optional
	AvailabilityZone Zone `json:"availabilityZone,omitempty"`
	// Labels of the nodes of the pool. Defaults to node-role.kubernetes.io/hypervisor, with an empty value.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	NodeSelector map[string]common.LabelValue `json:"nodeSelector,omitempty"`
	// Taints of the nodes that the pods tolerate.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Tolerations []common.Toleration `json:"tolerations,omitempty"`
	Node        `json:",inline"`
	// Groups of nodes with a different configuration. A node belongs to at most one slice.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Slices []Slice `json:"slices,omitempty"`
	// Percentage of the nodes of a DaemonSet that may be unavailable, rounded up: it is ready on the others, and a rollout replaces the pods
	// of that many nodes at a time. At least one node must be available.
	// +kubebuilder:validation:Pattern=`^([1-9]|[1-4][0-9]|50)%$`
	// +kubebuilder:validation:MaxLength=3
	// +kubebuilder:default="5%"
	// +optional
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
	// Hypervisor software.
	// +kubebuilder:default={}
	// +optional
	Virtualization Virtualization `json:"virtualization,omitempty"`
	// Network connections of nodes.
	// +optional
	Networks *Networks `json:"networks,omitempty"`
	// Pool of a StorageCluster for disks of virtual machines. If the StorageCluster has consumers, it is the pool of the control plane.
	// Defaults to the node's own disk.
	// +optional
	Storage *common.StoragePool `json:"storage,omitempty"`
	// Daemons on each node.
	// +optional
	Agents *Agents `json:"agents,omitempty"`
	// Onboarding and offboarding of nodes.
	// +optional
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`
	// Registry and pull secrets of images. Defaults to the platform's. For images on nodes, the list hypervisorRegistries of limits applies.
	// +optional
	Images *common.Images `json:"images,omitempty"`
	// Disable the pool's account in Keystone: its nodes cannot log in any more, and their tokens are revoked. Other pools are not affected.
	// Virtual machines keep running.
	// +optional
	DisableAccount bool `json:"disableAccount,omitempty"`
	// Allow deletion of the claim while virtual machines are on its nodes, or while their number is unknown. They keep running without
	// management and, with a userspace datapath, without a network.
	// +kubebuilder:default=false
	// +optional
	AllowDeletionWithVirtualMachines bool `json:"allowDeletionWithVirtualMachines"`
}

// Zone is the name of a region or a zone.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
type Zone string

// Slice is a group of nodes of the pool. Unset fields have the values of the pool.
type Slice struct {
	// Name of the slice.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Labels of the nodes of the slice, in addition to the labels of the pool.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	NodeSelector map[string]common.LabelValue `json:"nodeSelector"`
	// Availability zone of the slice.
	// +kubebuilder:validation:XValidation:rule="self != 'internal'",message="internal is the zone of Nova's own processes; choose another name"
	// +optional
	AvailabilityZone Zone `json:"availabilityZone,omitempty"`
	Node             `json:",inline"`
	// Network connections of nodes of the slice.
	// +optional
	Networks *Networks `json:"networks,omitempty"`
}

// HypervisorClusterStatus is the observed state of a pool of hypervisors.
type HypervisorClusterStatus struct {
	common.CloudStatus `json:",inline"`
	// Prefix of the names of all objects of this pool, and the namespace of its workloads.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Instance string `json:"instance,omitempty"`
	// Last known state of the control plane.
	// +optional
	ControlPlane *KnownControlPlane `json:"controlPlane,omitempty"`
	// Last known connection to the storage pool.
	// +optional
	Storage *common.StorageClient `json:"storage,omitempty"`
	// Number of nodes.
	// +optional
	NodeCount *int32 `json:"nodeCount,omitempty"`
	// Number of nodes that accept virtual machines.
	// +optional
	ReadyNodes *int32 `json:"readyNodes,omitempty"`
	// Free virtual CPUs, including overcommitment. This and the following values are the last ones from Nova and Placement, for nodes that
	// report and are not disabled; they are kept while the services do not respond.
	// +optional
	AvailableVCPU *int64 `json:"availableVCPU,omitempty"`
	// Virtual CPUs, including overcommitment.
	// +optional
	TotalVCPU *int64 `json:"totalVCPU,omitempty"`
	// Free memory, including overcommitment.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	AvailableMemory *resource.Quantity `json:"availableMemory,omitempty"`
	// Memory, including overcommitment.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	TotalMemory *resource.Quantity `json:"totalMemory,omitempty"`
	// Virtual machines on all nodes, including nodes that are down, running or not.
	// +optional
	VirtualMachines *int64 `json:"virtualMachines,omitempty"`
}

// KnownControlPlane is the last known state of the control plane of a pool.
type KnownControlPlane struct {
	// Namespace of its workloads.
	// +kubebuilder:validation:MaxLength=63
	Instance string `json:"instance"`
	// Name of the platform for the cluster of its workloads. Unset: the management cluster.
	// +optional
	Cluster common.ObjectName `json:"cluster,omitempty"`
	// Release of the control plane, and therefore of the pool.
	// +kubebuilder:validation:MaxLength=15
	Release string `json:"release"`
	// Connection data of the pool's cell, with the addresses that the pool uses.
	Access controlplanev1.HypervisorAccess `json:"access"`
}

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
)

// A HypervisorCluster is a pool of nodes that run the virtual machines of one control plane: libvirt, Open vSwitch, OVN,
// nova-compute and the agents around them.
//
// The type describes both the claim and the composite resource (XHypervisorCluster) that Crossplane makes of it.
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
// +kubebuilder:validation:XValidation:rule="has(self.cluster) == has(oldSelf.cluster)",message="cluster cannot be set or removed: virtual machines do not move between clusters; delete the claim and claim it elsewhere"
// +kubebuilder:validation:XValidation:rule="self.controlPlaneRef == oldSelf.controlPlaneRef",message="controlPlaneRef cannot be changed: the hypervisors' virtual machines belong to that control plane"
// +kubebuilder:validation:XValidation:rule="self.cell == oldSelf.cell",message="cell cannot be changed: virtual machines are recorded in the cell's database"
// +kubebuilder:validation:XValidation:rule="has(self.storage) == has(oldSelf.storage)",message="storage cannot be set or removed: disks of virtual machines do not move; make another pool of hypervisors beside this one"
type HypervisorClusterSpec struct {
	// Control plane whose virtual machines run here.
	ControlPlaneRef common.ClaimReference `json:"controlPlaneRef"`
	// Cell of that control plane's Nova.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*$`
	// +kubebuilder:default=cell1
	// +optional
	Cell string `json:"cell,omitempty"`
	// Kubernetes cluster that the nodes belong to. Absent: the management cluster itself.
	// +optional
	Cluster *common.Cluster `json:"cluster,omitempty"`
	// Take only nodes of this region (label topology.kubernetes.io/region). Absent: of every region.
	// +optional
	Region Zone `json:"region,omitempty"`
	// Availability zone that people order virtual machines of these nodes in, and routers whose gateways are here. Absent: that which is
	// nobody's, nova.
	// +kubebuilder:validation:XValidation:rule="self != 'internal'",message="internal is the zone of Nova's own processes; choose another name"
	// +optional
	AvailabilityZone Zone `json:"availabilityZone,omitempty"`
	// Labels that a node of the pool carries. Absent: node-role.kubernetes.io/hypervisor, with an empty value.
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
	// Groups of nodes that differ from the rest of the pool. A node belongs to one slice at most.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Slices []Slice `json:"slices,omitempty"`
	// What runs virtual machines.
	// +kubebuilder:default={}
	// +optional
	Virtualization Virtualization `json:"virtualization,omitempty"`
	// How nodes are connected.
	// +optional
	Networks *Networks `json:"networks,omitempty"`
	// Pool of a StorageCluster that disks of virtual machines are kept in. Where the StorageCluster has consumers, it is that of the control
	// plane. Absent: the node's own disk.
	// +optional
	Storage *common.StoragePool `json:"storage,omitempty"`
	// What runs on each node.
	// +optional
	Agents *Agents `json:"agents,omitempty"`
	// How nodes enter and leave service.
	// +optional
	Lifecycle *Lifecycle `json:"lifecycle,omitempty"`
	// Where images come from. Absent: as the platform says. Of images of nodes, limits have hypervisorRegistries.
	// +optional
	Images *common.Images `json:"images,omitempty"`
	// Namespaces whose claims may use the pool, besides the claim's own; * stands for any run of characters.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	AllowedNamespaces []common.NamespacePattern `json:"allowedNamespaces,omitempty"`
	// What happens to virtual machines' disks and of the state that agents keep on the nodes when the claim is deleted. Retain leaves them
	// on the nodes, Delete removes them for good.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	// Let the claim be deleted while virtual machines are on its nodes, or while nobody knows whether there are any. They go on without
	// anybody who looks after them, and without a network where the switch is in userspace.
	// +kubebuilder:default=false
	// +optional
	AllowDeletionWithVirtualMachines bool `json:"allowDeletionWithVirtualMachines"`
}

// Zone is the name of a region or a zone.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
type Zone string

// Slice is a group of nodes of the pool. What it leaves out is as the pool says.
type Slice struct {
	// Name of the slice.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Labels that a node of the slice carries, besides those of the pool.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	NodeSelector map[string]common.LabelValue `json:"nodeSelector"`
	// Availability zone of the slice.
	// +kubebuilder:validation:XValidation:rule="self != 'internal'",message="internal is the zone of Nova's own processes; choose another name"
	// +optional
	AvailabilityZone Zone `json:"availabilityZone,omitempty"`
	Node             `json:",inline"`
	// How nodes of the slice are connected.
	// +optional
	Networks *Networks `json:"networks,omitempty"`
}

// HypervisorClusterStatus is the observed state of a pool of hypervisors.
type HypervisorClusterStatus struct {
	common.CloudStatus `json:",inline"`
	// Name of everything that belongs to this pool: the namespace of its workloads.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Instance string `json:"instance,omitempty"`
	// What is known of the control plane. It holds while the control plane says nothing.
	// +optional
	ControlPlane *KnownControlPlane `json:"controlPlane,omitempty"`
	// How the storage pool is reached. It holds while its cluster says nothing.
	// +optional
	Storage *common.StorageClient `json:"storage,omitempty"`
	// Number of nodes.
	// +optional
	NodeCount *int32 `json:"nodeCount,omitempty"`
	// Number of nodes that can take virtual machines.
	// +optional
	ReadyNodes *int32 `json:"readyNodes,omitempty"`
	// Virtual CPUs that virtual machines can still get, over-commitment included. This and the following is what Nova and Placement said when
	// they were last asked, of nodes that report and are not disabled; it holds while they do not answer.
	// +optional
	AvailableVCPU *int64 `json:"availableVCPU,omitempty"`
	// Virtual CPUs, over-commitment included.
	// +optional
	TotalVCPU *int64 `json:"totalVCPU,omitempty"`
	// Memory that virtual machines can still get, over-commitment included.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	AvailableMemory *resource.Quantity `json:"availableMemory,omitempty"`
	// Memory that virtual machines can get, over-commitment included.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	TotalMemory *resource.Quantity `json:"totalMemory,omitempty"`
	// Virtual machines on all nodes, those that are down included, whether they run or not.
	// +optional
	VirtualMachines *int64 `json:"virtualMachines,omitempty"`
}

// KnownControlPlane is what a pool knows of its control plane.
type KnownControlPlane struct {
	// Namespace of its workloads.
	// +kubebuilder:validation:MaxLength=63
	Instance string `json:"instance"`
	// Cluster of the platform's that its workloads run in. Absent: the management cluster.
	// +optional
	Cluster common.ObjectName `json:"cluster,omitempty"`
	// Release that it runs, and so the pool.
	// +kubebuilder:validation:MaxLength=15
	Release string `json:"release"`
	// Where things are, of the pool's cell alone, as the pool reaches them.
	Access controlplanev1.HypervisorAccess `json:"access"`
}

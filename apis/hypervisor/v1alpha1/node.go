package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Node is what nodes offer to virtual machines.
type Node struct {
	// Processors.
	// +optional
	CPU *CPU `json:"cpu,omitempty"`
	// Memory.
	// +optional
	Memory *Memory `json:"memory,omitempty"`
	// Huge pages that virtual machines can be given: flavors ask for them by hw:mem_page_size. The nodes' operating system has to provide
	// them. Absent: none, or with libvirt of the node (virtualization.libvirt.mode Host) all that there are.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=size
	// +optional
	HugePages []HugePages `json:"hugePages,omitempty"`
	// PCI devices that are passed through to virtual machines.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	PCIDevices []PCIDevice `json:"pciDevices,omitempty"`
	// Host aggregates that the nodes are put into, besides that of the availability zone. They are made where they are missing.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Aggregates []Aggregate `json:"aggregates,omitempty"`
	// Traits that the nodes announce to Placement, which flavors ask for. One that is taken out stays there until somebody removes it.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	Traits []Trait `json:"traits,omitempty"`
}

// CPU says which processors virtual machines see and how they share them.
// +kubebuilder:validation:XValidation:rule="(has(self.mode) && self.mode == 'custom') == has(self.models)",message="models belongs to mode custom: name at least one model with it and none with another mode"
// +kubebuilder:validation:XValidation:rule="!has(self.allocationRatio) || !has(self.dedicatedSet) || has(self.sharedSet)",message="allocationRatio holds for shared processors only: name them in sharedSet beside dedicatedSet, or leave allocationRatio out"
type CPU struct {
	// Processor that virtual machines see: host-passthrough is the node's own (they can move to equal nodes only), host-model
	// the nearest model that libvirt knows, custom one of models, maximum all that emulation can do.
	// +kubebuilder:validation:Enum=host-model;host-passthrough;custom;maximum
	// +optional
	Mode string `json:"mode,omitempty"`
	// Names of processor models as libvirt knows them, the least capable one first: Nova takes the first that has what a flavor asks for.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Models []CPUModel `json:"models,omitempty"`
	// Virtual processors for each shared one: 4, or "1.5" in quotes.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^[0-9]{1,3}(\.[0-9]{1,2})?$`
	// +kubebuilder:validation:XValidation:rule="double(string(self)) > 0.0 && double(string(self)) <= 128.0",message="must be more than 0 and at most 128"
	// +optional
	AllocationRatio *intstr.IntOrString `json:"allocationRatio,omitempty"`
	// Processors that are given to one virtual machine each: 4-31,^16.
	// +optional
	DedicatedSet CPUSet `json:"dedicatedSet,omitempty"`
	// Processors that virtual machines share: 2,3. Absent: all, or none where there is a dedicatedSet.
	// +optional
	SharedSet CPUSet `json:"sharedSet,omitempty"`
}

// CPUModel is the name of a processor model in libvirt, such as Cascadelake-Server or EPYC-Rome.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
type CPUModel string

// CPUSet is a list of processor numbers and ranges, in which ^ takes a number or a range out again: 2-10,^4.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
// +kubebuilder:validation:Pattern=`^\^?[0-9]{1,4}(-[0-9]{1,4})?(,\^?[0-9]{1,4}(-[0-9]{1,4})?)*$`
type CPUSet string

// Memory says how virtual machines share a node's memory.
type Memory struct {
	// Memory promised to virtual machines for each byte there is: 1, or "1.5" in quotes.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^[0-9]{1,3}(\.[0-9]{1,2})?$`
	// +kubebuilder:validation:XValidation:rule="double(string(self)) > 0.0 && double(string(self)) <= 128.0",message="must be more than 0 and at most 128"
	// +optional
	AllocationRatio *intstr.IntOrString `json:"allocationRatio,omitempty"`
	// Memory of each node that servers do not get: 16Gi. Defaults to what pods of the pool request on the node, and 2Gi.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="!isQuantity(string(self)) || !quantity(string(self)).isLessThan(quantity('1Mi'))",message="must be at least 1Mi; add the unit: 512Mi, not 512 or 512m"
	// +optional
	Reserved *resource.Quantity `json:"reserved,omitempty"`
}

// HugePages is a number of huge pages.
type HugePages struct {
	// Size of a page.
	// +kubebuilder:validation:Enum="2Mi";"1Gi"
	Size string `json:"size"`
	// Pages of each node that virtual machines can be given. A node with fewer has no libvirt.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	Count int32 `json:"count"`
}

// PCIDevice is a kind of device that is passed through to virtual machines. Flavors ask for it by name, and ports for one of a physical
// network.
// +kubebuilder:validation:XValidation:rule="has(self.interface) == has(self.physicalNetwork)",message="give interface and physicalNetwork together: they say which network card leads to which network"
// +kubebuilder:validation:XValidation:rule="!has(self.physicalNetwork) || !has(self.deviceType) && !has(self.numaPolicy) && !has(self.resourceClass)",message="leave deviceType, numaPolicy and resourceClass out: they are for flavors, and ports ask for devices of a physicalNetwork"
// +kubebuilder:validation:XValidation:rule="!has(self.address) || has(self.vendorID) || has(self.resourceClass) || has(self.physicalNetwork)",message="give resourceClass: Nova finds devices by it where it is not told vendor and product"
// +kubebuilder:validation:XValidation:rule="has(self.vendorID) == has(self.productID)",message="give vendorID and productID together"
// +kubebuilder:validation:XValidation:rule="has(self.vendorID) || has(self.address)",message="say which devices: give vendorID and productID, or address, or all three"
type PCIDevice struct {
	// Name that flavors ask for (the alias of Nova). With physicalNetwork nobody asks for it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`
	Name string `json:"name"`
	// Vendor, as four hex digits: 10de.
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{4}$`
	// +optional
	VendorID string `json:"vendorID,omitempty"`
	// Product, as four hex digits: 20b5.
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{4}$`
	// +optional
	ProductID string `json:"productID,omitempty"`
	// Address on the node, in which * stands for any part: 0000:3b:00.*.
	// +kubebuilder:validation:MaxLength=14
	// +kubebuilder:validation:Pattern=`^([0-9a-f]{4}|\*):([0-9a-f]{2}|\*):([0-9a-f]{2}|\*)\.([0-7]|\*)$`
	// +optional
	Address string `json:"address,omitempty"`
	// Kind of device: a whole one, a physical function, or a virtual function (SR-IOV).
	// +kubebuilder:validation:Enum=type-PCI;type-PF;type-VF
	// +optional
	DeviceType string `json:"deviceType,omitempty"`
	// How near the device has to be to the virtual machine's processors and memory.
	// +kubebuilder:validation:Enum=required;legacy;preferred;socket
	// +optional
	NUMAPolicy string `json:"numaPolicy,omitempty"`
	// Interface of the node that is a network card with virtual functions (SR-IOV): ens1f0. Of these, and of the card, the devices are those
	// of vendorID and productID, or the ones at address. Neutron's agent of the node configures the virtual functions.
	// +optional
	Interface Interface `json:"interface,omitempty"`
	// Physical network that the interface leads to, one of those in ml2.physicalNetworks of a control plane with ml2.sriov. Ports get the
	// devices, by their kind: openstack port create --vnic-type direct.
	// +optional
	PhysicalNetwork PhysicalNetwork `json:"physicalNetwork,omitempty"`
	// Resource class under which Placement counts the devices. Absent: made of vendor and product.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^CUSTOM_[A-Z0-9_]+$`
	// +optional
	ResourceClass string `json:"resourceClass,omitempty"`
}

// Aggregate is the name of a host aggregate.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=100
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
type Aggregate string

// Trait is a custom trait of Placement.
// +kubebuilder:validation:MinLength=8
// +kubebuilder:validation:MaxLength=255
// +kubebuilder:validation:Pattern=`^CUSTOM_[A-Z0-9_]+$`
type Trait string

// Virtualization says what runs virtual machines.
// +kubebuilder:validation:XValidation:rule="!has(self.liveMigration) || self.libvirt.mode == 'Managed'",message="liveMigration belongs to libvirt.mode Managed: with mode Host the node's operating system says how its libvirt is reached"
// +kubebuilder:validation:XValidation:rule="!has(self.evictOnCordon) || !self.evictOnCordon || self.libvirt.mode == 'Managed'",message="evictOnCordon needs libvirt.mode Managed: with mode Host nobody here knows whether virtual machines move"
type Virtualization struct {
	// kvm: QEMU on the node's virtualization. cloud-hypervisor: Cloud Hypervisor, which no released Nova drives, so that it is refused.
	// qemu: QEMU by emulation, slow, where nodes have no virtualization.
	// +kubebuilder:validation:Enum=kvm;cloud-hypervisor;qemu
	// +kubebuilder:default=kvm
	// +optional
	Driver string `json:"driver,omitempty"`
	// The libvirt daemon.
	// +kubebuilder:default={}
	// +optional
	Libvirt Libvirt `json:"libvirt,omitempty"`
	// How running virtual machines move from node to node.
	// +optional
	LiveMigration *LiveMigration `json:"liveMigration,omitempty"`
	// Empty a node that is cordoned (kubectl cordon, kubectl drain): it gets no new virtual machines, and those that run are live-migrated,
	// one by one. When it is uncordoned it gets new ones again. For this the control plane's companion may read Nodes.
	// +optional
	EvictOnCordon bool `json:"evictOnCordon,omitempty"`
}

// LiveMigration says how running virtual machines move from node to node. Its fields have the names that they have in KubeVirt, where it
// has them.
type LiveMigration struct {
	// Bytes that one migration sends in a second at most: 125Mi. Absent: as many as there is room for.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="!isQuantity(string(self)) || !quantity(string(self)).isLessThan(quantity('1Mi'))",message="must be at least 1Mi; add the unit: 512Mi, not 512 or 512m"
	// +optional
	BandwidthPerMigration *resource.Quantity `json:"bandwidthPerMigration,omitempty"`
	// Migrations that a node sends at once; further ones wait. Absent: 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +optional
	ParallelOutboundMigrationsPerNode *int32 `json:"parallelOutboundMigrationsPerNode,omitempty"`
	// Seconds that a migration may take for each GiB of memory and of disks that move with it, of which two count at least. Absent: 800.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	CompletionTimeoutPerGiB *int32 `json:"completionTimeoutPerGiB,omitempty"`
	// What becomes of a migration that takes longer. Abort: the virtual machine stays where it is. ForceComplete: it waits until it has moved,
	// or, with allowPostCopy, goes on at once on the other node. Absent: Abort.
	// +kubebuilder:validation:Enum=Abort;ForceComplete
	// +optional
	TimeoutAction string `json:"timeoutAction,omitempty"`
	// Milliseconds for which a virtual machine may wait at the end of its migration. Absent: 500.
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=60000
	// +optional
	MaxDowntimeMilliseconds *int32 `json:"maxDowntimeMilliseconds,omitempty"`
	// Slow down a virtual machine that changes its memory faster than it is sent. With allowPostCopy it is never slowed down. Absent: yes.
	// +optional
	AllowAutoConverge *bool `json:"allowAutoConverge,omitempty"`
	// Let a virtual machine run on the other node before all of its memory is there. It is lost if either node fails meanwhile. Nodes need
	// /dev/userfaultfd, which Linux has since 6.1.
	// +optional
	AllowPostCopy bool `json:"allowPostCopy,omitempty"`
}

// Libvirt says where the libvirt daemon comes from.
// +kubebuilder:validation:XValidation:rule="self.mode == 'Managed' || !(has(self.image) || has(self.resources))",message="image and resources belong to mode Managed: with mode Host the node's operating system runs libvirt"
type Libvirt struct {
	// Managed: a pod on each node. Host: a service of the node's operating system.
	// +kubebuilder:validation:Enum=Managed;Host
	// +kubebuilder:default=Managed
	// +optional
	Mode string `json:"mode,omitempty"`
	// Container image, which what tells libvirt keys of volumes runs, too. Absent: the platform's.
	// +optional
	Image *common.InfrastructureImage `json:"image,omitempty"`
	// Resources of the pod.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

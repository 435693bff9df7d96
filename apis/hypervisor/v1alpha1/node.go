package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Node configures the resources of nodes for virtual machines.
type Node struct {
	// Processors.
	// +optional
	CPU *CPU `json:"cpu,omitempty"`
	// Memory.
	// +optional
	Memory *Memory `json:"memory,omitempty"`
	// Huge pages for virtual machines, which flavors request with hw:mem_page_size. The nodes' operating system must provide them. Defaults
	// to none or, with libvirt of the node (virtualization.libvirt.mode Host), to all existing ones.
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
	// Host aggregates of the nodes, in addition to the aggregate of the availability zone. They are created if they do not exist.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Aggregates []Aggregate `json:"aggregates,omitempty"`
	// Traits of the nodes in Placement, which flavors can require. When an entry is removed, the trait stays in Placement until it is removed
	// manually.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	Traits []Trait `json:"traits,omitempty"`
}

// CPU configures the processor model of virtual machines and the sharing of processors.
// +kubebuilder:validation:XValidation:rule="(has(self.mode) && self.mode == 'custom') == has(self.models)",message="models is required with mode custom and cannot be set with another mode"
// +kubebuilder:validation:XValidation:rule="!has(self.allocationRatio) || !has(self.dedicatedSet) || has(self.sharedSet)",message="allocationRatio applies to shared processors only; set sharedSet as well as dedicatedSet, or remove allocationRatio"
type CPU struct {
	// Processor model of virtual machines: host-passthrough is the node's own (migration only to equal nodes), host-model the nearest model
	// in libvirt, custom one of models, maximum all features of emulation.
	// +kubebuilder:validation:Enum=host-model;host-passthrough;custom;maximum
	// +optional
	Mode string `json:"mode,omitempty"`
	// Names of processor models in libvirt, the least capable one first: Nova selects the first one with the features that a flavor requires.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Models []CPUModel `json:"models,omitempty"`
	// Virtual processors for each shared processor: 4, or "1.5" in quotes.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^[0-9]{1,3}(\.[0-9]{1,2})?$`
	// +kubebuilder:validation:XValidation:rule="double(string(self)) > 0.0 && double(string(self)) <= 128.0",message="must be more than 0 and at most 128"
	// +optional
	AllocationRatio *intstr.IntOrString `json:"allocationRatio,omitempty"`
	// Processors that are dedicated to one virtual machine each: 4-31,^16.
	// +optional
	DedicatedSet CPUSet `json:"dedicatedSet,omitempty"`
	// Processors that virtual machines share: 2,3. Defaults to all, or to none with dedicatedSet.
	// +optional
	SharedSet CPUSet `json:"sharedSet,omitempty"`
}

// CPUModel is the name of a processor model in libvirt, such as Cascadelake-Server or EPYC-Rome.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
type CPUModel string

// CPUSet is a list of processor numbers and ranges, from which ^ excludes a number or a range: 2-10,^4.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
// +kubebuilder:validation:Pattern=`^\^?[0-9]{1,4}(-[0-9]{1,4})?(,\^?[0-9]{1,4}(-[0-9]{1,4})?)*$`
type CPUSet string

// Memory configures the memory for virtual machines.
type Memory struct {
	// Virtual memory for each byte of memory: 1, or "1.5" in quotes.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^[0-9]{1,3}(\.[0-9]{1,2})?$`
	// +kubebuilder:validation:XValidation:rule="double(string(self)) > 0.0 && double(string(self)) <= 128.0",message="must be more than 0 and at most 128"
	// +optional
	AllocationRatio *intstr.IntOrString `json:"allocationRatio,omitempty"`
	// Memory of each node that is reserved for the host: 16Gi. Defaults to the memory that pods of the pool request on the node, plus 2Gi.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="string(self).matches('[eE][-+]?[0-9.]') || !isQuantity(string(self)) || !quantity(string(self)).isLessThan(quantity('1Mi'))",message="must be at least 1Mi; add the unit: 512Mi, not 512 or 512m"
	// +optional
	Reserved *resource.Quantity `json:"reserved,omitempty"`
}

// HugePages is a number of huge pages.
type HugePages struct {
	// Size of a page.
	// +kubebuilder:validation:Enum="2Mi";"1Gi"
	Size string `json:"size"`
	// Pages of each node for virtual machines. libvirt does not start on a node with fewer pages.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	Count int32 `json:"count"`
}

// PCIDevice is a kind of device that is passed through to virtual machines. Flavors request it by name; ports request a device of a
// physical network.
// +kubebuilder:validation:XValidation:rule="has(self.interface) == has(self.physicalNetwork)",message="interface and physicalNetwork must be set together"
// +kubebuilder:validation:XValidation:rule="!has(self.physicalNetwork) || !has(self.deviceType) && !has(self.numaPolicy) && !has(self.resourceClass)",message="deviceType, numaPolicy and resourceClass cannot be set together with physicalNetwork: they apply to devices that flavors request"
// +kubebuilder:validation:XValidation:rule="!has(self.address) || has(self.vendorID) || has(self.resourceClass) || has(self.physicalNetwork)",message="resourceClass is required when vendorID and productID are not set"
// +kubebuilder:validation:XValidation:rule="has(self.vendorID) == has(self.productID)",message="vendorID and productID must be set together"
// +kubebuilder:validation:XValidation:rule="has(self.vendorID) || has(self.address)",message="set vendorID and productID, or address, or all three"
type PCIDevice struct {
	// Name in flavors (the alias in Nova). It is not used with physicalNetwork.
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
	// Address on the node, in which * matches any part: 0000:3b:00.*.
	// +kubebuilder:validation:MaxLength=14
	// +kubebuilder:validation:Pattern=`^([0-9a-f]{4}|\*):([0-9a-f]{2}|\*):([0-9a-f]{2}|\*)\.([0-7]|\*)$`
	// +optional
	Address string `json:"address,omitempty"`
	// Kind of device: a whole device, a physical function, or a virtual function (SR-IOV).
	// +kubebuilder:validation:Enum=type-PCI;type-PF;type-VF
	// +optional
	DeviceType string `json:"deviceType,omitempty"`
	// NUMA affinity between the device and the virtual machine's processors and memory.
	// +kubebuilder:validation:Enum=required;legacy;preferred;socket
	// +optional
	NUMAPolicy string `json:"numaPolicy,omitempty"`
	// Interface of the node that is a network card with virtual functions (SR-IOV): ens1f0. The devices are those of the card and its virtual
	// functions that match vendorID and productID, or address. Neutron's agent on the node configures the virtual functions.
	// +optional
	Interface Interface `json:"interface,omitempty"`
	// Physical network of the interface: an entry of ml2.physicalNetworks of a control plane with ml2.sriov. Ports get the devices by their
	// kind: openstack port create --vnic-type direct.
	// +optional
	PhysicalNetwork PhysicalNetwork `json:"physicalNetwork,omitempty"`
	// Resource class of the devices in Placement. Defaults to a name from vendor and product.
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

// Virtualization configures the hypervisor software.
// +kubebuilder:validation:XValidation:rule="!has(self.liveMigration) || self.libvirt.mode == 'Managed'",message="liveMigration requires libvirt.mode Managed; with mode Host, configure the libvirt of the node"
// +kubebuilder:validation:XValidation:rule="!has(self.evictOnCordon) || !self.evictOnCordon || self.libvirt.mode == 'Managed'",message="evictOnCordon requires libvirt.mode Managed; with mode Host it is unknown whether servers can be live-migrated"
type Virtualization struct {
	// Driver. kvm: QEMU with hardware virtualization. cloud-hypervisor: Cloud Hypervisor, which is rejected because no released Nova supports
	// it. qemu: QEMU with emulation, which is slow, for nodes without virtualization.
	// +kubebuilder:validation:Enum=kvm;cloud-hypervisor;qemu
	// +kubebuilder:default=kvm
	// +optional
	Driver string `json:"driver,omitempty"`
	// libvirt daemon.
	// +kubebuilder:default={}
	// +optional
	Libvirt Libvirt `json:"libvirt,omitempty"`
	// Live migration between nodes.
	// +optional
	LiveMigration *LiveMigration `json:"liveMigration,omitempty"`
	// Empty a cordoned node (kubectl cordon, kubectl drain): it gets no new virtual machines, and running ones are live-migrated, one at a
	// time. When it is uncordoned, it gets new ones again. For this, the control plane's companion may read Nodes.
	// +optional
	EvictOnCordon bool `json:"evictOnCordon,omitempty"`
}

// LiveMigration configures live migration between nodes. Fields that exist in KubeVirt have the same names.
type LiveMigration struct {
	// Maximum bandwidth of one migration, in bytes per second: 125Mi. Defaults to unlimited.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="string(self).matches('[eE][-+]?[0-9.]') || !isQuantity(string(self)) || !quantity(string(self)).isLessThan(quantity('1Mi'))",message="must be at least 1Mi; add the unit: 512Mi, not 512 or 512m"
	// +optional
	BandwidthPerMigration *resource.Quantity `json:"bandwidthPerMigration,omitempty"`
	// Maximum number of concurrent outbound migrations of a node; others wait. Defaults to 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +optional
	ParallelOutboundMigrationsPerNode *int32 `json:"parallelOutboundMigrationsPerNode,omitempty"`
	// Maximum duration of a migration for each GiB of memory and of disks that are copied, in seconds. At least 2 GiB count. Defaults to 800.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	CompletionTimeoutPerGiB *int32 `json:"completionTimeoutPerGiB,omitempty"`
	// Action when a migration exceeds this duration. Abort: the virtual machine stays on its node. ForceComplete: it is paused until the
	// migration is complete or, with allowPostCopy, resumed on the other node immediately. Defaults to Abort.
	// +kubebuilder:validation:Enum=Abort;ForceComplete
	// +optional
	TimeoutAction string `json:"timeoutAction,omitempty"`
	// Maximum pause of a virtual machine at the end of its migration, in milliseconds. Defaults to 500.
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=60000
	// +optional
	MaxDowntimeMilliseconds *int32 `json:"maxDowntimeMilliseconds,omitempty"`
	// Slow down a virtual machine that changes its memory faster than it is copied. It has no effect with allowPostCopy. Defaults to true.
	// +optional
	AllowAutoConverge *bool `json:"allowAutoConverge,omitempty"`
	// Let a virtual machine run on the other node before all of its memory is copied. It is lost if either node fails during this time. Nodes
	// require /dev/userfaultfd, which Linux has since 6.1.
	// +optional
	AllowPostCopy bool `json:"allowPostCopy,omitempty"`
}

// Libvirt configures the libvirt daemon.
// +kubebuilder:validation:XValidation:rule="self.mode == 'Managed' || !(has(self.image) || has(self.resources))",message="image and resources require mode Managed: with mode Host, libvirt is part of the node's operating system"
type Libvirt struct {
	// Managed: a pod on each node. Host: a service of the node's operating system.
	// +kubebuilder:validation:Enum=Managed;Host
	// +kubebuilder:default=Managed
	// +optional
	Mode string `json:"mode,omitempty"`
	// Container image, also of the container that adds keys of volumes to libvirt. Defaults to the image of the platform.
	// +optional
	Image *common.InfrastructureImage `json:"image,omitempty"`
	// Resources of the pod.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

package v1alpha1

// A Flavor is a size of virtual machines. Sizes are immutable in Nova, which copies them into each virtual machine; another size requires
// another flavor.
// +kubebuilder:validation:XValidation:rule="self.vcpus == oldSelf.vcpus && self.memoryMiB == oldSelf.memoryMiB && (has(self.diskGiB) ? self.diskGiB : 0) == (has(oldSelf.diskGiB) ? oldSelf.diskGiB : 0) && (has(self.ephemeralGiB) ? self.ephemeralGiB : 0) == (has(oldSelf.ephemeralGiB) ? oldSelf.ephemeralGiB : 0) && (has(self.swapMiB) ? self.swapMiB : 0) == (has(oldSelf.swapMiB) ? oldSelf.swapMiB : 0)",message="the size of a flavor is immutable in Nova; add a flavor with another name and remove this one when it is no longer used"
// +kubebuilder:validation:XValidation:rule="(has(self.id) ? self.id : \"\") == (has(oldSelf.id) ? oldSelf.id : \"\") && (has(self.private) && self.private) == (has(oldSelf.private) && oldSelf.private)",message="id and private of a flavor are immutable in Nova; add a flavor with another name and remove this one when it is no longer used"
// +kubebuilder:validation:XValidation:rule="!has(self.projects) || has(self.private) && self.private",message="projects requires private: true; a public flavor is available to every project"
type Flavor struct {
	// Name of the flavor.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	Name string `json:"name"`
	// ID of the flavor. If unset, Nova generates one.
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +optional
	ID string `json:"id,omitempty"`
	// Description of the flavor.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Description string `json:"description,omitempty"`
	// Virtual cores.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16384
	VCPUs int32 `json:"vcpus"`
	// Memory, in MiB.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1073741824
	MemoryMiB int32 `json:"memoryMiB"`
	// Root disk, in GiB. Defaults to the size of the image, for virtual machines that start from volumes.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1048576
	// +optional
	DiskGiB int32 `json:"diskGiB,omitempty"`
	// Disk for temporary data, in GiB. Defaults to none.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1048576
	// +optional
	EphemeralGiB int32 `json:"ephemeralGiB,omitempty"`
	// Swap, in MiB. Defaults to none.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1073741824
	// +optional
	SwapMiB int32 `json:"swapMiB,omitempty"`
	// Restrict the flavor to some projects.
	// +optional
	Private bool `json:"private,omitempty"`
	// IDs of the projects that may use a private flavor.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_-]+$`
	// +listType=set
	// +optional
	Projects []string `json:"projects,omitempty"`
	// Further requirements on hypervisors, in the form of Nova: hw:cpu_policy: dedicated. Nova defines the keys.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() > 0 && k.size() <= 255)",message="a key must have 1 to 255 characters"
	// +optional
	ExtraSpecs map[string]ComputeProperty `json:"extraSpecs,omitempty"`
}

// ComputeProperty is a value that Nova or its scheduler understands.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
type ComputeProperty string

// A HostAggregate is a group of hypervisors. If it names an availability zone, its hypervisors belong to that zone.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.availabilityZone) || has(self.availabilityZone)",message="Nova cannot remove the availability zone of an aggregate: set another zone, or add another aggregate and remove this one"
// +kubebuilder:validation:XValidation:rule="!has(self.metadata) || !(\"availability_zone\" in self.metadata)",message="set the field availabilityZone instead of the metadata key availability_zone"
type HostAggregate struct {
	// Name of the aggregate.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	Name string `json:"name"`
	// Availability zone of its hypervisors, which users choose by this name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:validation:XValidation:rule="self != 'internal'",message="internal is the zone of Nova's own processes; choose another name"
	// +optional
	AvailabilityZone string `json:"availabilityZone,omitempty"`
	// Hypervisors by the names with which they register in Nova. A hypervisor that registers later is added then. If unset, the members of
	// the aggregate are managed outside of the claim.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`
	// +listType=set
	// +optional
	Hosts []string `json:"hosts,omitempty"`
	// Properties that the scheduler compares with flavors and images.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() > 0 && k.size() <= 255)",message="a key must have 1 to 255 characters"
	// +optional
	Metadata map[string]ComputeProperty `json:"metadata,omitempty"`
}

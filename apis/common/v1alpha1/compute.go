package v1alpha1

// A Flavor is a size in which virtual machines are made. Nova changes no size, and copies it into each virtual machine; so another size is
// another flavor.
// +kubebuilder:validation:XValidation:rule="self.vcpus == oldSelf.vcpus && self.memoryMiB == oldSelf.memoryMiB && (has(self.diskGiB) ? self.diskGiB : 0) == (has(oldSelf.diskGiB) ? oldSelf.diskGiB : 0) && (has(self.ephemeralGiB) ? self.ephemeralGiB : 0) == (has(oldSelf.ephemeralGiB) ? oldSelf.ephemeralGiB : 0) && (has(self.swapMiB) ? self.swapMiB : 0) == (has(oldSelf.swapMiB) ? oldSelf.swapMiB : 0)",message="Nova cannot change the size of a flavor: add one with another name, and remove this one when nobody needs it any more"
// +kubebuilder:validation:XValidation:rule="(has(self.id) ? self.id : \"\") == (has(oldSelf.id) ? oldSelf.id : \"\") && (has(self.private) && self.private) == (has(oldSelf.private) && oldSelf.private)",message="Nova can change neither id nor private of a flavor: add one with another name, and remove this one when nobody needs it any more"
// +kubebuilder:validation:XValidation:rule="!has(self.projects) || has(self.private) && self.private",message="every project may use a flavor that is public: say private: true, or leave out projects"
type Flavor struct {
	// Name of the flavor.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	Name string `json:"name"`
	// ID of the flavor. Absent: Nova makes one.
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +optional
	ID string `json:"id,omitempty"`
	// What it is for.
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
	// Root disk, in GiB. Absent: as large as the image, for virtual machines that start from volumes.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1048576
	// +optional
	DiskGiB int32 `json:"diskGiB,omitempty"`
	// Disk for what may be lost, in GiB. Absent: none.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1048576
	// +optional
	EphemeralGiB int32 `json:"ephemeralGiB,omitempty"`
	// Swap, in MiB. Absent: none.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1073741824
	// +optional
	SwapMiB int32 `json:"swapMiB,omitempty"`
	// Only some projects may use it.
	// +optional
	Private bool `json:"private,omitempty"`
	// IDs of the projects that may use it, if it is private.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9_-]+$`
	// +listType=set
	// +optional
	Projects []string `json:"projects,omitempty"`
	// What is asked of hypervisors besides, as Nova has it: hw:cpu_policy: dedicated. Nova knows which keys there are.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() > 0 && k.size() <= 255)",message="a key has 1 to 255 characters: Nova takes no other"
	// +optional
	ExtraSpecs map[string]ComputeProperty `json:"extraSpecs,omitempty"`
}

// ComputeProperty is a value that Nova or its scheduler understands.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=255
type ComputeProperty string

// A HostAggregate is a group of hypervisors, and if it names an availability zone, that zone's or part of it.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.availabilityZone) || has(self.availabilityZone)",message="Nova cannot take its availability zone from an aggregate: name another zone, or add another aggregate and remove this one"
// +kubebuilder:validation:XValidation:rule="!has(self.metadata) || !(\"availability_zone\" in self.metadata)",message="say availabilityZone rather than the key availability_zone of metadata"
type HostAggregate struct {
	// Name of the aggregate.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	Name string `json:"name"`
	// Availability zone of its hypervisors, which people choose by this name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:validation:XValidation:rule="self != 'internal'",message="internal is the zone of Nova's own processes; choose another name"
	// +optional
	AvailabilityZone string `json:"availabilityZone,omitempty"`
	// Hypervisors by the names under which they report. One that has not reported yet is added when it does. Absent: others add them.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`
	// +listType=set
	// +optional
	Hosts []string `json:"hosts,omitempty"`
	// What the scheduler compares with flavors and images.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() > 0 && k.size() <= 255)",message="a key has 1 to 255 characters: Nova takes no other"
	// +optional
	Metadata map[string]ComputeProperty `json:"metadata,omitempty"`
}

package v1alpha1

// Cluster says which Kubernetes cluster the workloads run in. It stays the same for the life of a claim; the size and the
// Kubernetes version of a dedicated cluster can change.
// +kubebuilder:validation:XValidation:rule="has(self.ref) != has(self.gardener)",message="say which cluster, in one way: a cluster that the platform offers is ref: {name: …}"
// +kubebuilder:validation:XValidation:rule="has(self.ref) == has(oldSelf.ref) && (!has(self.ref) || self.ref.name == oldSelf.ref.name)",message="another cluster cannot be chosen: data does not move; delete the claim and claim it elsewhere"
type Cluster struct {
	// Name of a cluster that the platform offers to the claim's namespace.
	// +optional
	Ref *ClusterReference `json:"ref,omitempty"`
	// A dedicated cluster, made by Gardener.
	// +optional
	Gardener *Gardener `json:"gardener,omitempty"`
}

// ClusterReference names a cluster that the platform offers.
type ClusterReference struct {
	// Name of the cluster.
	Name ObjectName `json:"name"`
}

// Gardener describes a dedicated cluster.
// +kubebuilder:validation:XValidation:rule="self.region == oldSelf.region",message="gardener.region cannot be changed: data does not move; delete the claim and claim it elsewhere"
type Gardener struct {
	// Region of the cloud provider.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region"`
	// Kubernetes version: 1.35 takes the newest patch, 1.35.3 exactly that.
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^1\.[0-9]{1,2}(\.[0-9]{1,2})?$`
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// Number of worker nodes.
	// +optional
	Workers *GardenerWorkers `json:"workers,omitempty"`
	// Machine type of the worker nodes.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	MachineType string `json:"machineType,omitempty"`
	// Size of each node's disk: 50Gi.
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Gi|Ti)$`
	// +optional
	VolumeSize string `json:"volumeSize,omitempty"`
	// Zones that nodes are spread over.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	Zones []GardenerZone `json:"zones,omitempty"`
	// What the cluster's own control plane survives: the loss of a node or of a zone.
	// +kubebuilder:validation:Enum=none;node;zone
	// +optional
	HighAvailability string `json:"highAvailability,omitempty"`
	// Run on IronCore bare metal.
	// +optional
	IronCore *IronCore `json:"ironcore,omitempty"`
}

// GardenerZone is a zone of the provider's region.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
type GardenerZone string

// GardenerWorkers bounds the number of nodes.
// +kubebuilder:validation:XValidation:rule="self.minimum <= self.maximum",message="workers.minimum must not exceed workers.maximum"
type GardenerWorkers struct {
	// Fewest nodes.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Minimum int32 `json:"minimum"`
	// Most nodes.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Maximum int32 `json:"maximum"`
}

// IronCore selects bare-metal servers.
type IronCore struct {
	// Labels that a server must carry.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	ServerSelector map[string]LabelValue `json:"serverSelector,omitempty"`
	// Image of the operating system.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	MachineImage string `json:"machineImage,omitempty"`
}

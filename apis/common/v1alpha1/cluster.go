package v1alpha1

// Cluster selects the Kubernetes cluster of the workloads. It is immutable; the size and the Kubernetes version of a dedicated cluster can
// change.
// +kubebuilder:validation:XValidation:rule="has(self.ref) != has(self.gardener)",message="set exactly one of ref and gardener; ref names a cluster that the platform provides"
// +kubebuilder:validation:XValidation:rule="has(self.ref) == has(oldSelf.ref) && (!has(self.ref) || self.ref.name == oldSelf.ref.name)",message="cluster is immutable: data cannot be moved; delete the claim and create it with the other cluster"
type Cluster struct {
	// Cluster that the platform provides to the claim's namespace.
	// +optional
	Ref *ClusterReference `json:"ref,omitempty"`
	// A dedicated cluster, created by Gardener.
	// +optional
	Gardener *Gardener `json:"gardener,omitempty"`
}

// ClusterReference names a cluster that the platform provides.
type ClusterReference struct {
	// Name of the cluster.
	// +kubebuilder:example="east"
	Name ObjectName `json:"name"`
}

// Gardener describes a dedicated cluster.
// +kubebuilder:validation:XValidation:rule="self.region == oldSelf.region",message="gardener.region is immutable: data cannot be moved; delete the claim and create it in the other region"
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
	// Failure that the control plane of the cluster tolerates: the loss of a node or of a zone.
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
	// Minimum number of nodes.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Minimum int32 `json:"minimum"`
	// Maximum number of nodes.
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

package v1alpha1

// Cluster selects the Kubernetes cluster of the workloads. It is immutable.
// +kubebuilder:validation:XValidation:rule="has(self.ref)",message="ref is required: set the name of a cluster that the platform provides, or remove cluster"
// +kubebuilder:validation:XValidation:rule="has(self.ref) == has(oldSelf.ref) && (!has(self.ref) || self.ref.name == oldSelf.ref.name)",message="cluster is immutable: data cannot be moved; delete the claim and create it with the other cluster"
type Cluster struct {
	// Cluster that the platform provides to the claim's namespace.
	// +optional
	Ref *ClusterReference `json:"ref,omitempty"`
}

// ClusterReference names a cluster that the platform provides.
type ClusterReference struct {
	// Name of the cluster.
	// +kubebuilder:example="east"
	Name ObjectName `json:"name"`
}

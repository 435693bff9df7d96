package v1alpha1

// PoolStorageClass configures the StorageClass of a pool, with which Kubernetes stores volumes in it.
// +kubebuilder:validation:XValidation:rule="self.reclaimPolicy == oldSelf.reclaimPolicy",message="storageClass.reclaimPolicy is immutable; remove storageClass, ask the platform team to delete the StorageClass, and add it again"
type PoolStorageClass struct {
	// Policy for a volume whose PersistentVolumeClaim is deleted. Retain keeps it until it is deleted manually; Delete deletes it.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	ReclaimPolicy string `json:"reclaimPolicy,omitempty"`
}

// StorageClassStatus is a StorageClass of a pool.
type StorageClassStatus struct {
	// Name of the pool in Ceph.
	// +kubebuilder:validation:MaxLength=128
	Pool string `json:"pool"`
	// Name of the StorageClass.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

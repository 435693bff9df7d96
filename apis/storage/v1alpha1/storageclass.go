package v1alpha1

// PoolStorageClass makes a StorageClass of a pool, by which Kubernetes keeps volumes in it.
// +kubebuilder:validation:XValidation:rule="self.reclaimPolicy == oldSelf.reclaimPolicy",message="storageClass.reclaimPolicy cannot be changed: Kubernetes does not change a StorageClass; remove storageClass, have the platform team delete it, and say it anew"
type PoolStorageClass struct {
	// What becomes of a volume whose PersistentVolumeClaim is deleted. Retain keeps it, until somebody removes it; Delete removes it.
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

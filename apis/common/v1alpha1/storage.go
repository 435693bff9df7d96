package v1alpha1

// StorageClient is the access of a service to a pool of a StorageCluster that it references. The key is only in a Secret.
type StorageClient struct {
	// Path of the reference: stores.main.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Referenced object: namespace and name of the StorageCluster, and the pool.
	// +kubebuilder:validation:MaxLength=400
	Ref string `json:"ref"`
	// Namespace of the Ceph cluster.
	// +kubebuilder:validation:MaxLength=63
	Instance string `json:"instance"`
	// Name of the platform for the cluster of the Ceph cluster. Unset: the management cluster.
	// +optional
	Cluster ObjectName `json:"cluster,omitempty"`
	// Identity of the Ceph cluster.
	// +kubebuilder:validation:MaxLength=36
	FSID string `json:"fsid"`
	// Addresses of the monitors.
	// +kubebuilder:validation:MaxItems=9
	// +kubebuilder:validation:items:MaxLength=160
	// +listType=atomic
	Monitors []string `json:"monitors"`
	// Networks of the daemons. Unset: any.
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=43
	// +listType=atomic
	// +optional
	Networks []string `json:"networks,omitempty"`
	// The daemons are pods of the namespace, with addresses of the pod network.
	// +optional
	PodNetwork bool `json:"podNetwork,omitempty"`
	// Name of the pool in Ceph.
	// +kubebuilder:validation:MaxLength=104
	Pool string `json:"pool"`
	// Name of the user, without the prefix client.
	// +kubebuilder:validation:MaxLength=63
	User string `json:"user"`
	// Secret with the user's key: in a status, the Secret of the Ceph cluster; in the spec of a service, its copy.
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// UUID of the key in libvirt.
	// +kubebuilder:validation:MaxLength=36
	SecretUUID string `json:"secretUUID"`
}

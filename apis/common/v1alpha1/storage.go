package v1alpha1

// StorageClient is how a service reaches a pool of a StorageCluster that it names by reference. Its key is in a Secret alone.
type StorageClient struct {
	// Where the pool is named: stores.main.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// What is named there: namespace and name of the StorageCluster, and the pool.
	// +kubebuilder:validation:MaxLength=400
	Ref string `json:"ref"`
	// Namespace of the Ceph cluster.
	// +kubebuilder:validation:MaxLength=63
	Instance string `json:"instance"`
	// Cluster that it is in, by the platform's name. Absent: the management cluster.
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
	// Networks of the daemons. Absent: anywhere.
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=43
	// +listType=atomic
	// +optional
	Networks []string `json:"networks,omitempty"`
	// The daemons are pods of the namespace, with addresses of their own.
	// +optional
	PodNetwork bool `json:"podNetwork,omitempty"`
	// Name of the pool in Ceph.
	// +kubebuilder:validation:MaxLength=104
	Pool string `json:"pool"`
	// User, without client. before it.
	// +kubebuilder:validation:MaxLength=63
	User string `json:"user"`
	// Secret with the user's key: in a status that of the Ceph cluster, in a service's spec its copy.
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// UUID by which libvirt knows the key.
	// +kubebuilder:validation:MaxLength=36
	SecretUUID string `json:"secretUUID"`
}

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Capacity is the total, used and free capacity of a cluster.
type Capacity struct {
	// Size of all devices.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	Total *resource.Quantity `json:"total,omitempty"`
	// Used capacity.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	Used *resource.Quantity `json:"used,omitempty"`
	// Free capacity.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	Available *resource.Quantity `json:"available,omitempty"`
}

// Access is the connection data for clients. Keys are only in Secrets.
type Access struct {
	// Identity of the cluster.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	FSID string `json:"fsid,omitempty"`
	// Addresses of the monitors, in the form of ceph.conf: of both protocols, or only of the second one with network encryption.
	// +kubebuilder:validation:MaxItems=9
	// +listType=atomic
	// +optional
	Monitors []MonitorAddress `json:"monitors,omitempty"`
	// Networks of daemons. Unset, with host networks: any.
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	Networks []common.CIDR `json:"networks,omitempty"`
	// The daemons are pods with addresses of the pod network, which are unreachable from other clusters.
	// +optional
	PodNetwork bool `json:"podNetwork,omitempty"`
	// Consumers with pools and users. Without consumers, there is one entry, shared, for all control planes that may use the cluster.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Consumers []ConsumerAccess `json:"consumers,omitempty"`
}

// Shared is the name of the consumer that stands for all control planes that may use the cluster.
const Shared = "shared"

// ConsumerAccess are the pools and users of a consumer.
type ConsumerAccess struct {
	// Name of the consumer, or shared.
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`
	// Control plane of the consumer. Unset: every control plane that may use the cluster.
	// +optional
	ControlPlaneRef *common.ClaimReference `json:"controlPlaneRef,omitempty"`
	// Pools.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Pools []PoolAccess `json:"pools,omitempty"`
	// Users.
	// +kubebuilder:validation:MaxItems=4
	// +listType=map
	// +listMapKey=service
	// +optional
	Clients []ClientAccess `json:"clients,omitempty"`
}

// PoolAccess is a pool.
type PoolAccess struct {
	// Name of the pool in references of a control plane.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Name of the pool in Ceph.
	// +kubebuilder:validation:MaxLength=104
	Pool string `json:"pool"`
	// OpenStack data in the pool.
	// +optional
	Purpose Purpose `json:"purpose,omitempty"`
}

// Service is a service of OpenStack that is a client of Ceph.
// +kubebuilder:validation:Enum=glance;cinder;cinder-backup;nova
type Service string

// Services of OpenStack that are clients.
const (
	ServiceGlance       Service = "glance"
	ServiceCinder       Service = "cinder"
	ServiceCinderBackup Service = "cinder-backup"
	ServiceNova         Service = "nova"
)

// ClientAccess is a user.
type ClientAccess struct {
	// Service that uses the user.
	Service Service `json:"service"`
	// Name of the user, without the prefix client.
	// +kubebuilder:validation:MaxLength=63
	User string `json:"user"`
	// Secret with the user's key, in the namespace in instance.
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// UUID of the user's key in libvirt. It never changes, because volumes and disks contain it.
	// +kubebuilder:validation:MaxLength=36
	SecretUUID string `json:"secretUUID"`
}

// MonitorAddress is the address of a monitor: [v2:10.0.0.1:3300,v1:10.0.0.1:6789].
// +kubebuilder:validation:MaxLength=160
type MonitorAddress string

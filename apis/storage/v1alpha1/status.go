package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Capacity are the amounts of data that a cluster can hold and holds.
type Capacity struct {
	// Size of all devices.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	Total *resource.Quantity `json:"total,omitempty"`
	// What is used of it.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	Used *resource.Quantity `json:"used,omitempty"`
	// What is left of it.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +optional
	Available *resource.Quantity `json:"available,omitempty"`
}

// Access is what clients need to know. Keys are in Secrets alone.
type Access struct {
	// Identity of the cluster.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	FSID string `json:"fsid,omitempty"`
	// Addresses of the monitors, as ceph.conf takes them: of both protocols, or of the second alone where what goes over the network is
	// encrypted.
	// +kubebuilder:validation:MaxItems=9
	// +listType=atomic
	// +optional
	Monitors []MonitorAddress `json:"monitors,omitempty"`
	// Networks that daemons are in. Absent, with host networks: anywhere.
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	Networks []common.CIDR `json:"networks,omitempty"`
	// The daemons are pods with addresses of their own, which other clusters do not reach.
	// +optional
	PodNetwork bool `json:"podNetwork,omitempty"`
	// Who has pools and users. Without consumers it is one, called shared: whoever may use the cluster.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Consumers []ConsumerAccess `json:"consumers,omitempty"`
}

// Shared is the consumer that stands for whoever may use the cluster.
const Shared = "shared"

// ConsumerAccess are the pools and users of a consumer.
type ConsumerAccess struct {
	// Name of the consumer, or shared.
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`
	// The control plane. Absent: every one that may use the cluster.
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
	// Name by which a control plane refers to it.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Name that it has in Ceph.
	// +kubebuilder:validation:MaxLength=104
	Pool string `json:"pool"`
	// What OpenStack keeps in it.
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
	// Service that logs in as the user.
	Service Service `json:"service"`
	// Name of the user, without client. before it.
	// +kubebuilder:validation:MaxLength=63
	User string `json:"user"`
	// Secret with the user's key, in the namespace that instance names.
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// UUID by which libvirt knows the user's key: volumes and disks remember it, so that it stays the same for ever.
	// +kubebuilder:validation:MaxLength=36
	SecretUUID string `json:"secretUUID"`
}

// MonitorAddress is the address of a monitor: [v2:10.0.0.1:3300,v1:10.0.0.1:6789].
// +kubebuilder:validation:MaxLength=160
type MonitorAddress string

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
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

// Connection is what clients need to connect. Keys are in Secrets only.
type Connection struct {
	// Identity of the cluster.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	FSID string `json:"fsid,omitempty"`
	// Addresses of the monitors, as ceph.conf takes them.
	// +kubebuilder:validation:MaxItems=9
	// +listType=atomic
	// +optional
	Monitors []MonitorAddress `json:"monitors,omitempty"`
	// Users, and the Secrets that hold their keys.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Clients []Client `json:"clients,omitempty"`
}

// MonitorAddress is the address of a monitor: [v2:10.0.0.1:3300,v1:10.0.0.1:6789].
// +kubebuilder:validation:MaxLength=160
type MonitorAddress string

// Client is a user of the cluster.
type Client struct {
	// Name of the user, without the prefix client.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Secret with the user's key, in the namespace that instance names.
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
}

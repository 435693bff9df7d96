package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Monitors keep the map of the cluster and agree on it by majority.
// +kubebuilder:validation:XValidation:rule="!has(self.count) || self.count % 2 == 1",message="monitors.count must be odd: monitors need a majority"
type Monitors struct {
	// Number of monitors, an odd one. Absent: 3, or 5 with stretched.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +optional
	Count *int32 `json:"count,omitempty"`
	// Resources of each monitor.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// Managers report and balance; one works, the others stand by.
type Managers struct {
	// Number of managers. Absent: 2.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	// +optional
	Count *int32 `json:"count,omitempty"`
	// Resources of each manager.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// OSDs are the daemons that keep data.
type OSDs struct {
	// Resources of each daemon. Absent: 4Gi of memory.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
	// Encrypt devices.
	// +optional
	Encrypted bool `json:"encrypted,omitempty"`
}

// Network says which networks the daemons use.
// +kubebuilder:validation:XValidation:rule="self.host || !(has(self.publicCIDRs) || has(self.clusterCIDRs))",message="publicCIDRs and clusterCIDRs need host: true: pods have addresses of the cluster's network only"
type Network struct {
	// Use the nodes' own network. Without it only clients in the same Kubernetes cluster reach the daemons.
	// +kubebuilder:default=true
	// +optional
	Host bool `json:"host"`
	// Networks that clients come from, as the nodes have them: 10.0.1.0/24.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	PublicCIDRs []common.CIDR `json:"publicCIDRs,omitempty"`
	// Networks for copies between daemons. Absent: those of clients.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	ClusterCIDRs []common.CIDR `json:"clusterCIDRs,omitempty"`
	// Encrypt what goes over the network.
	// +optional
	Encryption bool `json:"encryption,omitempty"`
}

// Dashboard is Ceph's own dashboard.
type Dashboard struct {
	// Run the dashboard, by https, with one user, who administrates this Ceph. With network.host it listens on the nodes' own addresses.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// Prysm observes Ceph, object stores and disks.
type Prysm struct {
	// Run Prysm.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// Container image. Absent: the platform's.
	// +optional
	Image *common.InfrastructureImage `json:"image,omitempty"`
	// Resources of each pod.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

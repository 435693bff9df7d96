package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Monitors store the map of the cluster and agree on it by majority.
// +kubebuilder:validation:XValidation:rule="!has(self.count) || self.count % 2 == 1",message="monitors.count must be odd: monitors need a majority"
type Monitors struct {
	// Number of monitors, which must be odd. Defaults to 3, or to 5 with stretched.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +optional
	Count *int32 `json:"count,omitempty"`
	// Resources of each monitor.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// Managers report the state and balance the data; one is active, the others are on standby.
type Managers struct {
	// Number of managers. Defaults to 2.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	// +optional
	Count *int32 `json:"count,omitempty"`
	// Resources of each manager.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// OSDs are the daemons that store data.
type OSDs struct {
	// Resources of each daemon. Defaults to 4Gi of memory.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
	// Encrypt devices.
	// +optional
	Encrypted bool `json:"encrypted,omitempty"`
}

// Network configures the networks of the daemons.
// +kubebuilder:validation:XValidation:rule="self.host || !(has(self.publicCIDRs) || has(self.clusterCIDRs))",message="publicCIDRs and clusterCIDRs require host: true: pods have addresses of the cluster's network only"
type Network struct {
	// Use the nodes' own network. Otherwise only clients in the same Kubernetes cluster can connect to the daemons.
	// +kubebuilder:default=true
	// +optional
	Host *bool `json:"host,omitempty"`
	// Networks of connections from clients, as configured on the nodes: 10.0.1.0/24.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	PublicCIDRs []common.CIDR `json:"publicCIDRs,omitempty"`
	// Networks for replication between daemons. Defaults to the networks of clients.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	ClusterCIDRs []common.CIDR `json:"clusterCIDRs,omitempty"`
	// Encrypt network traffic.
	// +optional
	Encryption bool `json:"encryption,omitempty"`
}

// Dashboard is Ceph's own dashboard.
type Dashboard struct {
	// Run the dashboard. Defaults to false. It serves https and has one user, who is an administrator of this Ceph. With network.host, it
	// listens on the nodes' own addresses.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

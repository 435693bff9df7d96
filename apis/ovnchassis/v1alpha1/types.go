package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An OVNChassis is a read-only copy of the record of a node in OVN's southbound database. The companion creates it next to the database,
// synchronizes it, and deletes it with the node's record; an edit has no effect on the node.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore,path=ovnchassis,singular=ovnchassis
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.hostname`
// +kubebuilder:printcolumn:name="Tunnels",type=string,JSONPath=`.spec.encapsulations[0].ip`
// +kubebuilder:printcolumn:name="Gateway",type=boolean,JSONPath=`.spec.gateway`
// +kubebuilder:printcolumn:name="Heartbeat",type=date,JSONPath=`.status.lastHeartbeat`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type OVNChassis struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Registration of the node.
	Spec OVNChassisSpec `json:"spec"`
	// State of the node's controller.
	// +optional
	Status OVNChassisStatus `json:"status,omitempty"`
}

// OVNChassisSpec is the registration of a node.
type OVNChassisSpec struct {
	// Name of the node in OVN. Nodes of a HypervisorCluster have the same name as in Kubernetes.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SystemID string `json:"systemId"`
	// Host name of the node.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Hostname string `json:"hostname,omitempty"`
	// Endpoints of tunnels, by type and address.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Encapsulations []Encapsulation `json:"encapsulations,omitempty"`
	// Bridges to physical networks, by the networks' names.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=physicalNetwork
	// +optional
	BridgeMappings []BridgeMapping `json:"bridgeMappings,omitempty"`
	// The node is a gateway of routers.
	// +optional
	Gateway bool `json:"gateway,omitempty"`
}

// Encapsulation is the endpoint of tunnels.
type Encapsulation struct {
	// Protocol of the tunnels, such as geneve.
	// +kubebuilder:validation:MaxLength=15
	Type string `json:"type"`
	// Address.
	// +kubebuilder:validation:MaxLength=45
	IP string `json:"ip"`
}

// BridgeMapping is the bridge of a physical network.
type BridgeMapping struct {
	// Name of the network.
	// +kubebuilder:validation:MaxLength=64
	PhysicalNetwork string `json:"physicalNetwork"`
	// Name of the bridge.
	// +kubebuilder:validation:MaxLength=64
	Bridge string `json:"bridge"`
}

// OVNChassisStatus is the state of a node's controller.
type OVNChassisStatus struct {
	// Conditions: Ready (the node's controller has applied the current configuration, or is about to).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time when the controller last reported that it has applied the configuration; up to five minutes older than the time in the database.
	// Unset: never.
	// +optional
	LastHeartbeat *metav1.Time `json:"lastHeartbeat,omitempty"`
}

// OVNChassisList is a list of OVNChassis.
// +kubebuilder:object:root=true
type OVNChassisList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []OVNChassis `json:"items"`
}

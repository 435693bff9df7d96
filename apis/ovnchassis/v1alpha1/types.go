package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An OVNChassis is a node that has registered in OVN's southbound database, as that says. The companion makes it beside the database, keeps
// it as it is there, and removes it with the node's record; whoever edits it changes nothing on the node.
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

	// What the node has registered.
	Spec OVNChassisSpec `json:"spec"`
	// Whether its controller works.
	// +optional
	Status OVNChassisStatus `json:"status,omitempty"`
}

// OVNChassisSpec is what a node has registered.
type OVNChassisSpec struct {
	// Name by which OVN knows the node. Nodes of a HypervisorCluster have the one that they have in Kubernetes.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SystemID string `json:"systemId"`
	// Name that it has itself.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Hostname string `json:"hostname,omitempty"`
	// Where tunnels of other nodes end, by type and address.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Encapsulations []Encapsulation `json:"encapsulations,omitempty"`
	// Bridges by which the node reaches physical networks, by the networks' names.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=physicalNetwork
	// +optional
	BridgeMappings []BridgeMapping `json:"bridgeMappings,omitempty"`
	// It connects routers to the outside.
	// +optional
	Gateway bool `json:"gateway,omitempty"`
}

// Encapsulation is where tunnels end.
type Encapsulation struct {
	// Protocol of the tunnels, such as geneve.
	// +kubebuilder:validation:MaxLength=15
	Type string `json:"type"`
	// Address.
	// +kubebuilder:validation:MaxLength=45
	IP string `json:"ip"`
}

// BridgeMapping is a bridge by which a physical network is reached.
type BridgeMapping struct {
	// Name of the network.
	// +kubebuilder:validation:MaxLength=64
	PhysicalNetwork string `json:"physicalNetwork"`
	// Name of the bridge.
	// +kubebuilder:validation:MaxLength=64
	Bridge string `json:"bridge"`
}

// OVNChassisStatus is whether a node's controller works.
type OVNChassisStatus struct {
	// Conditions: Ready (the node's controller has done what is wanted, or is at it).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// When the controller last said that it has done what was wanted; up to five minutes older than what the database has. Absent: never.
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

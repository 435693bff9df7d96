package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Networks says how nodes are connected to each other and to the outside. Its fields have no defaults, so that a slice
// changes only what it names.
type Networks struct {
	// Bridges that carry physical networks.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=physicalNetwork
	// +optional
	BridgeMappings []BridgeMapping `json:"bridgeMappings,omitempty"`
	// Tunnels between nodes, which carry the networks of projects.
	// +optional
	Encapsulation *Encapsulation `json:"encapsulation,omitempty"`
	// Way on which running virtual machines move from node to node.
	// +optional
	LiveMigration *LiveMigrationNetwork `json:"liveMigration,omitempty"`
	// Nodes that connect routers to the outside. Without one, virtual machines have no way out. Where agents make the control plane's networks
	// (mechanism OVS), these nodes alone have routers, DHCP and metadata.
	// +optional
	Gateway *Gateway `json:"gateway,omitempty"`
	// Kernel: Open vSwitch forwards in the node's kernel. Userspace: in the daemon itself, where the kernel has no openvswitch
	// module. Absent: Kernel.
	// +kubebuilder:validation:Enum=Kernel;Userspace
	// +optional
	Datapath string `json:"datapath,omitempty"`
}

// PhysicalNetwork is the name of a physical network in Neutron.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
type PhysicalNetwork string

// BridgeMapping joins a physical network to a bridge of the nodes.
// +kubebuilder:validation:XValidation:rule="self.bridge != 'br-int'",message="br-int is OVN's own bridge: name another one, such as br-ex"
type BridgeMapping struct {
	// Physical network.
	PhysicalNetwork PhysicalNetwork `json:"physicalNetwork"`
	// Bridge of Open vSwitch. It is made where it is missing.
	Bridge Interface `json:"bridge"`
	// Interface of the node that is put into the bridge. Absent: the bridge stays as the node has it.
	// +optional
	Interface Interface `json:"interface,omitempty"`
}

// Interface is the name of a network interface or a bridge of a node.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=15
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
type Interface string

// Encapsulation says how tunnels between nodes are built.
type Encapsulation struct {
	// Protocol of the tunnels. Absent: geneve. With mechanism OVS the control plane says it (ml2.typeDrivers).
	// +kubebuilder:validation:Enum=geneve;vxlan
	// +optional
	Type string `json:"type,omitempty"`
	// Interface of the node whose address tunnels end at. Absent: the node's internal address.
	// +optional
	Interface Interface `json:"interface,omitempty"`
}

// LiveMigrationNetwork says on which way running virtual machines move from node to node.
type LiveMigrationNetwork struct {
	// Interface of the node whose address the others connect to. Absent: the node's internal address.
	// +optional
	Interface Interface `json:"interface,omitempty"`
}

// Gateway says which nodes connect routers to the outside.
type Gateway struct {
	// Labels that such a node carries, besides those of the pool.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	NodeSelector map[string]common.LabelValue `json:"nodeSelector"`
}

package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Networks configures the network connections of nodes. Its fields have no defaults, so that a slice changes only the fields that it sets.
type Networks struct {
	// Bridges of physical networks.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=physicalNetwork
	// +optional
	BridgeMappings []BridgeMapping `json:"bridgeMappings,omitempty"`
	// Tunnels between nodes for the networks of projects.
	// +optional
	Encapsulation *Encapsulation `json:"encapsulation,omitempty"`
	// Network for live migration between nodes.
	// +optional
	LiveMigration *LiveMigrationNetwork `json:"liveMigration,omitempty"`
	// Nodes that are gateways of routers. Without a gateway, virtual machines have no external access. With mechanism OVS of the control
	// plane, only these nodes run routers, DHCP and metadata.
	// +optional
	Gateway *Gateway `json:"gateway,omitempty"`
	// Datapath of Open vSwitch. Kernel: in the node's kernel. Userspace: in the daemon, for kernels without the openvswitch module. Defaults
	// to Kernel.
	// +kubebuilder:validation:Enum=Kernel;Userspace
	// +optional
	Datapath string `json:"datapath,omitempty"`
}

// PhysicalNetwork is the name of a physical network in Neutron.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
type PhysicalNetwork string

// BridgeMapping maps a physical network to a bridge of the nodes.
// +kubebuilder:validation:XValidation:rule="self.bridge != 'br-int'",message="br-int is the integration bridge of OVN; choose another name, such as br-ex"
type BridgeMapping struct {
	// Physical network.
	PhysicalNetwork PhysicalNetwork `json:"physicalNetwork"`
	// Bridge of Open vSwitch. It is created if it does not exist.
	Bridge Interface `json:"bridge"`
	// Interface of the node that is attached to the bridge. If unset, the ports of the bridge are not changed.
	// +optional
	Interface Interface `json:"interface,omitempty"`
}

// Interface is the name of a network interface or a bridge of a node.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=15
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
type Interface string

// Encapsulation configures tunnels between nodes.
type Encapsulation struct {
	// Protocol of the tunnels. Defaults to geneve. With mechanism OVS, the control plane sets it (ml2.typeDrivers).
	// +kubebuilder:validation:Enum=geneve;vxlan
	// +optional
	Type string `json:"type,omitempty"`
	// Interface of the node with the address of tunnels. Defaults to the node's internal address.
	// +optional
	Interface Interface `json:"interface,omitempty"`
}

// LiveMigrationNetwork configures the network for live migration between nodes.
type LiveMigrationNetwork struct {
	// Interface of the node with the address for migrations. Defaults to the node's internal address.
	// +optional
	Interface Interface `json:"interface,omitempty"`
}

// Gateway selects the nodes that are gateways of routers.
type Gateway struct {
	// Labels of gateway nodes, in addition to the labels of the pool.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	NodeSelector map[string]common.LabelValue `json:"nodeSelector"`
}

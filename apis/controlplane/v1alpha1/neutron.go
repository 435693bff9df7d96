package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Neutron is the network service.
// +kubebuilder:validation:XValidation:rule="self.mechanism == oldSelf.mechanism",message="mechanism cannot be changed: ports stay bound as they are; claim another control plane",fieldPath=".mechanism"
// +kubebuilder:validation:XValidation:rule="!has(self.ovn) || self.mechanism == 'OVN'",message="with mechanism OVS there is no OVN; leave ovn out",fieldPath=".ovn"
type Neutron struct {
	Switch           `json:",inline"`
	common.Service   `json:",inline"`
	common.Placement `json:",inline"`
	// What makes the virtual networks: OVN, or Open vSwitch with an agent for each task on each node.
	// +kubebuilder:validation:Enum=OVN;OVS
	// +kubebuilder:default=OVN
	// +optional
	Mechanism string `json:"mechanism,omitempty"`
	// Kinds of networks.
	// +optional
	ML2 *ML2 `json:"ml2,omitempty"`
	// OVN's databases.
	// +optional
	OVN *OVN `json:"ovn,omitempty"`
	// What networks can do besides connecting. Absent: routers, QoS, trunks, segments and port forwarding.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	ServicePlugins []ServicePlugin `json:"servicePlugins,omitempty"`
	// DNS servers that virtual machines get where a subnet names none. They are asked from the nodes.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	DNSServers []IPAddress `json:"dnsServers,omitempty"`
	// Domain of virtual machines' names. Absent: openstacklocal.
	// +optional
	DNSDomain common.Hostname `json:"dnsDomain,omitempty"`
	// The API.
	// +optional
	API *common.Process `json:"api,omitempty"`
	// Workers that keep OVN as the database says. With OVS: what the agents talk to.
	// +optional
	Workers *common.Process `json:"workers,omitempty"`
	// Processes of each pod of the API.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

// ServicePlugin is something that networks can do.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_-]*$`
type ServicePlugin string

// IPAddress is an address of IPv4 or IPv6.
// +kubebuilder:validation:MaxLength=39
// +kubebuilder:validation:XValidation:rule="isIP(self)",message="must be an IP address, such as 10.0.1.1"
type IPAddress string

// ML2 says which kinds of networks there are.
// +kubebuilder:validation:XValidation:rule="!has(self.tenantNetworkTypes) || !has(self.typeDrivers) || self.tenantNetworkTypes.all(t, t in self.typeDrivers)",message="every one of tenantNetworkTypes has to be among typeDrivers",fieldPath=".tenantNetworkTypes"
// +kubebuilder:validation:XValidation:rule="!has(self.tenantNetworkTypes) || !('vlan' in self.tenantNetworkTypes) || has(self.physicalNetworks) && self.physicalNetworks.exists(p, has(p.vlanRanges) && p.vlanRanges.size() > 0)",message="vlan among tenantNetworkTypes needs a physical network with vlanRanges to take VLANs from",fieldPath=".physicalNetworks"
type ML2 struct {
	// Kinds of networks that administrators can make. Absent: geneve, vlan and flat; with OVS vxlan for geneve.
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	// +optional
	TypeDrivers []NetworkType `json:"typeDrivers,omitempty"`
	// Kinds of networks that projects get. Absent: geneve; with OVS vxlan.
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	// +optional
	TenantNetworkTypes []NetworkType `json:"tenantNetworkTypes,omitempty"`
	// Extensions of ports and networks.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	ExtensionDrivers []ExtensionDriver `json:"extensionDrivers,omitempty"`
	// Networks outside that nodes are plugged into. HypervisorClusters say how.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	PhysicalNetworks []PhysicalNetwork `json:"physicalNetworks,omitempty"`
	// Largest packet between nodes, in bytes, of which tunnels take theirs. Absent: 1500.
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9216
	// +optional
	MTU *int32 `json:"mtu,omitempty"`
	// Numbers of tunnels: 1:65536.
	// +optional
	VNIRange NumberRange `json:"vniRange,omitempty"`
}

// NetworkType is a kind of network.
// +kubebuilder:validation:Enum=geneve;vxlan;vlan;flat;local
type NetworkType string

// ExtensionDriver is an ML2 extension driver.
// +kubebuilder:validation:Enum=port_security;qos;dns;dns_domain_ports;subnet_dns_publish_fixed_ip;uplink_status_propagation
type ExtensionDriver string

// PhysicalNetwork is a network outside.
type PhysicalNetwork struct {
	// Name of the network, as HypervisorClusters map it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	Name string `json:"name"`
	// Networks without a VLAN may be made on it.
	// +optional
	Flat bool `json:"flat,omitempty"`
	// VLANs from which projects get theirs: 100:199. Administrators may take any.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	VLANRanges []NumberRange `json:"vlanRanges,omitempty"`
	// Largest packet on it, in bytes. Absent: that between nodes.
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9216
	// +optional
	MTU *int32 `json:"mtu,omitempty"`
}

// NumberRange are the numbers from one to another: 100:199.
// +kubebuilder:validation:MaxLength=17
// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,7}:[1-9][0-9]{0,7}$`
type NumberRange string

// OVN describes what the virtual networks are kept in.
type OVN struct {
	// Database of what is wanted.
	// +optional
	Northbound *Members `json:"northbound,omitempty"`
	// Database of how it is done, which every node reads.
	// +optional
	Southbound *Southbound `json:"southbound,omitempty"`
	// What makes the one of the other.
	// +optional
	Northd *common.Process `json:"northd,omitempty"`
	// Copies of the southbound database for many nodes. Absent: none.
	// +optional
	Relay *common.Process `json:"relay,omitempty"`
	// Image of OVN. Absent: as the release says.
	// +optional
	OVNImage *common.InfrastructureImage `json:"ovnImage,omitempty"`
	// Image of Open vSwitch, for the databases' server. Absent: as the release says.
	// +optional
	OVSImage *common.InfrastructureImage `json:"ovsImage,omitempty"`
}

// Southbound is the database that nodes read.
type Southbound struct {
	Members `json:",inline"`
	// How nodes of other clusters reach each member.
	// +optional
	Exposure *MemberExposure `json:"exposure,omitempty"`
}

// MemberExposure gives each member of something that does not speak HTTP an address outside.
type MemberExposure struct {
	// None: only inside the cluster. LoadBalancer and NodePort: a Service of that type for each member.
	// +kubebuilder:validation:Enum=None;LoadBalancer;NodePort
	Type string `json:"type"`
	// Annotations of the Services, for the controller that serves them.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	Annotations map[string]common.AnnotationValue `json:"annotations,omitempty"`
	// Networks from which the members are reached. Absent: any.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Networks []common.CIDR `json:"networks,omitempty"`
}

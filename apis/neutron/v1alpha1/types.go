package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Neutron is the network service of one control plane: the API and the workers that keep OVN as its database says. A ControlPlaneCluster
// makes it and fills in every field, so that it looks nothing up.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.release`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Update",type=string,JSONPath=`.status.updatePhase`,priority=1
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
type Neutron struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec NeutronSpec `json:"spec"`
	// Observed state.
	// +optional
	Status NeutronStatus `json:"status,omitempty"`
}

// NeutronSpec is the desired state of a Neutron.
// +kubebuilder:validation:XValidation:rule="self.mechanism == oldSelf.mechanism",message="mechanism cannot be changed: ports stay bound as they are",fieldPath=".mechanism"
// +kubebuilder:validation:XValidation:rule="(self.mechanism == 'OVN') == (has(self.ovn) && has(self.maintenance)) && has(self.ovn) == has(self.maintenance) && has(self.rpc) == (self.mechanism == 'OVS' || has(self.ml2) && has(self.ml2.sriov))",message="with mechanism OVN say ovn and maintenance, and with OVS or ml2.sriov rpc",fieldPath=".mechanism"
type NeutronSpec struct {
	common.ServiceSpec `json:",inline"`
	common.Placement   `json:",inline"`
	Networks           `json:",inline"`
	// The Keystone that it belongs to.
	Identity common.Identity `json:"identity"`
	// Its message queue.
	Queue common.Queue `json:"queue"`
	// What makes the virtual networks: OVN, or Open vSwitch with an agent for each task on each node.
	// +kubebuilder:default=OVN
	// +optional
	Mechanism Mechanism `json:"mechanism,omitempty"`
	// OVN's databases, with the mechanism OVN.
	// +optional
	OVN *OVN `json:"ovn,omitempty"`
	// Nova is told when ports come up, which virtual machines wait for as they start.
	// +optional
	NotifiesNova bool `json:"notifiesNova,omitempty"`
	// The API.
	API common.Process `json:"api"`
	// Workers that keep OVN as the database says, with the mechanism OVN: one of them works, the others wait.
	// +optional
	Maintenance *common.Process `json:"maintenance,omitempty"`
	// What the agents talk to: with the mechanism OVS, and with ml2.sriov.
	// +optional
	RPC *common.Process `json:"rpc,omitempty"`
	// Workers that clean up the database.
	Periodic common.Process `json:"periodic"`
	// Processes of each pod of the API.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
}

// Mechanism is what makes virtual networks.
// +kubebuilder:validation:Enum=OVN;OVS
type Mechanism string

// OVN is where its databases are, and what shows them that a client may write: a certificate that is made, or one that somebody gave.
// +kubebuilder:validation:XValidation:rule="has(self.issuerRef) != has(self.clientSecretRef)",message="say issuerRef, or clientSecretRef for databases of somebody else",fieldPath=".issuerRef"
// +kubebuilder:validation:XValidation:rule="has(self.clientSecretRef) == (has(self.networks) && self.networks.size() > 0)",message="networks go with clientSecretRef: they say where the databases of somebody else are",fieldPath=".networks"
// +kubebuilder:validation:XValidation:rule="!has(self.clientSecretRef) || !has(self.sync) || self.sync.mode != 'Repair'",message="databases of somebody else are not repaired: what others keep in them would be removed; say Log",fieldPath=".sync.mode"
type OVN struct {
	// Addresses of all members of the northbound database: ssl:…,ssl:….
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^ssl:[^,]+:[0-9]+(,ssl:[^,]+:[0-9]+)*$`
	Northbound string `json:"northbound"`
	// Addresses of all members of the southbound database.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^ssl:[^,]+:[0-9]+(,ssl:[^,]+:[0-9]+)*$`
	Southbound string `json:"southbound"`
	// Issuer of the certificates of both, and of their clients.
	// +optional
	IssuerRef *common.IssuerReference `json:"issuerRef,omitempty"`
	// Secret with a client's certificate that somebody gave, its key, and the authority of both databases: tls.crt, tls.key and ca.crt.
	// +optional
	ClientSecretRef *common.SecretReference `json:"clientSecretRef,omitempty"`
	// Where the databases are that somebody else has: 10.20.0.0/24. Absent: beside Neutron.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Networks []common.CIDR `json:"networks,omitempty"`
	// Compare what Neutron's database says with what OVN has. Absent: nobody has asked.
	// +optional
	Sync *common.OVNSyncRequest `json:"sync,omitempty"`
}

// Networks say which networks there are and what they can do.
type Networks struct {
	// Kinds of networks.
	// +optional
	ML2 *ML2 `json:"ml2,omitempty"`
	// What networks can do besides connecting. Absent: routers, QoS, trunks, segments and port forwarding.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	ServicePlugins []ServicePlugin `json:"servicePlugins,omitempty"`
	// DNS servers that virtual machines get where a subnet names none. They are asked from the nodes. Absent: virtual machines get none.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	DNSServers []IPAddress `json:"dnsServers,omitempty"`
	// Domain of virtual machines' names. Absent: openstacklocal.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`
	// +optional
	DNSDomain string `json:"dnsDomain,omitempty"`
	// Translate floating IPs on the node of each virtual machine, which has to be plugged into the networks outside. Absent: on nodes that
	// are gateways.
	// +optional
	DistributedFloatingIPs bool `json:"distributedFloatingIPs,omitempty"`
	// Zones of nodes that routers are placed in where a request names none. Nodes say which zones they are in.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	AvailabilityZones []AvailabilityZone `json:"availabilityZones,omitempty"`
	// What a project may have where nothing else is said. Absent: as Neutron has it.
	// +optional
	Quotas *Quotas `json:"quotas,omitempty"`
}

// AvailabilityZone is the name of a zone.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
type AvailabilityZone string

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
// +kubebuilder:validation:XValidation:rule="!has(self.sriov) || has(self.physicalNetworks) && self.physicalNetworks.size() > 0",message="sriov needs physicalNetworks: ports of network cards are plugged into those",fieldPath=".physicalNetworks"
type ML2 struct {
	// Kinds of networks that administrators can make. Absent: geneve, vlan and flat.
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	// +optional
	TypeDrivers []NetworkType `json:"typeDrivers,omitempty"`
	// Kinds of networks that projects get. Absent: geneve.
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	// +optional
	TenantNetworkTypes []NetworkType `json:"tenantNetworkTypes,omitempty"`
	// Extensions of ports and networks. Absent: port_security, qos and dns.
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
	// Numbers of tunnels. Absent: 1:65536.
	// +optional
	VNIRange NumberRange `json:"vniRange,omitempty"`
	// Virtual machines may have functions of network cards (SR-IOV), on nodes with an agent for that. Absent: they may not.
	// +optional
	SRIOV *SRIOV `json:"sriov,omitempty"`
}

// SRIOV says how virtual machines may have functions of network cards.
type SRIOV struct {
	// Kinds of ports that are refused: direct is a virtual function, macvtap one behind a device of the node, direct-physical a whole card.
	// Absent: none.
	// +kubebuilder:validation:MaxItems=2
	// +listType=set
	// +optional
	ProhibitedVNICTypes []VNICType `json:"prohibitedVNICTypes,omitempty"`
}

// VNICType is a kind of port that a network card serves.
// +kubebuilder:validation:Enum=direct;macvtap;direct-physical
type VNICType string

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

// Quotas bound each project. -1 is no bound.
type Quotas struct {
	// Networks.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	Networks *int32 `json:"networks,omitempty"`
	// Subnets.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	Subnets *int32 `json:"subnets,omitempty"`
	// Ports, of which each virtual machine and each router has one for each of its networks.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	Ports *int32 `json:"ports,omitempty"`
	// Routers.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	Routers *int32 `json:"routers,omitempty"`
	// Floating IPs.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	FloatingIPs *int32 `json:"floatingIPs,omitempty"`
	// Security groups.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	SecurityGroups *int32 `json:"securityGroups,omitempty"`
	// Rules of security groups.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	SecurityGroupRules *int32 `json:"securityGroupRules,omitempty"`
}

// NeutronStatus is the observed state of a Neutron.
type NeutronStatus struct {
	common.ServiceStatus `json:",inline"`
	// What the last comparison of its database with OVN found. Absent: there was none.
	// +optional
	Sync *common.OVNSyncAnswer `json:"sync,omitempty"`
}

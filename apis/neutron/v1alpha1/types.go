package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Neutron is the network service of one control plane: the API and the workers that synchronize OVN with its database. A
// ControlPlaneCluster creates it with every field set, so it reads no other object.
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
// +kubebuilder:validation:XValidation:rule="self.mechanism == oldSelf.mechanism",message="mechanism is immutable: existing ports stay bound to it; restore the previous value",fieldPath=".mechanism"
// +kubebuilder:validation:XValidation:rule="(self.mechanism == 'OVN') == (has(self.ovn) && has(self.maintenance)) && has(self.ovn) == has(self.maintenance) && has(self.rpc) == (self.mechanism == 'OVS' || has(self.ml2) && has(self.ml2.sriov))",message="ovn and maintenance are required with mechanism OVN; rpc is required with mechanism OVS or ml2.sriov",fieldPath=".mechanism"
type NeutronSpec struct {
	common.ServiceSpec `json:",inline"`
	common.Placement   `json:",inline"`
	Networks           `json:",inline"`
	// Keystone of the service.
	Identity common.Identity `json:"identity"`
	// Message queue of the service.
	Queue common.Queue `json:"queue"`
	// Mechanism of the virtual networks: OVN, or Open vSwitch with one Neutron agent for each task on each node.
	// +kubebuilder:default=OVN
	// +optional
	Mechanism Mechanism `json:"mechanism,omitempty"`
	// Databases of OVN, with the mechanism OVN.
	// +optional
	OVN *OVN `json:"ovn,omitempty"`
	// Notify Nova when ports become active, which virtual machines wait for when they start.
	// +optional
	NotifiesNova bool `json:"notifiesNova,omitempty"`
	// API processes.
	API common.Process `json:"api"`
	// Workers that synchronize OVN with the database, with the mechanism OVN: one of them is active, the others are on standby.
	// +optional
	Maintenance *common.Process `json:"maintenance,omitempty"`
	// RPC servers of the agents: with the mechanism OVS, and with ml2.sriov.
	// +optional
	RPC *common.Process `json:"rpc,omitempty"`
	// Workers that clean up the database.
	Periodic common.Process `json:"periodic"`
	// uWSGI processes of each pod of the API.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
}

// Mechanism is the mechanism of virtual networks.
// +kubebuilder:validation:Enum=OVN;OVS
type Mechanism string

// OVN configures the addresses of its databases and the client certificate for them: from an issuer, or from an existing Secret.
// +kubebuilder:validation:XValidation:rule="has(self.issuerRef) != has(self.clientSecretRef)",message="set issuerRef, or clientSecretRef for external databases",fieldPath=".issuerRef"
// +kubebuilder:validation:XValidation:rule="has(self.clientSecretRef) == (has(self.networks) && self.networks.size() > 0)",message="networks and clientSecretRef must be set together, for external databases",fieldPath=".networks"
// +kubebuilder:validation:XValidation:rule="!has(self.clientSecretRef) || !has(self.sync) || self.sync.mode != 'Repair'",message="sync.mode must be Log for external databases: a repair would delete entries of their other users",fieldPath=".sync.mode"
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
	// Secret with an existing client certificate, its key, and the authority of both databases: tls.crt, tls.key and ca.crt.
	// +optional
	ClientSecretRef *common.SecretReference `json:"clientSecretRef,omitempty"`
	// Networks of external databases: 10.20.0.0/24. If unset, the databases are in the namespace of Neutron.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Networks []common.CIDR `json:"networks,omitempty"`
	// Idle time after which Neutron probes its connections to the databases, in seconds. Defaults to 60.
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=600
	// +optional
	InactivityProbeSeconds int32 `json:"inactivityProbeSeconds,omitempty"`
	// Comparison of Neutron's database with OVN. Defaults to none.
	// +optional
	Sync *common.OVNSyncRequest `json:"sync,omitempty"`
}

// Networks configures types and features of networks.
type Networks struct {
	// Types of networks.
	// +optional
	ML2 *ML2 `json:"ml2,omitempty"`
	// Features of networks in addition to connectivity. Defaults to routers, QoS, trunks, segments and port forwarding.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	ServicePlugins []ServicePlugin `json:"servicePlugins,omitempty"`
	// DNS servers for virtual machines in subnets without DNS servers. The nodes send the queries. Defaults to none.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	DNSServers []IPAddress `json:"dnsServers,omitempty"`
	// Domain of virtual machines' names. Defaults to openstacklocal.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`
	// +optional
	DNSDomain string `json:"dnsDomain,omitempty"`
	// Translate floating IPs on the node of each virtual machine, which must be connected to the external networks. Defaults to translation
	// on gateway nodes.
	// +optional
	DistributedFloatingIPs bool `json:"distributedFloatingIPs,omitempty"`
	// Zones of nodes for routers without a requested zone. The nodes report their zones.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	AvailabilityZones []AvailabilityZone `json:"availabilityZones,omitempty"`
	// Default quotas of projects. Defaults to the quotas of Neutron.
	// +optional
	Quotas *Quotas `json:"quotas,omitempty"`
}

// AvailabilityZone is the name of a zone.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
type AvailabilityZone string

// ServicePlugin is a feature of networks.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_-]*$`
type ServicePlugin string

// IPAddress is an address of IPv4 or IPv6.
// +kubebuilder:validation:MaxLength=39
// +kubebuilder:validation:XValidation:rule="isIP(self)",message="must be an IP address, such as 10.0.1.1"
type IPAddress string

// ML2 configures types of networks.
// +kubebuilder:validation:XValidation:rule="!has(self.tenantNetworkTypes) || !has(self.typeDrivers) || self.tenantNetworkTypes.all(t, t in self.typeDrivers)",message="tenantNetworkTypes must contain only entries of typeDrivers",fieldPath=".tenantNetworkTypes"
// +kubebuilder:validation:XValidation:rule="!has(self.tenantNetworkTypes) || !('vlan' in self.tenantNetworkTypes) || has(self.physicalNetworks) && self.physicalNetworks.exists(p, has(p.vlanRanges) && p.vlanRanges.size() > 0)",message="vlan in tenantNetworkTypes requires a physical network with vlanRanges",fieldPath=".physicalNetworks"
// +kubebuilder:validation:XValidation:rule="!has(self.sriov) || has(self.physicalNetworks) && self.physicalNetworks.size() > 0",message="sriov requires physicalNetworks: ports of network cards are connected to them",fieldPath=".physicalNetworks"
type ML2 struct {
	// Types of networks that administrators can create. Defaults to geneve, vlan and flat.
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	// +optional
	TypeDrivers []NetworkType `json:"typeDrivers,omitempty"`
	// Types of networks that projects get. Defaults to geneve.
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	// +optional
	TenantNetworkTypes []NetworkType `json:"tenantNetworkTypes,omitempty"`
	// Extensions of ports and networks. Defaults to port_security, qos and dns.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	ExtensionDrivers []ExtensionDriver `json:"extensionDrivers,omitempty"`
	// Physical networks of nodes. HypervisorClusters configure the connections.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	PhysicalNetworks []PhysicalNetwork `json:"physicalNetworks,omitempty"`
	// MTU between nodes, in bytes, including the headers of tunnels. Defaults to 1500.
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9216
	// +optional
	MTU *int32 `json:"mtu,omitempty"`
	// Numbers of tunnels. Defaults to 1:65536.
	// +optional
	VNIRange NumberRange `json:"vniRange,omitempty"`
	// Allow virtual functions of network cards (SR-IOV) in virtual machines, on nodes with the agent. Defaults to none.
	// +optional
	SRIOV *SRIOV `json:"sriov,omitempty"`
}

// SRIOV configures virtual functions of network cards in virtual machines.
type SRIOV struct {
	// Kinds of ports that are rejected: direct is a virtual function, macvtap one behind a device of the node, direct-physical a whole card.
	// Defaults to none.
	// +kubebuilder:validation:MaxItems=2
	// +listType=set
	// +optional
	ProhibitedVNICTypes []VNICType `json:"prohibitedVNICTypes,omitempty"`
}

// VNICType is a kind of port of a network card.
// +kubebuilder:validation:Enum=direct;macvtap;direct-physical
type VNICType string

// NetworkType is a type of network.
// +kubebuilder:validation:Enum=geneve;vxlan;vlan;flat;local
type NetworkType string

// ExtensionDriver is an ML2 extension driver.
// +kubebuilder:validation:Enum=port_security;qos;dns;dns_domain_ports;subnet_dns_publish_fixed_ip;uplink_status_propagation
type ExtensionDriver string

// PhysicalNetwork is an external network.
type PhysicalNetwork struct {
	// Name of the network, as HypervisorClusters map it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	Name string `json:"name"`
	// Allow networks without a VLAN.
	// +optional
	Flat bool `json:"flat,omitempty"`
	// VLANs for projects: 100:199. Administrators may use any.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	VLANRanges []NumberRange `json:"vlanRanges,omitempty"`
	// MTU of the network, in bytes. Defaults to the MTU between nodes.
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9216
	// +optional
	MTU *int32 `json:"mtu,omitempty"`
}

// NumberRange is a range of numbers: 100:199.
// +kubebuilder:validation:MaxLength=17
// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,7}:[1-9][0-9]{0,7}$`
type NumberRange string

// Quotas limit each project. -1 is unlimited.
type Quotas struct {
	// Networks.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	Networks *int32 `json:"networks,omitempty"`
	// Subnets.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	Subnets *int32 `json:"subnets,omitempty"`
	// Ports. Each virtual machine and each router has one for each of its networks.
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
	// Result of the last comparison of its database with OVN. Unset: there was none.
	// +optional
	Sync *common.OVNSyncAnswer `json:"sync,omitempty"`
}

package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Agents configures the daemons on each node, except libvirt.
type Agents struct {
	// Agent of Nova, which starts virtual machines.
	// +optional
	NovaCompute NovaCompute `json:"novaCompute,omitempty"`
	// Controller of OVN, which translates logical networks into flows.
	// +optional
	OVNController Process `json:"ovnController,omitempty"`
	// Open vSwitch.
	// +optional
	OpenVSwitch Process `json:"openvswitch,omitempty"`
	// Neutron's agent for access of virtual machines to the metadata API.
	// +optional
	Metadata MetadataAgent `json:"metadata,omitempty"`
	// Other agents of Neutron: agents of the switch, of routers and of DHCP, with mechanism OVS of the control plane, and the agent of SR-IOV
	// network cards, on nodes with such cards (pciDevices[].physicalNetwork).
	// +optional
	Neutron NeutronAgents `json:"neutron,omitempty"`
	// KVM node agent, which reports the state of libvirt and systemd of a node in the Hypervisor that the hypervisor operator creates. It
	// requires lifecycle, libvirt of the node (virtualization.libvirt.mode), and a limit with hypervisorAgents.
	// +optional
	KVMNodeAgent PlatformAgent `json:"kvmNodeAgent,omitempty"`
	// OVS agent, which reports the configuration and state of Open vSwitch in an OVSNode for each node.
	// +optional
	OVSAgent OVSAgent `json:"ovsAgent,omitempty"`
	// Labels injector, which copies topology labels of each node to the pods of this pool on it.
	// +optional
	LabelsInjector PlatformAgent `json:"labelsInjector,omitempty"`
}

// Process configures the image and the resources of a daemon on each node.
type Process struct {
	// Container image. Defaults to the image of the platform.
	// +optional
	Image *common.InfrastructureImage `json:"image,omitempty"`
	// Resources of the container. Defaults to the resources of the platform.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// OVSAgent is the OVS agent.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || (has(self.image) && (has(self.image.tag) || has(self.image.digest)))",message="ovsAgent.enabled requires image.tag or image.digest: no version of the OVS agent has been released"
type OVSAgent struct {
	// Run the agent. Defaults to false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Container image, with its tag or digest. It is required, because no version of the agent has been released.
	// +optional
	Image *common.InfrastructureImage `json:"image,omitempty"`
	// Resources of the container. Defaults to the resources of the platform.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// PlatformAgent is an agent with permissions of the platform in the nodes' cluster. The platform therefore selects its image.
type PlatformAgent struct {
	// Run the agent. Defaults to false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Resources of the container. Defaults to the resources of the platform.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// MetadataAgent is Neutron's agent.
type MetadataAgent struct {
	// Run the agent. Defaults to true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Container image. Defaults to the image of the control plane's OpenStack release.
	// +optional
	Image *common.Image `json:"image,omitempty"`
	// Resources of the container. Defaults to the resources of the platform.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// NeutronAgents configures the agents of networks without OVN, and the agents of SR-IOV network cards.
type NeutronAgents struct {
	// Container image of all agents, including the metadata agent. Defaults to the image of the control plane's OpenStack release.
	// +optional
	Image *common.Image `json:"image,omitempty"`
	// Resources of the container of each agent. Defaults to the resources of the platform.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// NovaCompute configures nova-compute.
type NovaCompute struct {
	// Container image. Defaults to the image of the control plane's OpenStack release.
	// +optional
	Image *common.Image `json:"image,omitempty"`
	// Resources of the container. Defaults to the resources of the platform.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
	// Options of nova.conf, as {<group>: {<option>: <value>}}. Only options that affect nothing except virtual machines are allowed, because
	// nova-compute has permissions on its node.
	// +optional
	Config common.Config `json:"config,omitempty"`
}

// Lifecycle configures the onboarding and offboarding of nodes.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.credentialsSecretRef)",message="lifecycle.enabled requires credentialsSecretRef: the hypervisor operator logs in to Keystone as a user of your cloud, with a password"
type Lifecycle struct {
	// Let the hypervisor operator onboard and offboard nodes. Defaults to false. Labels and annotations of a node control the operator. The
	// operator alone manages zone, aggregates and traits of nodes.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Secret with username and password of a user of the control plane's Keystone: an administrator in project, who also has a role in
	// project test of domain cc3test, in which the operator starts virtual machines on new nodes.
	// +optional
	CredentialsSecretRef *common.SecretReference `json:"credentialsSecretRef,omitempty"`
	// Domain of the user.
	// +kubebuilder:default=Default
	// +optional
	UserDomain IdentityName `json:"userDomain,omitempty"`
	// Project in which the user is an administrator.
	// +kubebuilder:default=admin
	// +optional
	Project IdentityName `json:"project,omitempty"`
	// Domain of the project.
	// +kubebuilder:default=Default
	// +optional
	ProjectDomain IdentityName `json:"projectDomain,omitempty"`
}

// IdentityName is the name of a project or a domain in Keystone.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._ -]*$`
type IdentityName string

package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Agents are what runs on each node besides libvirt.
type Agents struct {
	// Nova's agent, which starts virtual machines.
	// +optional
	NovaCompute NovaCompute `json:"novaCompute,omitempty"`
	// OVN's controller, which turns logical networks into flows.
	// +optional
	OVNController Process `json:"ovnController,omitempty"`
	// Open vSwitch.
	// +optional
	OpenVSwitch Process `json:"openvswitch,omitempty"`
	// Neutron's agent, which lets virtual machines reach the metadata API.
	// +optional
	Metadata MetadataAgent `json:"metadata,omitempty"`
	// Neutron's other agents: those of the switch, of routers and of DHCP, where they make the control plane's networks (mechanism OVS), and
	// that of network cards, where nodes have some (pciDevices[].physicalNetwork).
	// +optional
	Neutron NeutronAgents `json:"neutron,omitempty"`
	// KVM node agent, which reports what libvirt and systemd of a node say to the Hypervisor that the hypervisor operator makes of it: it
	// needs lifecycle, libvirt of the node's own (virtualization.libvirt.mode), and a limit with hypervisorAgents.
	// +optional
	KVMNodeAgent PlatformAgent `json:"kvmNodeAgent,omitempty"`
	// OVS agent, which reports what Open vSwitch has and does, in an OVSNode for each node.
	// +optional
	OVSAgent OVSAgent `json:"ovsAgent,omitempty"`
	// HA agent, which notices lost virtual machines and nodes.
	// +optional
	HAAgent Agent `json:"haAgent,omitempty"`
	// Labels injector, which copies labels of each node that say where it is to pods of this pool on it.
	// +optional
	LabelsInjector PlatformAgent `json:"labelsInjector,omitempty"`
}

// Process is the image and the resources of something that runs on each node.
type Process struct {
	// Container image. Absent: the platform's.
	// +optional
	Image *common.InfrastructureImage `json:"image,omitempty"`
	// Resources of the container. Absent: the platform's.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// Agent is an agent that can be left out.
type Agent struct {
	// Run the agent. Absent: yes.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	Process `json:",inline"`
}

// OVSAgent is the OVS agent.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || (has(self.image) && (has(self.image.tag) || has(self.image.digest)))",message="ovsAgent.enabled needs image.tag or image.digest: no version of the OVS agent is released"
type OVSAgent struct {
	// Run the agent. Absent: no.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Container image, with its tag or digest. Absent: the agent is not run, since no version of it is released.
	// +optional
	Image *common.InfrastructureImage `json:"image,omitempty"`
	// Resources of the container. Absent: the platform's.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// PlatformAgent is one with rights of the platform in the nodes' cluster, so that its image is the platform's.
type PlatformAgent struct {
	// Run it. Absent: no.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Resources of the container. Absent: the platform's.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// MetadataAgent is Neutron's agent.
type MetadataAgent struct {
	// Run the agent. Absent: yes.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Container image. Absent: the image of the control plane's OpenStack release.
	// +optional
	Image *common.Image `json:"image,omitempty"`
	// Resources of the container. Absent: the platform's.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// NeutronAgents are those that make networks without OVN, and those of network cards.
type NeutronAgents struct {
	// Container image of all of them, that of metadata too. Absent: the image of the control plane's OpenStack release.
	// +optional
	Image *common.Image `json:"image,omitempty"`
	// Resources of the container of each. Absent: the platform's.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
}

// NovaCompute is Nova's agent.
type NovaCompute struct {
	// Container image. Absent: the image of the control plane's OpenStack release.
	// +optional
	Image *common.Image `json:"image,omitempty"`
	// Resources of the container. Absent: the platform's.
	// +optional
	Resources *common.Resources `json:"resources,omitempty"`
	// Options of nova.conf, as {<group>: {<option>: <value>}}: those that reach nothing beside virtual machines, since
	// nova-compute has rights of its node.
	// +optional
	Config common.Config `json:"config,omitempty"`
}

// Lifecycle says how nodes enter and leave service.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.credentialsSecretRef)",message="lifecycle.enabled needs credentialsSecretRef: the hypervisor operator logs in to Keystone as a user of your own, by a password"
type Lifecycle struct {
	// Let the hypervisor operator take nodes into service and out of it. Absent: no. Nodes say by their labels and annotations what it does
	// with each, and it alone says which zone, aggregates and traits they have.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Secret with username and password of a user of the control plane's Keystone: an administrator in project, who also has a role in project
	// test of domain cc3test, where the operator starts virtual machines on new nodes.
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

package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// HypervisorAccess is what pools of hypervisors are told of a control plane: where things are, and in which Secrets of its namespace the
// logins lie. Nothing here is a secret.
type HypervisorAccess struct {
	// Region of the catalog.
	// +kubebuilder:validation:MaxLength=255
	Region string `json:"region"`
	// Address of Keystone inside the cluster.
	IdentityURL common.URL `json:"identityURL"`
	// Public address of Keystone. Absent: the APIs are not exposed.
	// +optional
	PublicIdentityURL common.URL `json:"publicIdentityURL,omitempty"`
	// Secret key with the authority of the certificates of all services.
	CASecretRef common.SecretKeyReference `json:"caSecretRef"`
	// Secret with Nova's application credential.
	CredentialSecretRef common.LocalReference `json:"credentialSecretRef"`
	// Secret with what requests of virtual machines for metadata are signed by.
	MetadataSecretRef common.LocalReference `json:"metadataSecretRef"`
	// Who keeps keys of what is encrypted. Absent: nothing is.
	// +optional
	KeyManager *common.KeyManager `json:"keyManager,omitempty"`
	// Cells of Nova.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Cells []CellAccess `json:"cells"`
	// Who makes virtual networks.
	// +optional
	Networks *NetworkAccess `json:"networks,omitempty"`
	// Backends of Cinder. Absent: there is none.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=backend
	// +optional
	Volumes []VolumeAccess `json:"volumes,omitempty"`
}

// VolumeAccess is by whom hypervisors open volumes of a backend whose disks are in a Ceph. Cinder tells the rest with each volume.
type VolumeAccess struct {
	// Name of the backend.
	// +kubebuilder:validation:MaxLength=30
	Backend string `json:"backend"`
	// User of Ceph. Absent: its disks are files.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	User string `json:"user,omitempty"`
	// Secret with the user's keyring.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	SecretName string `json:"secretName,omitempty"`
	// UUID by which libvirt knows the key.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	SecretUUID string `json:"secretUUID,omitempty"`
}

// CellAccess is where hypervisors of a cell find what they need.
type CellAccess struct {
	// Name of the cell.
	// +kubebuilder:validation:MaxLength=20
	Name string `json:"name"`
	// Message queue of the cell.
	Queue common.Queue `json:"queue"`
	// Where other clusters reach that queue. Absent: it is not exposed, or has no address yet.
	// +optional
	ExternalQueue *ExternalAddress `json:"externalQueue,omitempty"`
	// Virtual host of the cell there.
	// +kubebuilder:validation:MaxLength=127
	VirtualHost string `json:"virtualHost"`
	// Secret with the user of the queue, who is another one regularly.
	QueueSecretRef common.LocalReference `json:"queueSecretRef"`
	// Host of the metadata API.
	// +kubebuilder:validation:MaxLength=253
	MetadataHost string `json:"metadataHost"`
	// Networks of the cell's hypervisors. Absent: nobody says where they are.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	HypervisorNetworks []common.CIDR `json:"hypervisorNetworks,omitempty"`
	// Page on which screens are shown by VNC.
	// +optional
	VNCURL common.URL `json:"vncURL,omitempty"`
	// Page on which screens are shown by SPICE.
	// +optional
	SPICEURL common.URL `json:"spiceURL,omitempty"`
	// Address of serial consoles: wss://serial.example.com.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	SerialURL string `json:"serialURL,omitempty"`
}

// ExternalAddress is a host and a port at which other clusters reach something.
type ExternalAddress struct {
	// Name or address.
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`
	// Port.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}

// NetworkAccess is where nodes learn which virtual networks they have.
type NetworkAccess struct {
	// Who makes them: OVN or OVS.
	// +kubebuilder:validation:MaxLength=15
	Mechanism string `json:"mechanism"`
	// Addresses of OVN's southbound database, or of its relays. Absent: they are not known yet.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Southbound string `json:"southbound,omitempty"`
	// Where other clusters reach it. Absent: it is not exposed, or has no address yet.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ExternalSouthbound string `json:"externalSouthbound,omitempty"`
	// Issuer, in the control plane's namespace, of certificates by which OVN knows nodes. Absent: the databases are somebody else's.
	// +optional
	IssuerRef *common.IssuerReference `json:"issuerRef,omitempty"`
	// What agents of nodes need, so that they fit to Neutron. Absent: OVN makes the networks, and there are no network cards (ml2.sriov).
	// +optional
	Agents *NetworkAgents `json:"agents,omitempty"`
}

// NetworkAgents is what Neutron's agents on nodes are told: those that make networks, and those of network cards.
type NetworkAgents struct {
	// Message queue by which Neutron talks to them.
	Queue common.Queue `json:"queue"`
	// Virtual host of Neutron there.
	// +kubebuilder:validation:MaxLength=63
	VirtualHost string `json:"virtualHost"`
	// Secret with Neutron's user of the queue, who is another one regularly.
	QueueSecretRef common.LocalReference `json:"queueSecretRef"`
	// Protocols of the tunnels between nodes. Absent: there are none.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=15
	// +listType=atomic
	// +optional
	Tunnels []string `json:"tunnels,omitempty"`
	// Physical networks in which virtual machines may have functions of network cards (SR-IOV). Absent: none.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=set
	// +optional
	SRIOVNetworks []string `json:"sriovNetworks,omitempty"`
	// Service plugins of Neutron that have a part in agents.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	ServicePlugins []string `json:"servicePlugins,omitempty"`
	// Routers are distributed: each node has a part of each.
	// +optional
	Distributed bool `json:"distributed,omitempty"`
	// Domain of the names of virtual machines.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	DNSDomain string `json:"dnsDomain,omitempty"`
}

package v1alpha1

import (
	"cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	ovn "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
)

// HypervisorAccess is the connection data of a control plane for pools of hypervisors: addresses, and names of Secrets in its namespace.
// It contains no secrets.
type HypervisorAccess struct {
	// Region of the catalog.
	// +kubebuilder:validation:MaxLength=255
	Region string `json:"region"`
	// Address of Keystone inside the cluster.
	IdentityURL common.URL `json:"identityURL"`
	// Public address of Keystone. Unset: the APIs are not exposed.
	// +optional
	PublicIdentityURL common.URL `json:"publicIdentityURL,omitempty"`
	// Secret key with the authority of the certificates of all services.
	CASecretRef common.SecretKeyReference `json:"caSecretRef"`
	// Secret with Nova's application credential, which pools of earlier versions have until they have an account of their own.
	CredentialSecretRef common.LocalReference `json:"credentialSecretRef"`
	// Keystone, in which each pool has a separate account. Unset: the control plane has not been composed since the upgrade.
	// +optional
	Identity *common.Identity `json:"identity,omitempty"`
	// Secret with the key that signs metadata requests of virtual machines.
	MetadataSecretRef common.LocalReference `json:"metadataSecretRef"`
	// Key manager of encrypted volumes. Unset: volumes are not encrypted.
	// +optional
	KeyManager *common.KeyManager `json:"keyManager,omitempty"`
	// Cells of Nova.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Cells []CellAccess `json:"cells"`
	// Virtual networks.
	// +optional
	Networks *NetworkAccess `json:"networks,omitempty"`
	// Backends of Cinder. Unset: there are none.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=backend
	// +optional
	Volumes []VolumeAccess `json:"volumes,omitempty"`
}

// VolumeAccess is the Ceph user with which hypervisors open volumes of a backend. Cinder passes the other connection data with each
// volume.
type VolumeAccess struct {
	// Name of the backend.
	// +kubebuilder:validation:MaxLength=30
	Backend string `json:"backend"`
	// Name of the Ceph user. Unset: the volumes are files.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	User string `json:"user,omitempty"`
	// Secret with the user's keyring.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	SecretName string `json:"secretName,omitempty"`
	// UUID of the key in libvirt.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	SecretUUID string `json:"secretUUID,omitempty"`
}

// CellAccess is the connection data of a cell for its hypervisors.
type CellAccess struct {
	// Name of the cell.
	// +kubebuilder:validation:MaxLength=20
	Name string `json:"name"`
	// Message queue of the cell.
	Queue common.Queue `json:"queue"`
	// Address of that queue for other clusters. Unset: it is not exposed, or has no address yet.
	// +optional
	ExternalQueue *ExternalAddress `json:"externalQueue,omitempty"`
	// Virtual host of the cell in the queue.
	// +kubebuilder:validation:MaxLength=127
	VirtualHost string `json:"virtualHost"`
	// Secret with the current user of the queue, which is rotated.
	QueueSecretRef common.LocalReference `json:"queueSecretRef"`
	// Host of the metadata API.
	// +kubebuilder:validation:MaxLength=253
	MetadataHost string `json:"metadataHost"`
	// Networks of the cell's hypervisors. Unset: unknown.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	HypervisorNetworks []common.CIDR `json:"hypervisorNetworks,omitempty"`
	// Address of VNC consoles.
	// +optional
	VNCURL common.URL `json:"vncURL,omitempty"`
	// Issuer, in the control plane's namespace, of the certificates of hypervisors for VNC. Unset: the cell has no VNC consoles, or has not
	// been composed since the upgrade.
	// +optional
	VNCIssuerRef *common.IssuerReference `json:"vncIssuerRef,omitempty"`
	// Address of SPICE consoles.
	// +optional
	SPICEURL common.URL `json:"spiceURL,omitempty"`
	// Address of serial consoles: wss://serial.example.com.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	SerialURL string `json:"serialURL,omitempty"`
}

// ExternalAddress is a host and a port for connections from other clusters.
type ExternalAddress struct {
	// Name or address.
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`
	// Port.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}

// NetworkAccess is the connection data of virtual networks for nodes.
type NetworkAccess struct {
	// Mechanism of the networks: OVN or OVS.
	// +kubebuilder:validation:MaxLength=15
	Mechanism string `json:"mechanism"`
	// Addresses of OVN's southbound database, or of its relays. Unset: not known yet.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Southbound string `json:"southbound,omitempty"`
	// Addresses of the southbound database, or of its relays, for nodes with a separate certificate, whose writes OVN limits. Unset: the
	// databases do not serve them yet, or are external.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	ChassisSouthbound string `json:"chassisSouthbound,omitempty"`
	// Addresses of the southbound database for other clusters. Unset: it is not exposed, or has no address yet.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ExternalSouthbound string `json:"externalSouthbound,omitempty"`
	// Probe interval of clients of OVN, in seconds.
	// +optional
	InactivityProbeSeconds int32 `json:"inactivityProbeSeconds,omitempty"`
	// Issuer, in the control plane's namespace, of the certificates of nodes for OVN. Unset: the databases are external.
	// +optional
	IssuerRef *common.IssuerReference `json:"issuerRef,omitempty"`
	// Configuration of agents on nodes that must match Neutron. Unset: OVN manages the networks, and SR-IOV (ml2.sriov) is not configured.
	// +optional
	Agents *NetworkAgents `json:"agents,omitempty"`
}

// ProbeMilliseconds returns the idle time after which a client of the southbound database probes its connection.
func (n *NetworkAccess) ProbeMilliseconds() int32 {
	const milliseconds = 1000
	return cmp.Or(n.InactivityProbeSeconds, ovn.DefaultInactivityProbeSeconds) * milliseconds
}

// NetworkAgents is the configuration of Neutron's agents on nodes: agents of networks and agents of SR-IOV network cards.
type NetworkAgents struct {
	// Message queue between Neutron and the agents.
	Queue common.Queue `json:"queue"`
	// Virtual host of Neutron in the queue.
	// +kubebuilder:validation:MaxLength=63
	VirtualHost string `json:"virtualHost"`
	// Secret with Neutron's current user of the queue, which is rotated.
	QueueSecretRef common.LocalReference `json:"queueSecretRef"`
	// Protocols of the tunnels between nodes. Unset: no tunnels.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=15
	// +listType=atomic
	// +optional
	Tunnels []string `json:"tunnels,omitempty"`
	// Physical networks in which virtual machines may have virtual functions of network cards (SR-IOV). Unset: none.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=set
	// +optional
	SRIOVNetworks []string `json:"sriovNetworks,omitempty"`
	// Service plugins of Neutron that require an extension of the agents.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	ServicePlugins []string `json:"servicePlugins,omitempty"`
	// Routers are distributed: each node runs a part of each router.
	// +optional
	Distributed bool `json:"distributed,omitempty"`
	// Domain of the names of virtual machines.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	DNSDomain string `json:"dnsDomain,omitempty"`
}

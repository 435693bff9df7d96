package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	glance "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	keystone "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
)

// Keystone is the identity service.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled",message="Keystone cannot be switched off: every other service authenticates through it"
type Keystone struct {
	// Keystone is always there.
	// +optional
	Enabled         *bool `json:"enabled,omitempty"`
	common.Workload `json:",inline"`
	common.Service  `json:",inline"`
	// Keys that tokens are encrypted with.
	// +optional
	Fernet *keystone.Fernet `json:"fernet,omitempty"`
	// Keys that stored credentials are encrypted with.
	// +optional
	CredentialKeys *keystone.CredentialKeys `json:"credentialKeys,omitempty"`
	// The first user.
	// +kubebuilder:default={adminUser: admin}
	// +optional
	Bootstrap *Bootstrap `json:"bootstrap,omitempty"`
	// Domains whose users live in a directory.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=domain
	// +optional
	IdentityBackends []keystone.IdentityBackend `json:"identityBackends,omitempty"`
	// Login through an OpenID Connect provider.
	// +optional
	Federation *keystone.Federation `json:"federation,omitempty"`
	// Removal of expired trusts.
	// +optional
	TrustFlush *keystone.TrustFlush `json:"trustFlush,omitempty"`
	// Processes of each pod.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

// Bootstrap names the first user.
// +kubebuilder:validation:XValidation:rule="self.adminUser == oldSelf.adminUser",message="adminUser cannot be changed: bootstrap would make a second administrator beside the first"
type Bootstrap struct {
	// Name of the administrator.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	// +kubebuilder:default=admin
	// +optional
	AdminUser string `json:"adminUser,omitempty"`
}

// Switch turns a service on.
type Switch struct {
	// Run the service.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// Glance is the image service.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.stores) && self.stores.size() > 0",message="Glance needs a place for images: write stores: [{name: main, file: {storageSize: 100Gi}}], or a store with s3, rbd or swift",fieldPath=".stores"
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || !has(oldSelf.enabled) || !oldSelf.enabled || (has(self.__import__) && has(self.__import__.staging) ? [self.__import__.staging] : []) == (has(oldSelf.__import__) && has(oldSelf.__import__.staging) ? [oldSelf.__import__.staging] : []) && (has(self.imageCache) ? [self.imageCache] : []) == (has(oldSelf.imageCache) ? [oldSelf.imageCache] : [])",message="import.staging and imageCache stay as Glance was started with: pods keep their volumes; switch Glance off, change them, and switch it on again"
type Glance struct {
	Switch          `json:",inline"`
	common.Workload `json:",inline"`
	common.Service  `json:",inline"`
	glance.Storage  `json:",inline"`
	// Processes of each pod.
	// +optional
	UWSGI *glance.UWSGI `json:"uwsgi,omitempty"`
}

// Placement is the resource inventory.
type Placement struct {
	Switch          `json:",inline"`
	common.Workload `json:",inline"`
	common.Service  `json:",inline"`
	// Processes of each pod.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

// Nova is the compute service.
type Nova struct {
	Switch         `json:",inline"`
	common.Service `json:",inline"`
	// The API.
	// +optional
	API *common.Workload `json:"api,omitempty"`
	// The metadata API that virtual machines ask.
	// +optional
	Metadata *common.Workload `json:"metadata,omitempty"`
	// The scheduler.
	// +optional
	Scheduler *common.Workload `json:"scheduler,omitempty"`
	// The conductors, of the whole and of each cell.
	// +optional
	Conductor *common.Workload `json:"conductor,omitempty"`
	// The console proxy.
	// +optional
	NoVNCProxy *common.Workload `json:"novncproxy,omitempty"`
	// Cells besides cell0. Absent: cell1.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Cells []NovaCell `json:"cells,omitempty"`
}

// NovaCell is a group of hypervisors with a database and a queue of its own.
type NovaCell struct {
	// Name of the cell.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*$`
	Name string `json:"name"`
}

// Neutron is the network service.
type Neutron struct {
	Switch         `json:",inline"`
	common.Service `json:",inline"`
	// The API.
	// +optional
	API *common.Workload `json:"api,omitempty"`
	// Layer 2 networks.
	// +optional
	ML2 *ML2 `json:"ml2,omitempty"`
	// OVN's databases.
	// +optional
	OVN *OVN `json:"ovn,omitempty"`
}

// ML2 says which kinds of networks there are.
type ML2 struct {
	// Kinds of networks that administrators can make.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	TypeDrivers []NetworkType `json:"typeDrivers,omitempty"`
	// Kinds of networks that projects get.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	TenantNetworkTypes []NetworkType `json:"tenantNetworkTypes,omitempty"`
	// Extensions of ports and networks.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	ExtensionDrivers []ExtensionDriver `json:"extensionDrivers,omitempty"`
}

// NetworkType is a kind of network.
// +kubebuilder:validation:Enum=geneve;vlan;flat;local
type NetworkType string

// ExtensionDriver is an ML2 extension driver.
// +kubebuilder:validation:Enum=port_security;qos;dns;dns_domain_ports;subnet_dns_publish_fixed_ip
type ExtensionDriver string

// OVN describes the databases of the virtual network.
type OVN struct {
	// Members of each database.
	// +kubebuilder:validation:Enum=1;3;5
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Volume of each member.
	// +optional
	Storage `json:",inline"`
}

// Cinder is the block storage service.
type Cinder struct {
	Switch         `json:",inline"`
	common.Service `json:",inline"`
	// The API.
	// +optional
	API *common.Workload `json:"api,omitempty"`
	// The scheduler.
	// +optional
	Scheduler *common.Workload `json:"scheduler,omitempty"`
	// The volume managers, for each backend.
	// +optional
	Volume *common.Workload `json:"volume,omitempty"`
	// The backup service.
	// +optional
	Backup *common.Workload `json:"backup,omitempty"`
	// Where volumes are kept.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Backends []CinderBackend `json:"backends,omitempty"`
	// Volume type of volumes that name none.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	DefaultVolumeType string `json:"defaultVolumeType,omitempty"`
}

// CinderBackend is one place where volumes are kept.
type CinderBackend struct {
	// Name of the backend. Underscores, no hyphens: environment variables carry it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*$`
	Name string `json:"name"`
	// Storage pool.
	Storage common.StoragePool `json:"storage"`
}

// Heat is the orchestration service.
type Heat struct {
	Switch         `json:",inline"`
	common.Service `json:",inline"`
	// The API.
	// +optional
	API *common.Workload `json:"api,omitempty"`
	// The engine.
	// +optional
	Engine *common.Workload `json:"engine,omitempty"`
}

// Horizon is the dashboard.
type Horizon struct {
	Switch          `json:",inline"`
	common.Workload `json:",inline"`
	common.Service  `json:",inline"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Keystone is the identity service of one control plane. A ControlPlaneCluster makes it and fills in every field, so
// that it looks nothing up.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.release`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Update",type=string,JSONPath=`.status.updatePhase`,priority=1
// +kubebuilder:printcolumn:name="Reachable",type=string,JSONPath=`.status.live.reachable`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
type Keystone struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec KeystoneSpec `json:"spec"`
	// Observed state.
	// +optional
	Status KeystoneStatus `json:"status,omitempty"`
}

// KeystoneSpec is the desired state of a Keystone.
type KeystoneSpec struct {
	// Settings for Crossplane. Its fields are those that Crossplane adds to every definition.
	// +optional
	Crossplane *common.Crossplane `json:"crossplane,omitempty"`
	// OpenStack release.
	// +kubebuilder:validation:Enum="2025.1";"2025.2";"2026.1";"2026.2"
	OpenStackRelease string `json:"openStackRelease"`
	// Where the workloads run.
	// +optional
	Target          common.Target `json:"target,omitempty"`
	common.Workload `json:",inline"`
	// Container image. Absent: the image of the release.
	// +optional
	Image            *common.Image `json:"image,omitempty"`
	common.Overrides `json:",inline"`
	// Where images come from.
	// +optional
	Images common.Images `json:"images,omitempty"`
	// Region of the catalog.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region"`
	// Database server.
	Database Database `json:"database"`
	// Token cache.
	Cache Cache `json:"cache"`
	// Addresses of the API.
	Endpoints Endpoints `json:"endpoints"`
	// How the API is reached from outside. Absent: it is not.
	// +optional
	Exposure *common.ServiceExposure `json:"exposure,omitempty"`
	// Issuer of the certificates that are used inside the cluster.
	IssuerRef common.IssuerReference `json:"issuerRef"`
	// The first user.
	// +optional
	Bootstrap Bootstrap `json:"bootstrap,omitempty"`
	// Keys that tokens are encrypted with.
	// +optional
	Fernet Fernet `json:"fernet,omitempty"`
	// Keys that stored credentials are encrypted with.
	// +optional
	CredentialKeys CredentialKeys `json:"credentialKeys,omitempty"`
	// Domains whose users live in a directory.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=domain
	// +optional
	IdentityBackends []IdentityBackend `json:"identityBackends,omitempty"`
	// IDs of the domains of identityBackends, as far as there are any. Keystone reads a domain's file when it starts, and only if the domain
	// exists, so that its pods are replaced when one was made.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	DomainIDs map[string]DomainID `json:"domainIDs,omitempty"`
	// Login through an OpenID Connect provider.
	// +optional
	Federation *Federation `json:"federation,omitempty"`
	// Removal of expired trusts.
	// +optional
	TrustFlush TrustFlush `json:"trustFlush,omitempty"`
	// Processes of each pod.
	// +optional
	UWSGI UWSGI `json:"uwsgi,omitempty"`
	// Replacement of the application credential that K-ORC logs in by.
	// +optional
	KORCCredential common.Rotation `json:"korcCredential,omitempty"`
	// Prometheus objects.
	// +optional
	Monitoring common.Monitoring `json:"monitoring,omitempty"`
	// Store that generated secrets and keys are backed up to.
	// +optional
	SecretStore *common.SecretStoreReference `json:"secretStore,omitempty"`
	// What happens to the database account, keys and generated secrets when the Keystone is deleted.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// DomainID is the ID of a domain in Keystone.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
type DomainID string

// Database is the server of the service's database.
type Database struct {
	// MariaDB object in the workload namespace.
	MariaDBRef common.LocalReference `json:"mariaDBRef"`
	// Host name that clients connect to.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host"`
	// Port.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=3306
	// +optional
	Port int32 `json:"port,omitempty"`
	// Secret key that holds the authority of the server's certificate.
	CASecretRef common.SecretKeyReference `json:"caSecretRef"`
	// The server is a Galera cluster.
	// +optional
	Galera bool `json:"galera,omitempty"`
}

// Cache names the memcached servers, in the same order for every pod.
type Cache struct {
	// Servers as host:port.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	Servers []CacheServer `json:"servers"`
}

// CacheServer is the address of a memcached server.
// +kubebuilder:validation:MinLength=3
// +kubebuilder:validation:MaxLength=260
// +kubebuilder:validation:Pattern=`^[a-z0-9.-]+:[0-9]{1,5}$`
type CacheServer string

// Endpoints are the addresses of the API in the catalog.
type Endpoints struct {
	// Address from outside.
	Public common.URL `json:"public"`
	// Address inside the cluster.
	Internal common.URL `json:"internal"`
}

// Bootstrap names the first user.
type Bootstrap struct {
	// Name of the administrator.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	// +kubebuilder:default=admin
	// +optional
	AdminUser string `json:"adminUser,omitempty"`
}

// Fernet are the keys that tokens are encrypted with.
type Fernet struct {
	// When keys rotate.
	// +kubebuilder:default="0 0 * * 0"
	// +optional
	RotationSchedule common.Cron `json:"rotationSchedule,omitempty"`
	// Number of keys that are kept. Absent: as many as token lifetime and schedule need.
	// +kubebuilder:validation:Minimum=3
	// +kubebuilder:validation:Maximum=200
	// +optional
	MaxActiveKeys *int32 `json:"maxActiveKeys,omitempty"`
	// Lifetime of a token, in seconds.
	// +kubebuilder:validation:Minimum=300
	// +kubebuilder:validation:Maximum=604800
	// +kubebuilder:default=3600
	// +optional
	TokenExpirationSeconds int32 `json:"tokenExpirationSeconds,omitempty"`
	// How long an expired token is still accepted along with a service's token, for operations that outlive it, in seconds.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1209600
	// +kubebuilder:default=172800
	// +optional
	AllowExpiredWindowSeconds *int32 `json:"allowExpiredWindowSeconds,omitempty"`
	// Suspend rotation.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// CredentialKeys are the keys that stored credentials (EC2, TOTP) are encrypted with.
type CredentialKeys struct {
	// When keys rotate.
	// +kubebuilder:default="0 0 1 * *"
	// +optional
	RotationSchedule common.Cron `json:"rotationSchedule,omitempty"`
	// Suspend rotation.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// TrustFlush removes trusts that have expired.
type TrustFlush struct {
	// When they are removed.
	// +kubebuilder:default="0 * * * *"
	// +optional
	Schedule common.Cron `json:"schedule,omitempty"`
	// Suspend removal.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// UWSGI shapes the processes of each pod.
type UWSGI struct {
	// Worker processes. Absent: one for each 256Mi of memory that the pod requests, 8 at most.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +optional
	Processes int32 `json:"processes,omitempty"`
	// Threads of each process.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +kubebuilder:default=1
	// +optional
	Threads int32 `json:"threads,omitempty"`
	// A request that takes longer is ended, in seconds.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=3600
	// +kubebuilder:default=60
	// +optional
	HarakiriSeconds int32 `json:"harakiriSeconds,omitempty"`
}

// KeystoneStatus is the observed state of a Keystone.
type KeystoneStatus struct {
	common.CompositionStatus `json:",inline"`
	// Generation that the phase is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase of the service.
	// +kubebuilder:validation:Enum=Pending;Creating;Ready;Updating
	// +optional
	Phase string `json:"phase,omitempty"`
	// Phase of the upgrade.
	// +kubebuilder:validation:Enum=Idle;Updating;UpdatingServices;Verifying;RollingBack
	// +optional
	UpdatePhase string `json:"updatePhase,omitempty"`
	// Release that runs.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	Release string `json:"release,omitempty"`
	// Earlier release to which the upgrade can still be aborted.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	PreviousRelease string `json:"previousRelease,omitempty"`
	// Version of Keystone that runs.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Version string `json:"version,omitempty"`
	// Public address.
	// +optional
	Endpoint common.URL `json:"endpoint,omitempty"`
	// Facts that the running Keystone reports: whether it issues tokens.
	// +optional
	Live *common.Live `json:"live,omitempty"`
	// State of each component.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Components []common.ComponentStatus `json:"components,omitempty"`
	// Names of objects that others refer to.
	// +optional
	Refs *References `json:"refs,omitempty"`
}

// References are the names of objects that others use.
type References struct {
	// Secret with the administrator's username, password and clouds.yaml.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	AdminSecret string `json:"adminSecret,omitempty"`
}

package v1alpha1

// Ports of what services share.
const (
	// CachePort is that of the cache servers, DatabasePort that of a database whose reference names none.
	CachePort    = 11211
	DatabasePort = 3306
)

// ServiceSpec holds what a control plane says to the composite resource of each of its services that has a database and options of
// oslo's. It is complete: a service looks nothing up.
type ServiceSpec struct {
	ServiceBase `json:",inline"`
	Overrides   `json:",inline"`
	// Database server.
	Database Database `json:"database"`
}

// ServiceBase holds what a control plane says to the composite resource of every service, also to one that is a client of the others alone.
type ServiceBase struct {
	// Settings for Crossplane. Its fields are those that Crossplane adds to every definition.
	// +optional
	Crossplane *Crossplane `json:"crossplane,omitempty"`
	// OpenStack release.
	// +kubebuilder:validation:Enum="2025.1";"2025.2";"2026.1";"2026.2"
	OpenStackRelease string `json:"openStackRelease"`
	// Where the workloads run.
	// +optional
	Target Target `json:"target,omitempty"`
	// Container image. Absent: the image of the release.
	// +optional
	Image *Image `json:"image,omitempty"`
	// Where images come from.
	// +optional
	Images Images `json:"images,omitempty"`
	// Region of the catalog.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region"`
	// Token cache.
	Cache Cache `json:"cache"`
	// Addresses of the API.
	Endpoints Endpoints `json:"endpoints"`
	// How the API is reached from outside. Absent: it is not.
	// +optional
	Exposure *ServiceExposure `json:"exposure,omitempty"`
	// Issuer of the certificates that are used inside the cluster.
	IssuerRef IssuerReference `json:"issuerRef"`
	// DNS domain of the cluster that the workloads run in. Defaults to cluster.local.
	// +optional
	ClusterDomain Hostname `json:"clusterDomain,omitempty"`
	// Prometheus objects.
	// +optional
	Monitoring Monitoring `json:"monitoring,omitempty"`
	// Store that generated secrets and keys are backed up to.
	// +optional
	SecretStore *SecretStoreReference `json:"secretStore,omitempty"`
	// What happens to the database account, keys and generated secrets when the service is deleted.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// Database is the server of a service's database.
type Database struct {
	// MariaDB object in the workload namespace.
	MariaDBRef LocalReference `json:"mariaDBRef"`
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
	CASecretRef SecretKeyReference `json:"caSecretRef"`
	// The server is a Galera cluster.
	// +optional
	Galera bool `json:"galera,omitempty"`
	// The server is somebody else's, and others may use it, too: with what the names begin of the databases and users that this control plane
	// has there. Absent: the server is its own.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*$`
	// +optional
	SharedAs string `json:"sharedAs,omitempty"`
}

// NameOf is what a database or a user is called on the server: by its own name, or, where others have some there, by one that is nobody
// else's. The operator takes over what has the name that it looks for, and gives a user of that name another password.
func (d *Database) NameOf(name string) string {
	if d.SharedAs == "" {
		return name
	}
	return d.SharedAs + "_" + name
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
	Public URL `json:"public"`
	// Address inside the cluster.
	Internal URL `json:"internal"`
}

// KeystoneReference is where a Keystone is, and how its certificate is verified.
type KeystoneReference struct {
	// Address inside the cluster, at which services log in and check tokens.
	InternalURL URL `json:"internalURL"`
	// Address at which clients log in.
	PublicURL URL `json:"publicURL"`
	// Secret key that holds the authority of the internal address's certificate.
	CASecretRef SecretKeyReference `json:"caSecretRef"`
	// ConfigMap with the same authority under ca.crt, in the service's namespace: a Gateway verifies the service by it. Absent: there is none.
	// +optional
	CAConfigMapRef *LocalReference `json:"caConfigMapRef,omitempty"`
	// The Keystone is outside of this control plane, and others may use it, too: this control plane's own name, with which the names end of
	// what it makes there. Absent: the Keystone is its own.
	// +optional
	SharedAs ObjectName `json:"sharedAs,omitempty"`
}

// NameOf is what something is called in the Keystone that a control plane has made there: by its own name, or, where others make things of
// the same kind, by one that is nobody else's. K-ORC takes over what has the name that it looks for, and deletes it in the end.
func (k *KeystoneReference) NameOf(name string) string {
	if k.SharedAs == "" {
		return name
	}
	return name + "-" + string(k.SharedAs)
}

// Project is the name of the project of the services' users. K-ORC changes what it takes over, and that of others is not ours to change.
func (k *KeystoneReference) Project() string {
	if k.SharedAs == "" {
		return ServiceProject
	}
	return string(k.SharedAs)
}

// Identity is the Keystone that a service belongs to: it has a user there and entries in the catalog.
type Identity struct {
	KeystoneReference `json:",inline"`
	// What the administrator logs in by, for what K-ORC cannot do.
	AdminCloudRef CloudCredentialsReference `json:"adminCloudRef"`
	// What K-ORC logs in by.
	KORCCloudRef CloudCredentialsReference `json:"korcCloudRef"`
	// Replacement of the application credential by which the service logs in, and of its user of the message queue.
	// +optional
	CredentialRotation Rotation `json:"credentialRotation,omitempty"`
}

// KeyManager is the Barbican of a control plane, which has the keys of what is encrypted for users.
type KeyManager struct {
	// Address inside the cluster.
	InternalURL URL `json:"internalURL"`
}

// CloudCredentialsReference names a cloud of a clouds.yaml, as K-ORC does.
type CloudCredentialsReference struct {
	// Secret with the keys clouds.yaml and, for an authority of one's own, cacert.
	SecretName ObjectName `json:"secretName"`
	// Cloud in the clouds.yaml.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	CloudName string `json:"cloudName"`
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
	// Least seconds after which a hung request is ended.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=3600
	// +optional
	HarakiriSeconds int32 `json:"harakiriSeconds,omitempty"`
}

// ServiceStatus is the observed state that every service's composite resource reports.
type ServiceStatus struct {
	CompositionStatus `json:",inline"`
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
	// Version of the service that runs.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Version string `json:"version,omitempty"`
	// Public address.
	// +optional
	Endpoint URL `json:"endpoint,omitempty"`
	// Facts that the running service reports.
	// +optional
	Live *Live `json:"live,omitempty"`
	// State of each component.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Components []ComponentStatus `json:"components,omitempty"`
}

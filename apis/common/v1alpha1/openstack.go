package v1alpha1

// Ports of shared servers.
const (
	// CachePort is the port of cache servers, DatabasePort the port of a database whose reference does not set one.
	CachePort    = 11211
	DatabasePort = 3306
)

// ServiceSpec is the configuration that a control plane passes to the composite resource of each service with a database and options of
// oslo. It is complete: a service reads no other object.
type ServiceSpec struct {
	ServiceBase `json:",inline"`
	Overrides   `json:",inline"`
	// Database server.
	Database Database `json:"database"`
	// Largest size of a stream in the message queue, in bytes. The queue removes the oldest messages of a larger one. Defaults to no limit, as
	// on an external queue, whose policies belong to its operator.
	// +kubebuilder:validation:Minimum=1
	// +optional
	StreamBytes int64 `json:"streamBytes,omitempty"`
}

// ServiceBase is the configuration that a control plane passes to the composite resource of every service, including services without a
// database.
type ServiceBase struct {
	// Settings for Crossplane, which adds these fields to every definition.
	// +optional
	Crossplane *Crossplane `json:"crossplane,omitempty"`
	// OpenStack release.
	// +kubebuilder:validation:Enum="2025.1";"2025.2";"2026.1";"2026.2"
	OpenStackRelease string `json:"openStackRelease"`
	// Cluster in which the workloads run.
	// +optional
	Target Target `json:"target,omitempty"`
	// Container image. Defaults to the image of the release.
	// +optional
	Image *Image `json:"image,omitempty"`
	// Registry and pull secrets of images.
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
	// External access to the API. Defaults to none.
	// +optional
	Exposure *ServiceExposure `json:"exposure,omitempty"`
	// Issuer of the certificates for traffic inside the cluster.
	IssuerRef IssuerReference `json:"issuerRef"`
	// DNS domain of the cluster that the workloads run in. Defaults to cluster.local.
	// +optional
	ClusterDomain Hostname `json:"clusterDomain,omitempty"`
	// First address family of the pods and Services of that cluster. Defaults to IPv4.
	// +optional
	IPFamily IPFamily `json:"ipFamily,omitempty"`
	// Prometheus objects.
	// +optional
	Monitoring Monitoring `json:"monitoring,omitempty"`
	// Store for backups of generated secrets and keys.
	// +optional
	SecretStore *SecretStoreReference `json:"secretStore,omitempty"`
	// Policy for the database account, keys and generated secrets when the service is deleted.
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
	// Secret key with the authority of the server's certificate.
	CASecretRef SecretKeyReference `json:"caSecretRef"`
	// The server is a Galera cluster.
	// +optional
	Galera bool `json:"galera,omitempty"`
	// Prefix of the names of databases and users of this control plane on an external, possibly shared, server. Empty if the server belongs
	// to the control plane.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*$`
	// +optional
	SharedAs string `json:"sharedAs,omitempty"`
}

// NameOf returns the name of a database or a user on the server: the given name or, on a shared server, the name with the prefix of the
// control plane. The operator adopts an existing database or user of the same name and replaces the password of the user.
func (d *Database) NameOf(name string) string {
	if d.SharedAs == "" {
		return name
	}
	return d.SharedAs + "_" + name
}

// IPFamily is an address family of Kubernetes (https://kubernetes.io/docs/concepts/services-networking/dual-stack/).
// +kubebuilder:validation:Enum=IPv4;IPv6
type IPFamily string

// IPv6 is the address family of clusters in which pods can be reached at IPv6 addresses first, or only.
const IPv6 IPFamily = "IPv6"

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

// KeystoneReference is the address of a Keystone, and the authority that verifies its certificate.
type KeystoneReference struct {
	// Address inside the cluster, at which services log in and check tokens.
	InternalURL URL `json:"internalURL"`
	// Address at which clients log in.
	PublicURL URL `json:"publicURL"`
	// Secret key with the authority of the internal address's certificate.
	CASecretRef SecretKeyReference `json:"caSecretRef"`
	// ConfigMap with the same authority under ca.crt, in the service's namespace, with which a Gateway verifies the service. Defaults to
	// none.
	// +optional
	CAConfigMapRef *LocalReference `json:"caConfigMapRef,omitempty"`
	// Suffix of the names of objects that this control plane creates in an external, possibly shared, Keystone: the name of the control
	// plane. Empty if the Keystone belongs to the control plane.
	// +optional
	SharedAs ObjectName `json:"sharedAs,omitempty"`
}

// NameOf returns the name of an object that a control plane creates in the Keystone: the given name or, in a shared Keystone, the name
// with the suffix of the control plane. K-ORC adopts an existing object of the same name, and deletes it with its own object.
func (k *KeystoneReference) NameOf(name string) string {
	if k.SharedAs == "" {
		return name
	}
	return name + "-" + string(k.SharedAs)
}

// Project returns the name of the project of the services' users. In a shared Keystone, each control plane has its own project, because
// K-ORC changes the projects that it adopts.
func (k *KeystoneReference) Project() string {
	if k.SharedAs == "" {
		return ServiceProject
	}
	return string(k.SharedAs)
}

// Identity is the Keystone of a service, in which it has a user and catalog entries.
type Identity struct {
	KeystoneReference `json:",inline"`
	// Credentials of the administrator, for operations that K-ORC does not support.
	AdminCloudRef CloudCredentialsReference `json:"adminCloudRef"`
	// Credentials of K-ORC.
	KORCCloudRef CloudCredentialsReference `json:"korcCloudRef"`
	// Rotation of the application credential of the service, and of its user of the message queue.
	// +optional
	CredentialRotation Rotation `json:"credentialRotation,omitempty"`
}

// KeyManager is the Barbican of a control plane, which stores the keys of encrypted user data.
type KeyManager struct {
	// Address inside the cluster.
	InternalURL URL `json:"internalURL"`
}

// CloudCredentialsReference names a cloud of a clouds.yaml, as K-ORC does.
type CloudCredentialsReference struct {
	// Secret with the keys clouds.yaml and, for a private authority, cacert.
	SecretName ObjectName `json:"secretName"`
	// Cloud in the clouds.yaml.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	CloudName string `json:"cloudName"`
}

// UWSGI shapes the processes of each pod.
type UWSGI struct {
	// Worker processes. Defaults to one per 256Mi of the memory request, at most 8.
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
	// Minimum seconds until a hung request is terminated.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=3600
	// +optional
	HarakiriSeconds int32 `json:"harakiriSeconds,omitempty"`
}

// ServiceStatus is the observed state that every service's composite resource reports.
type ServiceStatus struct {
	CompositionStatus `json:",inline"`
	// Generation that the phase refers to.
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
	// Current release.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	Release string `json:"release,omitempty"`
	// Earlier release to which the upgrade can still be aborted.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	PreviousRelease string `json:"previousRelease,omitempty"`
	// Current version of the service.
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

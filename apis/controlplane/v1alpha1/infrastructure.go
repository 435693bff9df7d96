package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Infrastructure configures the databases, queues and caches that services share.
type Infrastructure struct {
	// Relational database.
	// +kubebuilder:default={}
	// +optional
	MariaDB MariaDB `json:"mariadb,omitempty"`
	// Message queue.
	// +kubebuilder:default={}
	// +optional
	RabbitMQ RabbitMQ `json:"rabbitmq,omitempty"`
	// Key-value store, for locks between services.
	// +kubebuilder:default={}
	// +optional
	Valkey Valkey `json:"valkey,omitempty"`
	// Caches of tokens, sessions and computed data: one for Keystone, and one for all other services.
	// +optional
	Memcached Memcached `json:"memcached,omitempty"`
}

// Storage is the volume of each member of a stateful service.
// +kubebuilder:validation:XValidation:rule="has(self.storageClass) == has(oldSelf.storageClass) && (!has(self.storageClass) || self.storageClass == oldSelf.storageClass)",message="storageClass is immutable: data cannot be moved between storage classes; restore the previous value"
// +kubebuilder:validation:XValidation:rule="!has(self.storageSize) || !has(oldSelf.storageSize) || !quantity(self.storageSize).isLessThan(quantity(oldSelf.storageSize))",message="storageSize cannot shrink"
type Storage struct {
	// Size of each volume. Defaults by the size.
	// +kubebuilder:example="100Gi"
	// +optional
	StorageSize *StorageSize `json:"storageSize,omitempty"`
	// Storage class of the volumes. Defaults to the cluster's default.
	// +kubebuilder:example="fast"
	// +optional
	StorageClass common.ObjectName `json:"storageClass,omitempty"`
}

// StorageSize is the size of a volume: 100Gi.
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi|Ti)$`
type StorageSize string

// MariaDB is the relational database: one server, or a Galera cluster.
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas % 2 == 1",message="replicas must be odd: an even Galera cluster can split into halves that both stop"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.replicas) || has(self.storageSize) || has(self.storageClass) || has(self.resources) || has(self.nodeSelector) || has(self.tolerations) || has(self.maxScale))",message="replicas, storageSize, storageClass, resources, nodeSelector, tolerations and maxScale cannot be set for an external database",fieldPath=".external"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.backup) || has(self.restoreFrom) || has(self.metrics))",message="backup, restoreFrom and metrics cannot be set for an external database; its operator is responsible for them",fieldPath=".external"
type MariaDB struct {
	// External server, instead of a server of the cloud. It cannot be added or removed.
	// +optional
	External *ExternalMariaDB `json:"external,omitempty"`
	// Number of members: one, or an odd number for Galera. A single server cannot be changed to a cluster, nor a cluster to a single server.
	// Defaults by the size.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	Storage  `json:",inline"`
	// Resources of each member. Defaults by the size.
	// +optional
	Resources        *common.Resources `json:"resources,omitempty"`
	common.Placement `json:",inline"`
	// Options of the server: {innodb_io_capacity: 2000}. Members restart one after the other. The databases of cells have them, too.
	// +optional
	Config common.Options `json:"config,omitempty"`
	// Proxy for the members, which sends all writes to one of them.
	// +optional
	MaxScale MaxScale `json:"maxScale,omitempty"`
	// Regular backups.
	// +optional
	Backup *Backup `json:"backup,omitempty"`
	// Backup from which a new database is restored. It is read once, when the database is created, and has no effect on an existing database.
	// +optional
	RestoreFrom *RestoreFrom `json:"restoreFrom,omitempty"`
	// Prometheus metrics.
	// +optional
	Metrics Metrics `json:"metrics,omitempty"`
}

// ExternalMariaDB is a server, or several with one address, outside of the control plane. The control plane only creates databases, users
// and grants in it, with a prefix of its own: see docs/external-database.md.
type ExternalMariaDB struct {
	// Host name of the server. Its certificate must contain this name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`
	// +kubebuilder:example="db.example.com"
	Host string `json:"host"`
	// Port.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=3306
	// +optional
	Port int32 `json:"port,omitempty"`
	// Name of a user with the privileges to create databases, users and grants.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._@-]*$`
	User string `json:"user"`
	// Secret with the keys password (of the user) and ca.crt (authority of the server's certificate), in the claim's namespace.
	SecretRef common.SecretReference `json:"secretRef"`
}

// MaxScale is the database proxy.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled || !has(self.replicas)",message="replicas cannot be set without the proxy: remove replicas, or set enabled to true",fieldPath=".replicas"
type MaxScale struct {
	// Run the proxy. Defaults to true with more than one member and size medium or large, or if replicas is set.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Number of proxies.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
}

// Metrics configures Prometheus metrics of a component.
type Metrics struct {
	// Serve metrics. Defaults to global.monitoring.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// Backup configures the schedule and the destination of backups of the database.
type Backup struct {
	// Schedule of full backups.
	// +kubebuilder:default="0 1 * * *"
	// +optional
	Schedule common.Cron `json:"schedule,omitempty"`
	// Retention of backups, in days.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	// +kubebuilder:default=30
	// +optional
	RetentionDays int32 `json:"retentionDays,omitempty"`
	// Bucket of the backups.
	S3 S3 `json:"s3"`
	// Volume for staging a backup before the upload. Defaults to the disk of the node of the database's member, which must have enough space.
	// +optional
	StagingStorage *StagingStorage `json:"stagingStorage,omitempty"`
}

// StagingStorage is a temporary volume. Each backup uses it on the node of the member that it copies, so every such node must be able to
// mount volumes of its storage class.
type StagingStorage struct {
	// Size of the volume: as large as the compressed backup.
	// +kubebuilder:example="100Gi"
	StorageSize StorageSize `json:"storageSize"`
	// Storage class of the volume. Defaults to the class of the platform.
	// +optional
	StorageClass common.ObjectName `json:"storageClass,omitempty"`
}

// RestoreFrom names a backup.
type RestoreFrom struct {
	// Bucket of the backup.
	S3 S3 `json:"s3"`
	// Secret key with the root password of the database, in the claim's namespace. It must equal the password in the backup. It is required
	// to create the database. Afterwards, the field has no effect, and it and the Secret can be removed.
	// +optional
	RootPasswordSecretRef *common.SecretKeyReference `json:"rootPasswordSecretRef,omitempty"`
	// Restore the backup that is closest to this time (RFC 3339, UTC), before or after it: 2026-05-01T03:00:00Z. Defaults to the newest.
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$`
	// +kubebuilder:example="2026-05-01T03:00:00Z"
	// +optional
	TargetRecoveryTime string `json:"targetRecoveryTime,omitempty"`
}

// S3 is a bucket of an S3-compatible object store.
type S3 struct {
	// Name of the bucket.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9.-]+[a-z0-9]$`
	// +kubebuilder:example="cloud-backups"
	Bucket string `json:"bucket"`
	// Host and port of the object store, without a scheme: s3.example.com:443.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$`
	// +kubebuilder:example="s3.example.com:443"
	Endpoint string `json:"endpoint"`
	// Region of the bucket.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +optional
	Region string `json:"region,omitempty"`
	// Path in the bucket, such as clouds/production. No segment may begin with a dot.
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)?$`
	// +kubebuilder:example="clouds/production"
	// +optional
	Prefix string `json:"prefix,omitempty"`
	// Secret with the keys access-key-id and secret-access-key (and ca.crt, for a private authority), in the claim's namespace.
	CredentialsSecretRef common.SecretReference `json:"credentialsSecretRef"`
	// The object store's certificate is signed by the authority in the Secret's key ca.crt.
	// +optional
	PrivateCA bool `json:"privateCA,omitempty"`
}

// RabbitMQ is the message queue.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled || !(has(self.replicas) || has(self.storageSize) || has(self.resources) || has(self.nodeSelector) || has(self.tolerations) || has(self.exposure) || has(self.memberTLS))",message="fields of a disabled message queue have no effect; set only enabled, or set enabled: true"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas % 2 == 1",message="replicas must be odd: quorum queues need a majority"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.enabled) && !self.enabled || has(self.replicas) || has(self.storageSize) || has(self.storageClass) || has(self.resources) || has(self.nodeSelector) || has(self.tolerations) || has(self.exposure) || has(self.memberTLS))",message="only external can be set for an external message queue",fieldPath=".external"
// +kubebuilder:validation:XValidation:rule="has(self.external) == has(oldSelf.external) && (!has(self.external) || self.external.host == oldSelf.external.host)",message="external cannot be added or removed, and its host is immutable: virtual hosts and users cannot be moved to another queue; create another control plane"
type RabbitMQ struct {
	// Run the queue. It can be disabled if Keystone is the only service.
	// +kubebuilder:default=true
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// External queue, instead of a queue of the cloud. It cannot be added or removed.
	// +optional
	External *ExternalQueue `json:"external,omitempty"`
	// Number of members, which must be odd. It can be increased, not reduced. Defaults by the size.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	Storage  `json:",inline"`
	// Resources of each member. Its memory request equals its memory limit. Defaults by the size.
	// +optional
	Resources        *common.Resources `json:"resources,omitempty"`
	common.Placement `json:",inline"`
	// Options of the server: {channel_max: 4095}. Members restart one after the other. The queues of cells have them, too.
	// +optional
	Config common.Options `json:"config,omitempty"`
	// External access for hypervisors of other clusters: one Service for all members, with the AMQP port only.
	// +optional
	Exposure *common.MemberExposure `json:"exposure,omitempty"`
	// TLS between members, with an authority of their own. The queues of cells have it, too. Members with and without TLS cannot connect: a
	// change of an existing queue requires a restart of all its members at the same time. Defaults to Required for a new queue, and to the
	// current mode of an existing queue.
	// +optional
	MemberTLS MemberTLS `json:"memberTLS,omitempty"`
}

// MemberTLS is the use of TLS between members.
// +kubebuilder:validation:Enum=Required;Disabled
type MemberTLS string

// The modes.
const (
	// MemberTLSRequired rejects connections without a certificate of the members' authority.
	MemberTLSRequired MemberTLS = "Required"
	// MemberTLSDisabled connects members without TLS.
	MemberTLSDisabled MemberTLS = "Disabled"
)

// Valkey is the key-value store.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled || !(has(self.replicas) || has(self.storageSize) || has(self.resources) || has(self.nodeSelector) || has(self.tolerations) || has(self.sentinel) && has(self.sentinel.enabled))",message="fields of a disabled key-value store have no effect; set only enabled, or set enabled: true"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas != 2 || has(self.sentinel) && has(self.sentinel.enabled) && !self.sentinel.enabled",message="2 sentinels cannot fail over, because a majority of at least three must agree; use 3 replicas, or 2 with sentinel.enabled false"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas > 2 || !has(self.sentinel) || !has(self.sentinel.enabled) || !self.sentinel.enabled",message="sentinels require at least 3 replicas, because a majority of at least three must agree"
type Valkey struct {
	// Run the store. It is required only by services that lock across pods, such as Cinder.
	// +kubebuilder:default=true
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Number of members: one, or at least three for failover. Defaults by the size.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	Storage  `json:",inline"`
	// Resources of each member. Defaults by the size.
	// +optional
	Resources        *common.Resources `json:"resources,omitempty"`
	common.Placement `json:",inline"`
	// Failover.
	// +optional
	Sentinel Sentinel `json:"sentinel,omitempty"`
}

// Sentinel watches Valkey and promotes a replica when the primary is lost.
type Sentinel struct {
	// Run sentinels. It is immutable. Defaults to true with more than one member.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// Memcached is the cache of tokens, sessions and computed data: one for Keystone, and one for all other services.
type Memcached struct {
	// Number of members of each cache. Defaults by the size.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Memory for cached items in each member: 1Gi. Members of the cache of Keystone have half of it, and at least 32Mi. Defaults by the size.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="string(self).matches('[eE][-+]?[0-9.]') || !isQuantity(string(self)) || !quantity(string(self)).isLessThan(quantity('1Mi'))",message="must be at least 1Mi; add the unit: 512Mi, not 512 or 512m"
	// +kubebuilder:example="1Gi"
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// Guaranteed CPU time of each member, in cores. Defaults to 50m.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="string(self).matches('[eE][-+]?[0-9.]') || !isQuantity(string(self)) || quantity(string(self)).isGreaterThan(quantity('0'))",message="must be more than 0 cores: 500m is half a core"
	// +kubebuilder:example="50m"
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// Container image. Defaults to the image of the platform.
	// +optional
	Image            *common.InfrastructureImage `json:"image,omitempty"`
	common.Placement `json:",inline"`
}

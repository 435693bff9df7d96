package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Infrastructure are the databases, queues and caches that services share.
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
	// Token cache.
	// +optional
	Memcached Memcached `json:"memcached,omitempty"`
}

// Storage is the volume of each member of a stateful service.
// +kubebuilder:validation:XValidation:rule="has(self.storageClass) == has(oldSelf.storageClass) && (!has(self.storageClass) || self.storageClass == oldSelf.storageClass)",message="storageClass cannot be changed: volumes do not move between classes"
// +kubebuilder:validation:XValidation:rule="!has(self.storageSize) || !has(oldSelf.storageSize) || !quantity(self.storageSize).isLessThan(quantity(oldSelf.storageSize))",message="storageSize cannot shrink"
type Storage struct {
	// Size of each volume. Absent: by the size.
	// +kubebuilder:example="100Gi"
	// +optional
	StorageSize *StorageSize `json:"storageSize,omitempty"`
	// Storage class of the volumes. Absent: the cluster's default class.
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
// +kubebuilder:validation:XValidation:rule="!(has(self.replicas) && self.replicas > 1 && has(self.backup) && has(self.backup.pointInTimeRecovery) && self.backup.pointInTimeRecovery)",message="backup.pointInTimeRecovery does not work with Galera (replicas above 1); use replicas 1, or schedule backups more often"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.replicas) || has(self.storageSize) || has(self.storageClass) || has(self.resources) || has(self.nodeSelector) || has(self.tolerations) || has(self.maxScale))",message="a database elsewhere has its own servers; leave replicas, storageSize, storageClass, resources, nodeSelector, tolerations and maxScale out",fieldPath=".external"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.backup) || has(self.restoreFrom) || has(self.metrics))",message="whoever runs a database backs it up, restores and watches it; leave backup, restoreFrom and metrics out",fieldPath=".external"
type MariaDB struct {
	// A server that somebody else runs, in place of one of the cloud's own. It cannot be set or removed later.
	// +optional
	External *ExternalMariaDB `json:"external,omitempty"`
	// Members. One, or an odd number for Galera. One server alone cannot become a cluster later, nor a cluster
	// one server. Absent: by the size.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	Storage  `json:",inline"`
	// Resources of each member. Absent: by the size.
	// +optional
	Resources        *common.Resources `json:"resources,omitempty"`
	common.Placement `json:",inline"`
	// Options of the server: {innodb_io_capacity: 2000}. Members restart one after the other. The databases of cells have them, too.
	// +optional
	Config common.Options `json:"config,omitempty"`
	// Proxy in front of the members, which sends all writes to one of them.
	// +optional
	MaxScale MaxScale `json:"maxScale,omitempty"`
	// Regular backups.
	// +optional
	Backup *Backup `json:"backup,omitempty"`
	// Backup from which a new database is restored. It is read once, when the database is created, and has no effect on an existing one.
	// +optional
	RestoreFrom *RestoreFrom `json:"restoreFrom,omitempty"`
	// Prometheus metrics.
	// +optional
	Metrics Metrics `json:"metrics,omitempty"`
}

// ExternalMariaDB is a server that somebody else runs, or several behind one address. It is only used: what the control plane needs there,
// it makes there, under names of its own: see docs/external-database.md.
type ExternalMariaDB struct {
	// Name by which it is reached, which its certificate has to have.
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
	// Name of a user who may make databases, users and grants.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._@-]*$`
	User string `json:"user"`
	// Secret with the keys password (the user's) and ca.crt (the authority of the server's certificate), in the claim's namespace.
	SecretRef common.SecretReference `json:"secretRef"`
}

// MaxScale is the database proxy.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled || !has(self.replicas)",message="replicas cannot be set without the proxy: remove replicas, or set enabled to true",fieldPath=".replicas"
type MaxScale struct {
	// Run the proxy. Absent: where there is more than one member and size is medium or large, or where replicas is given.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Number of proxies.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
}

// Metrics switches Prometheus metrics of a component.
type Metrics struct {
	// Serve metrics. Absent: as global.monitoring says.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// Backup says when the database is backed up and where to.
type Backup struct {
	// When a full backup is made.
	// +kubebuilder:default="0 1 * * *"
	// +optional
	Schedule common.Cron `json:"schedule,omitempty"`
	// How long backups are kept, in days.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	// +kubebuilder:default=30
	// +optional
	RetentionDays int32 `json:"retentionDays,omitempty"`
	// Keep the binary log too, so that any moment can be restored. Not possible with Galera.
	// +optional
	PointInTimeRecovery bool `json:"pointInTimeRecovery,omitempty"`
	// Bucket that backups go to.
	S3 S3 `json:"s3"`
	// Volume in which a backup is assembled before it is uploaded. Absent: the disk of the node that the database's member runs on, which
	// has to have room for it.
	// +optional
	StagingStorage *StagingStorage `json:"stagingStorage,omitempty"`
}

// StagingStorage is a temporary volume. Each backup uses it on the node of the member that it copies, so its storage class has to offer
// volumes that every such node reaches.
type StagingStorage struct {
	// Size of the volume: as large as the compressed backup.
	// +kubebuilder:example="100Gi"
	StorageSize StorageSize `json:"storageSize"`
	// Storage class of the volume. Absent: the platform's.
	// +optional
	StorageClass common.ObjectName `json:"storageClass,omitempty"`
}

// RestoreFrom names a backup.
type RestoreFrom struct {
	// Bucket of the backup.
	S3 S3 `json:"s3"`
	// Password of the database's root, which is that of the backup: a key of a Secret in the claim's namespace. A database that does not
	// exist yet needs it. Once it runs, the field has no effect and can be removed, and so can the Secret.
	// +optional
	RootPasswordSecretRef *common.SecretKeyReference `json:"rootPasswordSecretRef,omitempty"`
	// Take the backup that is closest to this moment (RFC 3339, UTC), before or after it: 2026-05-01T03:00:00Z. Absent: the newest.
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
	// Path in the bucket, such as clouds/production. No part of it begins with a dot.
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
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled || !(has(self.replicas) || has(self.storageSize) || has(self.resources) || has(self.nodeSelector) || has(self.tolerations) || has(self.exposure))",message="the queue is off, so what is said of it does nothing; leave everything but enabled out, or switch it on"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas % 2 == 1",message="replicas must be odd: quorum queues need a majority"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.enabled) && !self.enabled || has(self.replicas) || has(self.storageSize) || has(self.storageClass) || has(self.resources) || has(self.nodeSelector) || has(self.tolerations) || has(self.exposure))",message="whoever runs a queue says what it is like; say nothing but external, or leave external out",fieldPath=".external"
// +kubebuilder:validation:XValidation:rule="has(self.external) == has(oldSelf.external) && (!has(self.external) || self.external.host == oldSelf.external.host)",message="external cannot be set or removed, nor its host changed: virtual hosts and users do not move to another queue; claim another control plane"
type RabbitMQ struct {
	// Run the queue. Keystone alone does not need it.
	// +kubebuilder:default=true
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// A queue that somebody else runs, in place of one of the cloud's own. It cannot be set or removed later.
	// +optional
	External *ExternalQueue `json:"external,omitempty"`
	// Members, an odd number. There can be more of them later, and not fewer. Absent: by the size.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	Storage  `json:",inline"`
	// Resources of each member. All the memory that it may use is set aside for it. Absent: by the size.
	// +optional
	Resources        *common.Resources `json:"resources,omitempty"`
	common.Placement `json:",inline"`
	// Options of the server: {channel_max: 4095}. Members restart one after the other. The queues of cells have them, too.
	// +optional
	Config common.Options `json:"config,omitempty"`
	// How hypervisors of other clusters reach it: by one Service for all members, at the port of AMQP alone.
	// +optional
	Exposure *common.MemberExposure `json:"exposure,omitempty"`
}

// Valkey is the key-value store.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled || !(has(self.replicas) || has(self.storageSize) || has(self.resources) || has(self.nodeSelector) || has(self.tolerations) || has(self.sentinel) && has(self.sentinel.enabled))",message="the store is off, so what is said of it does nothing; leave everything but enabled out, or switch it on"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas != 2 || has(self.sentinel) && has(self.sentinel.enabled) && !self.sentinel.enabled",message="2 sentinels cannot fail over: most of three or more have to agree; use 3 replicas, or 2 with sentinel.enabled false"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas > 2 || !has(self.sentinel) || !has(self.sentinel.enabled) || !self.sentinel.enabled",message="sentinels need 3 replicas or more: most of three or more have to agree"
type Valkey struct {
	// Run the store. Only services that lock across pods, such as Cinder, need it.
	// +kubebuilder:default=true
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Members: one, or three and more for failover. Absent: by the size.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	Storage  `json:",inline"`
	// Resources of each member. Absent: by the size.
	// +optional
	Resources        *common.Resources `json:"resources,omitempty"`
	common.Placement `json:",inline"`
	// Failover.
	// +optional
	Sentinel Sentinel `json:"sentinel,omitempty"`
}

// Sentinel watches Valkey and promotes a replica when the primary is lost.
type Sentinel struct {
	// Run sentinels. It cannot be changed. Absent: where there is more than one member.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// Memcached is the token cache.
type Memcached struct {
	// Members. Absent: by the size.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Memory for cached items in each member: 1Gi. Absent: by the size.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="!isQuantity(string(self)) || !quantity(string(self)).isLessThan(quantity('1Mi'))",message="must be at least 1Mi; add the unit: 512Mi, not 512 or 512m"
	// +kubebuilder:example="1Gi"
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// CPU time that each member is guaranteed, in cores. Absent: 50m.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="!isQuantity(string(self)) || quantity(string(self)).isGreaterThan(quantity('0'))",message="must be more than 0 cores: 500m is half a core"
	// +kubebuilder:example="50m"
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// Container image. Absent: as the platform says.
	// +optional
	Image            *common.InfrastructureImage `json:"image,omitempty"`
	common.Placement `json:",inline"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// An OVNCluster stores virtual networks: a northbound database of the logical networks, a southbound database of flows and bindings, which
// every node reads, and northd, which translates the former into the latter. Each database is a Raft cluster. Its spec is complete: it
// reads no other object.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Northbound",type=string,JSONPath=`.status.northbound.endpoint`,priority=1
// +kubebuilder:printcolumn:name="Southbound",type=string,JSONPath=`.status.southbound.endpoint`,priority=1
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.chassisCount`
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=`.status.activeControllers`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
type OVNCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec OVNClusterSpec `json:"spec"`
	// Observed state.
	// +optional
	Status OVNClusterStatus `json:"status,omitempty"`
}

// OVNClusterSpec is the desired state of an OVNCluster.
// +kubebuilder:validation:XValidation:rule="self.clusterDomain == oldSelf.clusterDomain",message="clusterDomain is immutable: members connect to each other by their names; restore the previous value",fieldPath=".clusterDomain"
type OVNClusterSpec struct {
	// Settings for Crossplane, which adds these fields to every definition.
	// +optional
	Crossplane *common.Crossplane `json:"crossplane,omitempty"`
	// Cluster in which the workloads run.
	// +optional
	Target common.Target `json:"target,omitempty"`
	// Northbound database: the logical networks.
	// +optional
	Northbound Members `json:"northbound,omitempty"`
	// Southbound database: the flows and bindings, which every node reads.
	// +optional
	Southbound Southbound `json:"southbound,omitempty"`
	// Daemon that translates the northbound database into the southbound one. One of its pods is active, the others are on standby.
	// +optional
	Northd common.Process `json:"northd,omitempty"`
	// Relays of the southbound database, to which nodes connect instead of its members: for hundreds of nodes. Defaults to none.
	// +optional
	Relay            *common.Process `json:"relay,omitempty"`
	common.Placement `json:",inline"`
	// Regular backups of both databases. Defaults to none. The southbound database can be rebuilt, and Neutron can rebuild the northbound
	// one; both take long with many networks.
	// +optional
	Backup *Backup `json:"backup,omitempty"`
	// Backups from which new databases are restored. They are read when a database is created; existing databases are never replaced.
	// +optional
	RestoreFrom *RestoreFrom `json:"restoreFrom,omitempty"`
	// Image with OVN and the server of its databases. Defaults to the image of this version.
	// +optional
	Image *common.InfrastructureImage `json:"image,omitempty"`
	// Registry and pull secrets of images.
	// +optional
	Images common.Images `json:"images,omitempty"`
	// DNS domain of the cluster in which the workloads run.
	// +kubebuilder:default=cluster.local
	// +optional
	ClusterDomain common.Hostname `json:"clusterDomain,omitempty"`
	// Prometheus objects.
	// +optional
	Monitoring common.Monitoring `json:"monitoring,omitempty"`
	// Policy for the volumes and the recorded cluster IDs when it is deleted.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// DefaultInactivityProbeSeconds is the default of inactivityProbeSeconds in the schema, for clients of the databases whose own setting is
// absent.
const DefaultInactivityProbeSeconds = 60

// Members are the pods of a database, each with its own volume.
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas % 2 == 1",message="replicas must be odd: a majority must agree",fieldPath=".replicas"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas <= 5",message="replicas must be 1, 3 or 5: more members slow down each write without a benefit",fieldPath=".replicas"
// +kubebuilder:validation:XValidation:rule="has(self.storageClass) == has(oldSelf.storageClass) && (!has(self.storageClass) || self.storageClass == oldSelf.storageClass)",message="storageClass is immutable: data cannot be moved between storage classes; restore the previous value",fieldPath=".storageClass"
// +kubebuilder:validation:XValidation:rule="has(self.storageSize) == has(oldSelf.storageSize) && (!has(self.storageSize) || self.storageSize == oldSelf.storageSize)",message="storageSize is immutable: volumes of database members are not resized; restore the previous value",fieldPath=".storageSize"
type Members struct {
	common.Process `json:",inline"`
	// Size of each volume.
	// +kubebuilder:default="5Gi"
	// +kubebuilder:example="10Gi"
	// +optional
	StorageSize StorageSize `json:"storageSize,omitempty"`
	// Storage class of the volumes. Defaults to the cluster's default.
	// +kubebuilder:example="fast"
	// +optional
	StorageClass common.ObjectName `json:"storageClass,omitempty"`
	// Time without a message from the leader until another one is elected, in seconds. Increase it for a large database or slow disks, which
	// block the leader for as long; writes are blocked for this time after the loss of the leader. It is applied without a restart.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	// +kubebuilder:default=5
	// +optional
	ElectionTimerSeconds int32 `json:"electionTimerSeconds,omitempty"`
	// Idle time after which a client is probed, in seconds. It is disconnected if it does not reply within the same time. It is applied
	// without a restart.
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=600
	// +kubebuilder:default=60
	// +optional
	InactivityProbeSeconds int32 `json:"inactivityProbeSeconds,omitempty"`
}

// Southbound is the database that nodes connect to.
type Southbound struct {
	Members `json:",inline"`
	// External access to each member for nodes of other clusters.
	// +optional
	Exposure *common.MemberExposure `json:"exposure,omitempty"`
}

// StorageSize is the size of a volume: 10Gi.
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi|Ti)$`
type StorageSize string

// Backup configures the schedule and the destination of backups of the databases.
type Backup struct {
	// Schedule of the backups.
	// +kubebuilder:default="0 2 * * *"
	// +optional
	Schedule common.Cron `json:"schedule,omitempty"`
	// Retention of backups, in days.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	// +kubebuilder:default=30
	// +optional
	RetentionDays int32 `json:"retentionDays,omitempty"`
	Bucket        `json:",inline"`
}

// RestoreFrom selects backups of the databases.
type RestoreFrom struct {
	Bucket `json:",inline"`
	// Restore the newest backups that are not later than this time (RFC 3339, UTC): 2026-05-01T03:00:00Z. Defaults to the newest.
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$`
	// +kubebuilder:example="2026-05-01T03:00:00Z"
	// +optional
	TargetRecoveryTime string `json:"targetRecoveryTime,omitempty"`
}

// Bucket is the location of backups.
type Bucket struct {
	// Name of the bucket.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9.-]+[a-z0-9]$`
	// +kubebuilder:example="cloud-backups"
	Bucket string `json:"bucket"`
	// Host and port of the object store, without a scheme: s3.example.com:443.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$`
	// +kubebuilder:example="s3.example.com:443"
	Endpoint string `json:"endpoint"`
	// Region of the bucket. Stores without regions accept the default.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +kubebuilder:default=us-east-1
	// +optional
	Region string `json:"region,omitempty"`
	// Path in the bucket. It must be unique. No segment may begin with a dot.
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)?$`
	// +kubebuilder:example="clouds/production/ovn"
	// +optional
	Prefix string `json:"prefix,omitempty"`
	// Secret with the keys access-key-id and secret-access-key (and ca.crt, for a private authority), in the workload namespace.
	CredentialsSecretRef common.SecretReference `json:"credentialsSecretRef"`
	// The object store's certificate is signed by the authority in the Secret's key ca.crt.
	// +optional
	PrivateCA bool `json:"privateCA,omitempty"`
}

// OVNClusterStatus is the observed state of an OVNCluster.
type OVNClusterStatus struct {
	common.CompositionStatus `json:",inline"`
	// Generation that the phase refers to.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase of the cluster.
	// +kubebuilder:validation:Enum=Creating;Ready;Updating
	// +optional
	Phase string `json:"phase,omitempty"`
	// The northbound database.
	// +optional
	Northbound DatabaseStatus `json:"northbound,omitempty"`
	// The southbound database.
	// +optional
	Southbound DatabaseStatus `json:"southbound,omitempty"`
	// Relays of the southbound database.
	// +optional
	Relay RelayStatus `json:"relay,omitempty"`
	// Nodes that have registered.
	// +optional
	ChassisCount int32 `json:"chassisCount,omitempty"`
	// Nodes whose controller has applied the current configuration.
	// +optional
	ActiveControllers int32 `json:"activeControllers,omitempty"`
	// State of each component.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Components []common.ComponentStatus `json:"components,omitempty"`
}

// RelayStatus is the address of the relays of the southbound database.
type RelayStatus struct {
	// Address of all relays. Unset: there are none.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// Address of the relays for other clusters.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	ExternalEndpoint string `json:"externalEndpoint,omitempty"`
	// Address of the relays for nodes with a separate certificate. Unset: not every relay serves it yet.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	ChassisEndpoint string `json:"chassisEndpoint,omitempty"`
}

// DatabaseStatus is the observed state of a database.
type DatabaseStatus struct {
	// Addresses of all desired members, in the form for clients: ssl:…,ssl:…. A client of a single member cannot write while another one
	// leads.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// Addresses of the members for other clusters, in the form for clients: addresses of the members' own Services, which stay the same when
	// a pod is replaced. A member whose Service has no address yet is omitted.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	ExternalEndpoint string `json:"externalEndpoint,omitempty"`
	// Addresses of the members of the southbound database for nodes with a separate certificate, whose writes OVN limits. Unset: not every
	// member serves it yet.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	ChassisEndpoint string `json:"chassisEndpoint,omitempty"`
	// ID of the cluster, which never changes.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// Member that is the leader.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Leader string `json:"leader,omitempty"`
	// Pods that are members.
	// +optional
	Members int32 `json:"members,omitempty"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// An OVNCluster keeps virtual networks: a northbound database of what is wanted, a southbound one of how it is done, which every node
// reads, and northd, which makes the one of the other. Each database is a cluster of members that agree by raft. It is complete in itself:
// it looks nothing up.
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
// +kubebuilder:validation:XValidation:rule="self.clusterDomain == oldSelf.clusterDomain",message="clusterDomain cannot be changed: members know each other by their names",fieldPath=".clusterDomain"
type OVNClusterSpec struct {
	// Settings for Crossplane. Its fields are those that Crossplane adds to every definition.
	// +optional
	Crossplane *common.Crossplane `json:"crossplane,omitempty"`
	// Where the workloads run.
	// +optional
	Target common.Target `json:"target,omitempty"`
	// Database of what is wanted.
	// +optional
	Northbound Members `json:"northbound,omitempty"`
	// Database of how it is done, which every node reads.
	// +optional
	Southbound Southbound `json:"southbound,omitempty"`
	// What makes the one of the other. One of its pods is active, the others wait.
	// +optional
	Northd common.Process `json:"northd,omitempty"`
	// Copies of the southbound database, which nodes read in place of its members: for hundreds of nodes. Absent: none.
	// +optional
	Relay            *common.Process `json:"relay,omitempty"`
	common.Placement `json:",inline"`
	// Regular copies of both databases. Absent: there are none. The southbound database can be made anew, and Neutron can write the
	// northbound one again; both take long where there are many networks.
	// +optional
	Backup *Backup `json:"backup,omitempty"`
	// Copies to start from. They are read when a database is created, and at no other time: what is there is never replaced.
	// +optional
	RestoreFrom *RestoreFrom `json:"restoreFrom,omitempty"`
	// Image with OVN and the server of its databases. Absent: as this version says.
	// +optional
	Image *common.InfrastructureImage `json:"image,omitempty"`
	// Where images come from.
	// +optional
	Images common.Images `json:"images,omitempty"`
	// DNS domain of the cluster that the workloads run in.
	// +kubebuilder:default=cluster.local
	// +optional
	ClusterDomain common.Hostname `json:"clusterDomain,omitempty"`
	// Prometheus objects.
	// +optional
	Monitoring common.Monitoring `json:"monitoring,omitempty"`
	// What happens to the volumes and to what is known of the clusters when it is deleted.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// Members are the pods of a database, each with a volume of its own.
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas % 2 == 1",message="replicas must be odd: a majority has to agree",fieldPath=".replicas"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas <= 5",message="replicas must be 1, 3 or 5: more members agree more slowly, and lose no less",fieldPath=".replicas"
// +kubebuilder:validation:XValidation:rule="has(self.storageClass) == has(oldSelf.storageClass) && (!has(self.storageClass) || self.storageClass == oldSelf.storageClass)",message="storageClass cannot be changed: volumes do not move between classes",fieldPath=".storageClass"
// +kubebuilder:validation:XValidation:rule="has(self.storageSize) == has(oldSelf.storageSize) && (!has(self.storageSize) || self.storageSize == oldSelf.storageSize)",message="storageSize cannot be changed: volumes never shrink, and those of members do not grow by themselves",fieldPath=".storageSize"
type Members struct {
	common.Process `json:",inline"`
	// Size of each volume. Absent: 5Gi.
	// +kubebuilder:example="10Gi"
	// +optional
	StorageSize StorageSize `json:"storageSize,omitempty"`
	// Storage class of the volumes. Absent: the cluster's default class.
	// +kubebuilder:example="fast"
	// +optional
	StorageClass common.ObjectName `json:"storageClass,omitempty"`
	// After how many seconds without a word from the leader another is elected. More for a large database or slow disks, which interrupt
	// the leader for as long; writes wait for as long when it is lost. It changes while the members run. Absent: 5.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	// +optional
	ElectionTimerSeconds int32 `json:"electionTimerSeconds,omitempty"`
	// After how many seconds of silence a client is asked whether it is there, and is given up if it does not say so for as long again. It
	// changes while the members run. Absent: 60.
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=600
	// +optional
	InactivityProbeSeconds int32 `json:"inactivityProbeSeconds,omitempty"`
}

// Southbound is the database that nodes read.
type Southbound struct {
	Members `json:",inline"`
	// How nodes of other clusters reach each member.
	// +optional
	Exposure *common.MemberExposure `json:"exposure,omitempty"`
}

// StorageSize is the size of a volume: 10Gi.
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi|Ti)$`
type StorageSize string

// Backup says when the databases are copied, and where to.
type Backup struct {
	// When copies are made.
	// +kubebuilder:default="0 2 * * *"
	// +optional
	Schedule common.Cron `json:"schedule,omitempty"`
	// How long copies are kept, in days.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	// +kubebuilder:default=30
	// +optional
	RetentionDays int32 `json:"retentionDays,omitempty"`
	Bucket        `json:",inline"`
}

// RestoreFrom names copies of the databases.
type RestoreFrom struct {
	Bucket `json:",inline"`
	// Take the newest copies that are no later than this moment (RFC 3339, UTC): 2026-05-01T03:00:00Z. Absent: the newest.
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$`
	// +kubebuilder:example="2026-05-01T03:00:00Z"
	// +optional
	TargetRecoveryTime string `json:"targetRecoveryTime,omitempty"`
}

// Bucket is where copies lie.
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
	// Region of the bucket. Absent: us-east-1, which stores without regions take.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	// +optional
	Region string `json:"region,omitempty"`
	// Path in the bucket, which nobody else has. No part of it begins with a dot.
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
	// Generation that the phase is about.
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
	// The copies of the southbound database.
	// +optional
	Relay RelayStatus `json:"relay,omitempty"`
	// Nodes that have registered.
	// +optional
	ChassisCount int32 `json:"chassisCount,omitempty"`
	// Nodes whose controller has done what is wanted.
	// +optional
	ActiveControllers int32 `json:"activeControllers,omitempty"`
	// State of each component.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Components []common.ComponentStatus `json:"components,omitempty"`
}

// RelayStatus is where nodes find the copies of the southbound database.
type RelayStatus struct {
	// Address of all of them. Absent: there are none.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// Address that other clusters reach them at.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	ExternalEndpoint string `json:"externalEndpoint,omitempty"`
}

// DatabaseStatus is the observed state of a database.
type DatabaseStatus struct {
	// Addresses of all members that are wanted, as clients take them: ssl:…,ssl:…. A client of one member writes nothing while another leads.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// Addresses of the members that other clusters reach, as clients take them: those of the members' own Services, which stay whatever
	// becomes of a pod. A member whose Service has no address yet is left out.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	ExternalEndpoint string `json:"externalEndpoint,omitempty"`
	// ID of the cluster, which stays the same for its life.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// Member that leads.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Leader string `json:"leader,omitempty"`
	// Pods that are members.
	// +optional
	Members int32 `json:"members,omitempty"`
}

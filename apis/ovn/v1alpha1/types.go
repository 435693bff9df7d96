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
	Southbound Members `json:"southbound,omitempty"`
	// What makes the one of the other. One of its pods is active, the others wait.
	// +optional
	Northd           common.Process `json:"northd,omitempty"`
	common.Placement `json:",inline"`
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
}

// StorageSize is the size of a volume: 10Gi.
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi|Ti)$`
type StorageSize string

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
	// State of each component.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Components []common.ComponentStatus `json:"components,omitempty"`
}

// DatabaseStatus is the observed state of a database.
type DatabaseStatus struct {
	// Addresses of all members that are wanted, as clients take them: ssl:…,ssl:…. A client of one member writes nothing while another leads.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
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

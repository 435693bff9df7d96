package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A RaftCluster records the ID of the cluster that the members of an OVSDB database form, and polls the state of each member. While an ID
// is recorded, no member creates another cluster.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Database",type=string,JSONPath=`.spec.database`
// +kubebuilder:printcolumn:name="Leader",type=string,JSONPath=`.status.leader`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].message`,priority=1
type RaftCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec RaftClusterSpec `json:"spec"`
	// Observed state.
	// +optional
	Status RaftClusterStatus `json:"status,omitempty"`
}

// RaftClusterSpec is the desired state of a RaftCluster.
// +kubebuilder:validation:XValidation:rule="self.database == oldSelf.database && self.statefulSetName == oldSelf.statefulSetName",message="database and statefulSetName are immutable: the recorded cluster ID belongs to them"
type RaftClusterSpec struct {
	// Name of the schema of the database.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Database string `json:"database"`
	// StatefulSet whose pods are the members. It need not exist yet.
	StatefulSetName common.ObjectName `json:"statefulSetName"`
	// Domain of the pods' names: ovn-nb.cloud.svc.cluster.local.
	Domain common.Hostname `json:"domain"`
	// Port of each member for clients, by TLS.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// Secret with a client certificate: tls.crt, tls.key, and the authority ca.crt.
	ClientSecretName common.ObjectName `json:"clientSecretName"`
	// Interval between polls, in seconds.
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=300
	// +kubebuilder:default=10
	// +optional
	IntervalSeconds int32 `json:"intervalSeconds,omitempty"`
	// The database is OVN's southbound one: count the nodes that have registered in it.
	// +optional
	CountChassis bool `json:"countChassis,omitempty"`
}

// States of a member.
const (
	MemberJoined            = "Joined"
	MemberJoining           = "Joining"
	MemberLeft              = "Left"
	MemberClusterIDMismatch = "ClusterIDMismatch"
	MemberUnreachable       = "Unreachable"
)

// RaftClusterStatus is the observed state of a RaftCluster.
type RaftClusterStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready (a majority agrees, and every pod of the StatefulSet is a member that keeps up), ClusterIDMatches (no pod is a
	// member of another cluster), ChassisCounted (the count of the registered nodes is current; only with countChassis).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// ID of the cluster, once it has been observed. It never changes.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// Pod that is the leader. Unset: the members report none.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Leader string `json:"leader,omitempty"`
	// State that each pod of the StatefulSet reports.
	// +kubebuilder:validation:MaxItems=9
	// +listType=map
	// +listMapKey=pod
	// +optional
	Members []RaftMember `json:"members,omitempty"`
	// Nodes that have registered in the database, at the last count. Unset: they have not been counted.
	// +optional
	Chassis *RaftChassis `json:"chassis,omitempty"`
}

// RaftChassis are nodes that have registered in OVN's southbound database.
type RaftChassis struct {
	// Number of nodes.
	Registered int32 `json:"registered"`
	// Number of those whose controller has applied the current configuration.
	Active int32 `json:"active"`
	// Names of the other nodes, the first eight.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=atomic
	// +optional
	OutOfDate []string `json:"outOfDate,omitempty"`
}

// RaftMember is the state that a pod reports.
type RaftMember struct {
	// Name of the pod.
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// Joined: it is a member of the cluster and connected to the others. Joining: it is not connected yet, or not any more. Left: it does not
	// serve the database. ClusterIDMismatch: it is a member of another cluster. Unreachable: it does not respond.
	// Foreign: written by a former companion, for ClusterIDMismatch.
	// +kubebuilder:validation:Enum=Joined;Joining;Left;ClusterIDMismatch;Unreachable;Foreign
	State string `json:"state"`
	// Server ID of the member. A member that has lost its volume gets a new ID.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	ServerID string `json:"serverID,omitempty"`
	// Details, such as the reason why it is unreachable.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// RaftClusterList is a list of RaftClusters.
// +kubebuilder:object:root=true
type RaftClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RaftCluster `json:"items"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A WorkloadCluster is a Kubernetes cluster of the platform, in which workloads of claims can run. It configures the access of
// provider-kubernetes to the cluster, and reports whether the cluster is reachable and has what its roles require. Claims select it by
// name in spec.cluster.ref.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=cobaltcore
// +kubebuilder:printcolumn:name="Reachable",type=string,JSONPath=`.status.conditions[?(@.type=='Reachable')].status`
// +kubebuilder:printcolumn:name="Requirements",type=string,JSONPath=`.status.conditions[?(@.type=='RequirementsMet')].status`
// +kubebuilder:printcolumn:name="Kubernetes",type=string,JSONPath=`.status.cluster.kubernetesVersion`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.cluster.nodes.ready`
// +kubebuilder:printcolumn:name="Observed",type=date,JSONPath=`.status.observedAt`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`,priority=1
type WorkloadCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec WorkloadClusterSpec `json:"spec"`
	// Observed state.
	// +optional
	Status WorkloadClusterStatus `json:"status,omitempty"`
}

// WorkloadClusterSpec is the desired state of a cluster.
type WorkloadClusterSpec struct {
	// Source of the cluster and of the access to it.
	Source Source `json:"source"`
	// Parts of clouds that may run in the cluster. Each role has requirements, which the cluster is checked for. A claim of a part whose role
	// is missing is rejected.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	Roles []Role `json:"roles"`
	// Namespaces whose claims may use the cluster; * matches any characters. Defaults to none.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	AllowedNamespaces []common.NamespacePattern `json:"allowedNamespaces,omitempty"`
	// First address family of its pods and Services. Defaults to ipFamily of the platform.
	// +optional
	IPFamily common.IPFamily `json:"ipFamily,omitempty"`
}

// Source is the source of a cluster. Exactly one field is set.
// +kubebuilder:validation:XValidation:rule="has(self.existing)",message="existing is required: reference a Secret with a kubeconfig of the cluster"
type Source struct {
	// A cluster that exists, and is operated independently of this object.
	// +optional
	Existing *Existing `json:"existing,omitempty"`
}

// Existing is the access to a cluster that exists.
type Existing struct {
	// Secret with a kubeconfig, for the account that the chart grants its rights to (workload.subjects). Only provider-kubernetes reads it.
	KubeconfigSecretRef KubeconfigReference `json:"kubeconfigSecretRef"`
}

// KubeconfigReference names a key of a Secret in the management cluster.
type KubeconfigReference struct {
	// Namespace of the Secret.
	Namespace common.NamespaceName `json:"namespace"`
	// Name of the Secret.
	Name common.ObjectName `json:"name"`
	// Key with the kubeconfig.
	// +kubebuilder:default=kubeconfig
	// +optional
	Key common.SecretKey `json:"key,omitempty"`
}

// Role is a part of a cloud that runs in a cluster.
// +kubebuilder:validation:Enum=controlPlane;hypervisor;storage
type Role string

// Roles of clusters.
const (
	ControlPlane Role = "controlPlane"
	Hypervisor   Role = "hypervisor"
	Storage      Role = "storage"
)

// WorkloadClusterStatus is the observed state of a cluster.
type WorkloadClusterStatus struct {
	common.CompositionStatus `json:",inline"`
	// State of the registration.
	// +kubebuilder:validation:Enum=Pending;Infrastructure;Ready
	// +optional
	Phase string `json:"phase,omitempty"`
	// State of each component.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Components []common.ComponentStatus `json:"components,omitempty"`
	// Namespace of the companion in the cluster.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Instance string `json:"instance,omitempty"`
	// Properties of the cluster, as the companion in it last observed them.
	// +optional
	Cluster *common.ClusterReport `json:"cluster,omitempty"`
	// Time of this observation. It is at most 25 minutes old while the cluster is reachable.
	// +optional
	ObservedAt *metav1.Time `json:"observedAt,omitempty"`
	// State of each role.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=role
	// +optional
	Roles []RoleStatus `json:"roles,omitempty"`
}

// RoleStatus is the state of a role.
type RoleStatus struct {
	// Role in the cluster.
	Role Role `json:"role"`
	// True: the cluster has everything that the role requires. Unset: nothing was observed yet.
	// +optional
	Ready *bool `json:"ready,omitempty"`
	// Requirements that are not met, each with a remedy. Claims of the role that are not composed yet are rejected with them.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	// +optional
	Missing []string `json:"missing,omitempty"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A ClusterCheck observes the cluster that it is in: its version, nodes and classes, and the APIs of operators. A WorkloadCluster compares
// the result with the requirements of roles.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Kubernetes",type=string,JSONPath=`.status.cluster.kubernetesVersion`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.cluster.nodes.ready`
// +kubebuilder:printcolumn:name="Observed",type=date,JSONPath=`.status.lastObservationTime`
type ClusterCheck struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec ClusterCheckSpec `json:"spec"`
	// Observed state.
	// +optional
	Status ClusterCheckStatus `json:"status,omitempty"`
}

// ClusterCheckSpec is the desired state of a check.
type ClusterCheckSpec struct {
	// Operators whose APIs are observed.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Operators []CheckedOperator `json:"operators,omitempty"`
}

// CheckedOperator is an operator whose API is observed.
type CheckedOperator struct {
	// Name of the operator.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// CustomResourceDefinitions of the operator that are used.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Definitions []CheckedDefinition `json:"definitions"`
}

// CheckedDefinition is a CustomResourceDefinition in a version.
type CheckedDefinition struct {
	// Name of the CustomResourceDefinition: certificates.cert-manager.io.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Version that must be served.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version"`
}

// ClusterCheckStatus is the observed state of a check.
type ClusterCheckStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready (the properties of the cluster were read).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Properties of the cluster.
	// +optional
	Cluster common.ClusterReport `json:"cluster,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written every 5 minutes.
	// Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
}

// ClusterCheckList is a list of ClusterChecks.
// +kubebuilder:object:root=true
type ClusterCheckList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterCheck `json:"items"`
}

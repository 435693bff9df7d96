package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// An OVNSync compares Neutron's database with OVN, once for each request. Its result is kept until the next one.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Request",type=string,JSONPath=`.status.answer.request`
// +kubebuilder:printcolumn:name="Differences",type=integer,JSONPath=`.status.answer.differences`
// +kubebuilder:printcolumn:name="InSync",type=string,JSONPath=`.status.conditions[?(@.type=='InSync')].status`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].message`,priority=1
type OVNSync struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec OVNSyncSpec `json:"spec"`
	// Observed state.
	// +optional
	Status OVNSyncStatus `json:"status,omitempty"`
}

// OVNSyncSpec is the desired state of a comparison.
type OVNSyncSpec struct {
	common.OVNSyncRequest `json:",inline"`
	// Pod template of the Job. The first container runs Neutron's tool, with the environment and the files of the template.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Template corev1.PodTemplateSpec `json:"template"`
}

// OVNSyncStatus is the observed state of a comparison.
type OVNSyncStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready (the last request is complete), InSync (the last comparison found no difference).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// Result of the last comparison.
	// +optional
	Answer *common.OVNSyncAnswer `json:"answer,omitempty"`
	// Current or else last Job.
	// +optional
	Run *OVNSyncRun `json:"run,omitempty"`
}

// OVNSyncRun is one Job.
type OVNSyncRun struct {
	JobRun `json:",inline"`
	// Request of the run.
	// +kubebuilder:validation:MaxLength=63
	Request string `json:"request"`
	// Mode of the run.
	// +optional
	Mode common.OVNSyncMode `json:"mode,omitempty"`
}

// OVNSyncList is a list of OVNSyncs.
// +kubebuilder:object:root=true
type OVNSyncList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []OVNSync `json:"items"`
}

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A CellMapping makes a cell known to Nova, and maps the hypervisors that register in it. Nova's tool that makes cells makes a second one
// when it is called twice; the controller looks what is there before it makes or changes anything, and runs one Job at a time.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Cell",type=string,JSONPath=`.spec.cell`
// +kubebuilder:printcolumn:name="UUID",type=string,JSONPath=`.status.uuid`
// +kubebuilder:printcolumn:name="Hosts",type=integer,JSONPath=`.status.hostCount`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].message`,priority=1
type CellMapping struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec CellMappingSpec `json:"spec"`
	// Observed state.
	// +optional
	Status CellMappingStatus `json:"status,omitempty"`
}

// CellMappingSpec is the desired state of a cell of Nova.
type CellMappingSpec struct {
	// Name of the cell. cell0 is where Nova keeps what was never placed: it has a fixed UUID and no hosts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cell cannot be changed: make another CellMapping"
	Cell string `json:"cell"`
	// Address of the cell's database, with {username} and {password} for those of whoever reads it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[^:/]+://[^{/@]*:[^{/@]+@')",message="databaseConnection must not hold a password: write {username}:{password}"
	DatabaseConnection string `json:"databaseConnection"`
	// Address of the cell's message queue, likewise. cell0 has none.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[^:/]+://[^{/@]*:[^{/@]+@')",message="transportURL must not hold a password: write {username}:{password}"
	// +optional
	TransportURL string `json:"transportURL,omitempty"`
	// Place no new virtual machines in it.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// Nova's API, which is asked for hosts that are not mapped yet. Absent: hosts are not looked for.
	// +optional
	CloudCredentialsRef *common.CloudCredentialsReference `json:"cloudCredentialsRef,omitempty"`
	// The Jobs' pods. The first container runs nova-manage, by the environment and the files that it has.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Template corev1.PodTemplateSpec `json:"template"`
}

// CellMappingStatus is the observed state of a cell of Nova.
type CellMappingStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready (Nova knows the cell as the spec says), HostsMapped.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// UUID by which Nova knows the cell.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	UUID string `json:"uuid,omitempty"`
	// Hash of what Nova was told of the cell last.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	AppliedHash string `json:"appliedHash,omitempty"`
	// Hosts that are mapped to the cell.
	// +optional
	HostCount int32 `json:"hostCount,omitempty"`
	// Their names, sorted, the first of them.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	Hosts []string `json:"hosts,omitempty"`
}

// CellMappingList is a list of CellMappings.
// +kubebuilder:object:root=true
type CellMappingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CellMapping `json:"items"`
}

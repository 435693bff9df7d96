package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A CredentialRotation replaces a credential regularly: a new one is made, every consumer takes it, then the old one is
// revoked.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.target`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Next rotation",type=date,JSONPath=`.status.nextRotation`
type CredentialRotation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is wanted.
	Spec CredentialRotationSpec `json:"spec"`
	// What there is.
	// +optional
	Status CredentialRotationStatus `json:"status,omitempty"`
}

// CredentialRotationSpec is what is wanted of a rotation.
// +kubebuilder:validation:XValidation:rule="self.preRotationDays < self.intervalDays",message="preRotationDays must be smaller than intervalDays: a new credential would be due before the last one is in use"
// +kubebuilder:validation:XValidation:rule="self.target == oldSelf.target",message="target cannot be changed: make another CredentialRotation"
type CredentialRotationSpec struct {
	// What is rotated: an application credential of a user, or a user's password.
	// +kubebuilder:validation:Enum=ApplicationCredential;Password
	Target string `json:"target"`
	// User in Keystone whose credential it is.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UserName string `json:"userName"`
	// Secret that consumers read.
	SecretName common.ObjectName `json:"secretName"`
	// Lifetime of a credential, in days.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	// +kubebuilder:default=90
	// +optional
	IntervalDays int32 `json:"intervalDays,omitempty"`
	// How long before its end a credential is replaced, in days.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=365
	// +kubebuilder:default=7
	// +optional
	PreRotationDays int32 `json:"preRotationDays,omitempty"`
	// How long the old credential is kept after every consumer has taken the new one, in days.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=365
	// +kubebuilder:default=1
	// +optional
	GracePeriodDays int32 `json:"gracePeriodDays,omitempty"`
	// Workloads that use the credential.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Consumers []Consumer `json:"consumers,omitempty"`
	// Stop rotating for now.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// Consumer is a workload that uses a credential.
type Consumer struct {
	// Kind of the workload.
	// +kubebuilder:validation:Enum=Deployment;StatefulSet;DaemonSet
	Kind string `json:"kind"`
	// Name of the workload.
	Name common.ObjectName `json:"name"`
}

// CredentialRotationStatus is what there is of a rotation.
type CredentialRotationStatus struct {
	// Generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// State: Ready.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// What it is doing.
	// +kubebuilder:validation:Enum=Idle;Minting;Distributing;Grace;Revoking
	// +optional
	Phase string `json:"phase,omitempty"`
	// Identity of the credential in use. It does not tell the secret.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	CurrentID string `json:"currentID,omitempty"`
	// Identity of the credential that is going to be revoked.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	PreviousID string `json:"previousID,omitempty"`
	// When the credential was replaced last.
	// +optional
	LastRotation *metav1.Time `json:"lastRotation,omitempty"`
	// When it is replaced next.
	// +optional
	NextRotation *metav1.Time `json:"nextRotation,omitempty"`
}

// CredentialRotationList is a list of CredentialRotations.
// +kubebuilder:object:root=true
type CredentialRotationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CredentialRotation `json:"items"`
}

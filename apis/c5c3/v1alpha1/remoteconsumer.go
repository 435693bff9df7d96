package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A RemoteConsumer uses credentials of CredentialRotations of its namespace elsewhere: in another namespace, or in another cluster. Whoever
// sees its pods there makes it, and reports which credentials they have; the companion says which ones are in use. Until they have those,
// earlier ones are not revoked, but for no longer than until the next one is due.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Current",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`,priority=1
type RemoteConsumer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec RemoteConsumerSpec `json:"spec"`
	// Observed state.
	// +optional
	Status RemoteConsumerStatus `json:"status,omitempty"`
}

// RemoteConsumerSpec is what a consumer uses.
type RemoteConsumerSpec struct {
	// Credentials that it uses.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=secretName
	Credentials []ConsumedCredential `json:"credentials"`
}

// ConsumedCredential is one that a consumer uses.
type ConsumedCredential struct {
	// Secret of the CredentialRotation whose credential it is.
	SecretName common.ObjectName `json:"secretName"`
	// Identity of the last credential that all of its pods were known to have. Absent: none yet.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	ObservedID string `json:"observedID,omitempty"`
}

// RemoteConsumerStatus is what is known of the credentials.
type RemoteConsumerStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready (each credential is known, and is not taken away before the consumer has the next one), Current (it has the ones in
	// use).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Credentials in use.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=secretName
	// +optional
	Credentials []CurrentCredential `json:"credentials,omitempty"`
}

// CurrentCredential is one in use.
type CurrentCredential struct {
	// Secret that it is in.
	SecretName common.ObjectName `json:"secretName"`
	// Identity of it. It does not reveal the secret.
	// +kubebuilder:validation:MaxLength=64
	CurrentID string `json:"currentID"`
}

// RemoteConsumerList is a list of RemoteConsumers.
// +kubebuilder:object:root=true
type RemoteConsumerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RemoteConsumer `json:"items"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A RemoteConsumer uses credentials of CredentialRotations of its namespace in another namespace or another cluster. The controller that
// observes its pods creates it, and reports the credentials that they have; the companion reports the current ones. Until the pods have
// those, previous credentials are not revoked, but at most until the next rotation is due.
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

// RemoteConsumerSpec lists the credentials of a consumer.
type RemoteConsumerSpec struct {
	// Credentials that it uses.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=secretName
	Credentials []ConsumedCredential `json:"credentials"`
}

// ConsumedCredential is a credential that a consumer uses.
type ConsumedCredential struct {
	// Secret of the CredentialRotation.
	SecretName common.ObjectName `json:"secretName"`
	// Identity of the last credential that all of its pods were observed to have. Unset: none yet.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	ObservedID string `json:"observedID,omitempty"`
}

// RemoteConsumerStatus is the state of the credentials.
type RemoteConsumerStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready (each credential exists, and is not revoked before the consumer has the next one), Current (the consumer has the
	// current credentials).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// Current credentials.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=secretName
	// +optional
	Credentials []CurrentCredential `json:"credentials,omitempty"`
}

// CurrentCredential is a current credential.
type CurrentCredential struct {
	// Secret of the credential.
	SecretName common.ObjectName `json:"secretName"`
	// Identity of the credential. It does not reveal the secret.
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

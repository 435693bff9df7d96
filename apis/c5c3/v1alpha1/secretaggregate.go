package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A SecretAggregate combines several Secrets: it copies keys of named Secrets, unchanged or in templates, into a Secret that a pod mounts.
// A change of a source is copied immediately. The Secret is deleted with the SecretAggregate.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Secret",type=string,JSONPath=`.spec.targetSecretName`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
type SecretAggregate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec SecretAggregateSpec `json:"spec"`
	// Observed state.
	// +optional
	Status SecretAggregateStatus `json:"status,omitempty"`
}

// SecretAggregateSpec is the desired state of an aggregate.
// +kubebuilder:validation:XValidation:rule="self.targetSecretName == oldSelf.targetSecretName",message="targetSecretName is immutable: pods mount the Secret by name; restore the previous value"
type SecretAggregateSpec struct {
	// Secret that is created. If a Secret of that name exists that it does not own, it is not changed.
	TargetSecretName common.ObjectName `json:"targetSecretName"`
	// Sources of values.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Sources []SecretSource `json:"sources,omitempty"`
	// Keys of the Secret that is created. In a template, {{ .<source name> }} stands for a source's value, and {{ .<source name> | quote }}
	// for that value as a string in YAML or JSON; base64 and trim are the other functions. All other text is copied unchanged, including tabs
	// and the end of the last line: Ceph does not read a keyring without it. With only a key, as in Rook's Secrets, a keyring is
	// "[client.glance]\n\tkey = {{ .key | trim }}\n" (YAML: |, and not |-).
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	Template map[string]SecretTemplate `json:"template"`
}

// SecretSource is one key of a Secret.
type SecretSource struct {
	// Name by which templates refer to the value.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_]*$`
	Name string `json:"name"`
	// Key of a Secret.
	SecretKeyRef common.SecretKeyReference `json:"secretKeyRef"`
	// Escaping of the value in a template. None: unchanged. OsloConfig: the value of an option in an INI file, which an OpenStack service
	// reads literally, including $, quotes and spaces; a value with line breaks is rejected. URL: the user or the password of a URL, also in
	// an INI file of an OpenStack service. ConfigParser: a part of a value that Python's ConfigParser reads; a value with line breaks is
	// rejected. Apache: a part of a quoted argument of a directive of Apache, also by a variable of its environment; a value with line breaks
	// is rejected.
	// +kubebuilder:validation:Enum=None;OsloConfig;URL;ConfigParser;Apache
	// +kubebuilder:default=None
	// +optional
	Escape string `json:"escape,omitempty"`
}

// SecretTemplate is a text with {{ .<source name> }} in the place of a source's value.
// +kubebuilder:validation:MaxLength=65536
type SecretTemplate string

// SecretAggregateStatus is the observed state of an aggregate.
type SecretAggregateStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// Hash of the content of the Secret. It reveals nothing of the content, because a random number in the Secret is the key of the hash.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	ContentHash string `json:"contentHash,omitempty"`
}

// SecretAggregateList is a list of SecretAggregates.
// +kubebuilder:object:root=true
type SecretAggregateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SecretAggregate `json:"items"`
}

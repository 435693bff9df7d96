package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A SecretAggregate makes one Secret of many: it takes keys of named Secrets and writes them, as they are or in templates,
// into a Secret that a pod mounts. A change of a source is in it at once; it is deleted with its SecretAggregate.
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
// +kubebuilder:validation:XValidation:rule="self.targetSecretName == oldSelf.targetSecretName",message="targetSecretName cannot be changed: pods mount it by name"
type SecretAggregateSpec struct {
	// Secret that is created. An existing one of that name that it does not own is not touched.
	TargetSecretName common.ObjectName `json:"targetSecretName"`
	// Where values come from.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Sources []SecretSource `json:"sources,omitempty"`
	// Keys of the Secret that is created. In a template, {{ .<source name> }} stands for a source's value, and {{ .<source name> | quote }}
	// for that value as a string in YAML or JSON; base64 and trim are the other functions. All else stays as it is written, tabs and the end
	// of the last line, too: Ceph reads no keyring without one. Of a key alone, as Rook's Secrets hold it, a keyring is
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
	// The key of a Secret.
	SecretKeyRef common.SecretKeyReference `json:"secretKeyRef"`
	// How the value is written into a template: None as it is; OsloConfig as the value of an option in an INI file, so that an
	// OpenStack service takes it literally, whatever $, quotes and spaces are in it, and a value with line breaks is refused; URL as the user
	// or the password of a URL, which an OpenStack service may read from an INI file, too; ConfigParser as a part of a value that Python's
	// ConfigParser reads, and a value with line breaks is refused.
	// +kubebuilder:validation:Enum=None;OsloConfig;URL;ConfigParser
	// +kubebuilder:default=None
	// +optional
	Escape string `json:"escape,omitempty"`
}

// SecretTemplate is a text in which {{ .<source name> }} stands for a source's value.
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
	// Changes whenever what the Secret holds does, but reveals nothing of it: the hash is keyed by a random number in the Secret.
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

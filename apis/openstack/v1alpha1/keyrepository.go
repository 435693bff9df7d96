package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Types of key repositories.
const (
	KeyTypeFernet     = "Fernet"
	KeyTypeCredential = "Credential"
)

// A KeyRepository is a set of keys with which Keystone encrypts. The keys are in a Secret and rotate by schedule: key 0 is staged, the
// highest is primary, the others decrypt only.
// https://docs.openstack.org/keystone/latest/admin/fernet-token-faq.html
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Primary",type=integer,JSONPath=`.status.primary`
// +kubebuilder:printcolumn:name="Keys",type=string,JSONPath=`.status.keys`,priority=1
// +kubebuilder:printcolumn:name="Rotated",type=date,JSONPath=`.status.lastRotation`
// +kubebuilder:printcolumn:name="Distributed",type=string,JSONPath=`.status.conditions[?(@.type=='Distributed')].status`
// +kubebuilder:printcolumn:name="Migrated",type=string,JSONPath=`.status.conditions[?(@.type=='Migrated')].status`
// +kubebuilder:printcolumn:name="Backed up",type=string,JSONPath=`.status.conditions[?(@.type=='BackedUp')].status`
// +kubebuilder:printcolumn:name="Next rotation",type=string,JSONPath=`.status.nextRotation`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
type KeyRepository struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec KeyRepositorySpec `json:"spec"`
	// Observed state.
	// +optional
	Status KeyRepositoryStatus `json:"status,omitempty"`
}

// KeyRepositorySpec is the desired state of a key repository.
// +kubebuilder:validation:XValidation:rule="self.type == oldSelf.type && self.secretName == oldSelf.secretName",message="type and secretName are immutable: the current keys would be lost"
// +kubebuilder:validation:XValidation:rule="self.type != 'Fernet' || has(self.token)",message="token is required for keys of type Fernet: its lifetime determines how long keys are kept"
type KeyRepositorySpec struct {
	// Type: Fernet keys encrypt tokens, Credential keys encrypt credentials in the database.
	// +kubebuilder:validation:Enum=Fernet;Credential
	Type string `json:"type"`
	// Secret that holds the keys. It is not deleted with the KeyRepository.
	SecretName common.ObjectName `json:"secretName"`
	// Schedule of the rotation.
	RotationSchedule common.Cron `json:"rotationSchedule"`
	// Suspend the rotation.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// Number of keys that are kept. Defaults to the number that token lifetime and schedule require; a smaller number is rejected.
	// +kubebuilder:validation:Minimum=3
	// +kubebuilder:validation:Maximum=200
	// +optional
	MaxActiveKeys *int32 `json:"maxActiveKeys,omitempty"`
	// Lifetime of tokens, which determines the number of keys.
	// +optional
	Token *TokenLifetime `json:"token,omitempty"`
	// Workloads that read the keys. Keys do not rotate again before all of their pods have the keys of the last rotation.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Consumers []Consumer `json:"consumers,omitempty"`
	// Command that encrypts existing data with the new key after a rotation (Credential keys only).
	// +optional
	Migrate *Command `json:"migrate,omitempty"`
	// Store for backup and restore of the keys.
	// +optional
	Backup *Backup `json:"backup,omitempty"`
}

// TokenLifetime is the lifetime of tokens.
type TokenLifetime struct {
	// Lifetime, in seconds.
	// +kubebuilder:validation:Minimum=1
	ExpirationSeconds int32 `json:"expirationSeconds"`
	// Time that an expired token is still accepted together with a service's token, in seconds. Defaults to 0.
	// +kubebuilder:validation:Minimum=0
	// +optional
	AllowExpiredWindowSeconds int32 `json:"allowExpiredWindowSeconds,omitempty"`
}

// Consumer is a workload that uses the rotated keys or the migrated database.
type Consumer struct {
	// Kind of the workload.
	// +kubebuilder:validation:Enum=Deployment;StatefulSet;DaemonSet
	Kind string `json:"kind"`
	// Name of the workload.
	Name common.ObjectName `json:"name"`
}

// Backup names an entry of a secret store.
type Backup struct {
	// The store.
	SecretStoreRef common.SecretStoreReference `json:"secretStoreRef"`
	// Entry in the store.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	RemoteKey string `json:"remoteKey"`
}

// KeyRepositoryStatus is the observed state of a key repository.
type KeyRepositoryStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready, Distributed (every pod has the current keys), BackedUp.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// Indexes of the keys that are kept.
	// +kubebuilder:validation:MaxItems=200
	// +listType=atomic
	// +optional
	Keys []int32 `json:"keys,omitempty"`
	// Index of the primary key.
	// +optional
	Primary int32 `json:"primary,omitempty"`
	// Hash of the keys, which pods report when they have them. It does not reveal the keys.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	ContentHash string `json:"contentHash,omitempty"`
	// Number of keys that the schedule and the token lifetime require.
	// +optional
	NeededKeys int32 `json:"neededKeys,omitempty"`
	// Time of the last rotation.
	// +optional
	LastRotation *metav1.Time `json:"lastRotation,omitempty"`
	// Time of the next rotation.
	// +optional
	NextRotation *metav1.Time `json:"nextRotation,omitempty"`
	// Time of the last backup.
	// +optional
	LastBackup *metav1.Time `json:"lastBackup,omitempty"`
}

// KeyRepositoryList is a list of KeyRepositories.
// +kubebuilder:object:root=true
type KeyRepositoryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []KeyRepository `json:"items"`
}

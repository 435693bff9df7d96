package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Barbican is the key manager of one control plane: the API, and the workers that make keys. A ControlPlaneCluster makes it and fills in
// every field, so that it looks nothing up.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.release`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Update",type=string,JSONPath=`.status.updatePhase`,priority=1
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
type Barbican struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec BarbicanSpec `json:"spec"`
	// Observed state.
	// +optional
	Status BarbicanStatus `json:"status,omitempty"`
}

// BarbicanSpec is the desired state of a Barbican.
type BarbicanSpec struct {
	common.ServiceSpec `json:",inline"`
	common.Placement   `json:",inline"`
	Storage            `json:",inline"`
	// The Keystone that it belongs to.
	Identity common.Identity `json:"identity"`
	// Its message queue.
	Queue common.Queue `json:"queue"`
	// The API.
	API common.Process `json:"api"`
	// The workers, which make the keys that users order.
	Worker common.Process `json:"worker"`
	// Processes of each pod of the API.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
	// Removal of secrets that were deleted, or have expired, from the database.
	// +optional
	Archive common.Archive `json:"archive,omitempty"`
}

// Storage says where secrets are kept, and what they are encrypted with.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.vault) || has(self.vault)",message="vault stays: secrets that are kept there could be read no more; delete them first, with everything that uses them, and Barbican with them",fieldPath=".vault"
type Storage struct {
	// Keys that the keys of projects are encrypted with, by which secrets in the database are. Absent: they rotate every month.
	// +optional
	Keys *Keys `json:"keys,omitempty"`
	// Vault or OpenBao that new secrets are kept in. Absent: the database, encrypted. Secrets that are in the database stay there.
	// +optional
	Vault *Vault `json:"vault,omitempty"`
}

// Keys are those that keys of projects are encrypted with.
type Keys struct {
	// When they rotate.
	// +kubebuilder:default="0 2 1 * *"
	// +optional
	RotationSchedule common.Cron `json:"rotationSchedule,omitempty"`
	// Suspend rotation.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// Vault is a secrets engine (KV, version 2) of a Vault or OpenBao.
type Vault struct {
	// Address, without a path: https://vault.example.com:8200.
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:Pattern=`^https://([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?$`
	// +kubebuilder:example="https://vault.example.com:8200"
	URL string `json:"url"`
	// Where the engine is mounted. It has to exist.
	// +kubebuilder:validation:MaxLength=120
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="mount cannot be changed: the secrets in it would be lost"
	// +kubebuilder:default=secret
	// +optional
	Mount string `json:"mount,omitempty"`
	// Namespace in it. Absent: the root.
	// +kubebuilder:validation:MaxLength=120
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Secret with the keys role-id and secret-id of an AppRole.
	SecretRef common.SecretReference `json:"secretRef"`
	// Authority of the server's certificate. Absent: the public ones.
	// +optional
	CASecretRef *common.SecretKeyReference `json:"caSecretRef,omitempty"`
}

// BarbicanStatus is the observed state of a Barbican.
type BarbicanStatus struct {
	common.ServiceStatus `json:",inline"`
}

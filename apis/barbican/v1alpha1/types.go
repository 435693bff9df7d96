package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Barbican is the key manager of one control plane: the API, and the workers that generate keys. A ControlPlaneCluster creates it with
// every field set, so it reads no other object.
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
	// Keystone of the service.
	Identity common.Identity `json:"identity"`
	// Message queue of the service.
	Queue common.Queue `json:"queue"`
	// API processes.
	API common.Process `json:"api"`
	// Workers, which generate the keys that users order.
	Worker common.Process `json:"worker"`
	// uWSGI processes of each pod of the API.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
	// Removal of deleted and expired secrets from the database.
	// +optional
	Archive common.Archive `json:"archive,omitempty"`
}

// Storage configures the store of secrets and their encryption.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.vault) || has(self.vault)",message="vault cannot be removed, because secrets in it would become unreadable; delete these secrets, everything that uses them, and Barbican first",fieldPath=".vault"
type Storage struct {
	// Keys that encrypt the keys of projects, which encrypt secrets in the database. Defaults to a rotation every month.
	// +optional
	Keys *Keys `json:"keys,omitempty"`
	// Vault or OpenBao for new secrets. Defaults to the database, encrypted. Existing secrets stay in the database.
	// +optional
	Vault *Vault `json:"vault,omitempty"`
}

// Keys configures the keys that encrypt the keys of projects.
type Keys struct {
	// Schedule of the rotation.
	// +kubebuilder:default="0 2 1 * *"
	// +optional
	RotationSchedule common.Cron `json:"rotationSchedule,omitempty"`
	// Suspend the rotation.
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
	// Mount path of the engine. It must exist.
	// +kubebuilder:validation:MaxLength=120
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="mount is immutable: the secrets in it would be lost; restore the previous value"
	// +kubebuilder:default=secret
	// +optional
	Mount string `json:"mount,omitempty"`
	// Namespace in the Vault. Defaults to the root.
	// +kubebuilder:validation:MaxLength=120
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Secret with the keys role-id and secret-id of an AppRole.
	SecretRef common.SecretReference `json:"secretRef"`
	// Authority of the server's certificate. Defaults to public authorities.
	// +optional
	CASecretRef *common.SecretKeyReference `json:"caSecretRef,omitempty"`
}

// BarbicanStatus is the observed state of a Barbican.
type BarbicanStatus struct {
	common.ServiceStatus `json:",inline"`
}

package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// ExternalKeystone is a Keystone outside of the control plane. Its operator is responsible for its users, domains, rules and availability.
// The control plane creates only the objects that it requires: see docs/external-keystone.md.
type ExternalKeystone struct {
	// Address of its API, for services, K-ORC and clients: https://identity.example.com/v3.
	// +kubebuilder:validation:XValidation:rule="self.startsWith('https://') && self.endsWith('/v3')",message="authURL must begin with https://, because requests contain passwords, and end with /v3"
	// +kubebuilder:example="https://identity.example.com/v3"
	AuthURL common.URL `json:"authURL"`
	// Secret key with the authority of its certificate, in the claim's namespace.
	CASecretRef common.SecretKeyReference `json:"caSecretRef"`
	// Name of an administrator of that Keystone.
	User KeystoneName `json:"user"`
	// Domain of the user.
	// +kubebuilder:default=Default
	// +optional
	UserDomain KeystoneName `json:"userDomain,omitempty"`
	// Project in which the user has the role admin.
	// +kubebuilder:default=admin
	// +optional
	Project KeystoneName `json:"project,omitempty"`
	// Domain of the project.
	// +kubebuilder:default=Default
	// +optional
	ProjectDomain KeystoneName `json:"projectDomain,omitempty"`
	// Secret key with the user's password, in the claim's namespace.
	PasswordSecretRef common.SecretKeyReference `json:"passwordSecretRef"`
}

// KeystoneName is the name of an object in Keystone.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._@-]*$`
type KeystoneName string

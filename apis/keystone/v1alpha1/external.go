package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// ExternalKeystone is a Keystone that somebody else runs. It is only used: its users, domains, rules and its availability are up to whoever
// runs it. What the control plane needs there, it makes there: see docs/external-keystone.md.
type ExternalKeystone struct {
	// Address of its API, for the services, for K-ORC and for clients: https://identity.example.com/v3.
	// +kubebuilder:validation:XValidation:rule="self.startsWith('https://') && self.endsWith('/v3')",message="authURL has to begin with https://, because passwords go there, and to end with /v3"
	// +kubebuilder:example="https://identity.example.com/v3"
	AuthURL common.URL `json:"authURL"`
	// Secret key that holds the authority of its certificate, in the claim's namespace.
	CASecretRef common.SecretKeyReference `json:"caSecretRef"`
	// Name of a user who administrates that Keystone.
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
	// Secret key that holds the user's password, in the claim's namespace.
	PasswordSecretRef common.SecretKeyReference `json:"passwordSecretRef"`
}

// KeystoneName is the name of something in a Keystone.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._@-]*$`
type KeystoneName string

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Keystone is the identity service of one control plane. A ControlPlaneCluster creates it with every field set, so it reads no other
// object.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.release`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Update",type=string,JSONPath=`.status.updatePhase`,priority=1
// +kubebuilder:printcolumn:name="Reachable",type=string,JSONPath=`.status.live.reachable`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
type Keystone struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec KeystoneSpec `json:"spec"`
	// Observed state.
	// +optional
	Status KeystoneStatus `json:"status,omitempty"`
}

// KeystoneSpec is the desired state of a Keystone.
type KeystoneSpec struct {
	common.ServiceSpec `json:",inline"`
	common.Workload    `json:",inline"`
	// External Keystone, instead of a Keystone of the control plane. Only the objects for logins of services are created.
	// +optional
	External *ExternalKeystone `json:"external,omitempty"`
	// First user.
	// +optional
	Bootstrap Bootstrap `json:"bootstrap,omitempty"`
	// Keys that encrypt tokens.
	// +optional
	Fernet Fernet `json:"fernet,omitempty"`
	// Keys that encrypt stored credentials.
	// +optional
	CredentialKeys CredentialKeys `json:"credentialKeys,omitempty"`
	// Domains with users in a directory.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=domain
	// +optional
	IdentityBackends []IdentityBackend `json:"identityBackends,omitempty"`
	// IDs of the existing domains of identityBackends. Keystone reads a domain's file when it starts, and only if the domain exists, so its
	// pods are replaced when a domain has been created.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	DomainIDs map[string]DomainID `json:"domainIDs,omitempty"`
	// Login through an OpenID Connect provider.
	// +optional
	Federation *Federation `json:"federation,omitempty"`
	// Removal of expired trusts.
	// +optional
	TrustFlush TrustFlush `json:"trustFlush,omitempty"`
	// uWSGI processes of each pod.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
	// Rotation of the application credential of K-ORC.
	// +optional
	KORCCredential common.Rotation `json:"korcCredential,omitempty"`
}

// DomainID is the ID of a domain in Keystone.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
type DomainID string

// Bootstrap names the first user.
type Bootstrap struct {
	// Name of the administrator.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	// +kubebuilder:default=admin
	// +optional
	AdminUser string `json:"adminUser,omitempty"`
}

// Fernet configures the keys that encrypt tokens.
type Fernet struct {
	// Schedule of the rotation.
	// +kubebuilder:default="0 0 * * 0"
	// +optional
	RotationSchedule common.Cron `json:"rotationSchedule,omitempty"`
	// Number of keys that are kept. Defaults to the number that token lifetime and schedule require.
	// +kubebuilder:validation:Minimum=3
	// +kubebuilder:validation:Maximum=200
	// +optional
	MaxActiveKeys *int32 `json:"maxActiveKeys,omitempty"`
	// Lifetime of a token, in seconds.
	// +kubebuilder:validation:Minimum=300
	// +kubebuilder:validation:Maximum=604800
	// +kubebuilder:default=3600
	// +optional
	TokenExpirationSeconds int32 `json:"tokenExpirationSeconds,omitempty"`
	// Time that an expired token is still accepted together with a service's token, for operations that take longer than the lifetime, in
	// seconds.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1209600
	// +kubebuilder:default=172800
	// +optional
	AllowExpiredWindowSeconds *int32 `json:"allowExpiredWindowSeconds,omitempty"`
	// Suspend the rotation.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// CredentialKeys configures the keys that encrypt stored credentials (EC2, TOTP).
type CredentialKeys struct {
	// Schedule of the rotation.
	// +kubebuilder:default="0 0 1 * *"
	// +optional
	RotationSchedule common.Cron `json:"rotationSchedule,omitempty"`
	// Suspend the rotation.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// TrustFlush configures the removal of expired trusts.
type TrustFlush struct {
	// Schedule of the removal.
	// +kubebuilder:default="0 * * * *"
	// +optional
	Schedule common.Cron `json:"schedule,omitempty"`
	// Suspend the removal.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// KeystoneStatus is the observed state of a Keystone.
type KeystoneStatus struct {
	common.ServiceStatus `json:",inline"`
	// Names of objects for use by other objects.
	// +optional
	Refs *References `json:"refs,omitempty"`
}

// References are the names of objects for use by other objects.
type References struct {
	// Secret with the administrator's username, password and clouds.yaml.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	AdminSecret string `json:"adminSecret,omitempty"`
}

package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	glance "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	keystone "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
)

// Keystone is the identity service.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled",message="Keystone cannot be disabled: every other service authenticates through it"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.replicas) || has(self.resources) || has(self.nodeSelector) || has(self.tolerations) || has(self.uwsgi) || has(self.image) || has(self.hostname))",message="replicas, resources, nodeSelector, tolerations, uwsgi, image and hostname cannot be set for an external Keystone",fieldPath=".external"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.policy) || has(self.allowUnknown) || has(self.fernet) || has(self.credentialKeys) || has(self.trustFlush))",message="policy, allowUnknown, fernet, credentialKeys and trustFlush cannot be set for an external Keystone",fieldPath=".external"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.identityBackends) || has(self.federation) || has(self.bootstrap) && self.bootstrap.adminUser != 'admin')",message="identityBackends, federation and bootstrap cannot be set for an external Keystone",fieldPath=".external"
type Keystone struct {
	// Always true: Keystone cannot be disabled.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// External Keystone, instead of a Keystone of the cloud. It cannot be added or removed.
	// +optional
	External        *keystone.ExternalKeystone `json:"external,omitempty"`
	common.Workload `json:",inline"`
	common.Service  `json:",inline"`
	// Keys that encrypt tokens.
	// +optional
	Fernet *keystone.Fernet `json:"fernet,omitempty"`
	// Keys that encrypt stored credentials.
	// +optional
	CredentialKeys *keystone.CredentialKeys `json:"credentialKeys,omitempty"`
	// First user.
	// +kubebuilder:default={adminUser: admin}
	// +optional
	Bootstrap *Bootstrap `json:"bootstrap,omitempty"`
	// Domains with users in a directory.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=domain
	// +optional
	IdentityBackends []keystone.IdentityBackend `json:"identityBackends,omitempty"`
	// Login through an OpenID Connect provider.
	// +optional
	Federation *keystone.Federation `json:"federation,omitempty"`
	// Removal of expired trusts.
	// +optional
	TrustFlush *keystone.TrustFlush `json:"trustFlush,omitempty"`
	// uWSGI processes of each pod.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

// Bootstrap names the first user.
// +kubebuilder:validation:XValidation:rule="self.adminUser == oldSelf.adminUser",message="adminUser is immutable: bootstrap would create a second administrator; restore the previous value"
type Bootstrap struct {
	// Name of the administrator.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	// +kubebuilder:default=admin
	// +optional
	AdminUser string `json:"adminUser,omitempty"`
}

// Switch enables a service.
type Switch struct {
	// Run the service. Defaults to false.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// Glance is the image service.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.stores) && self.stores.size() > 0",message="Glance requires at least one store; set stores: [{name: main, file: {storageSize: 100Gi}}], or a store with s3, rbd or swift",fieldPath=".stores"
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || !has(oldSelf.enabled) || !oldSelf.enabled || (has(self.__import__) && has(self.__import__.staging) ? [self.__import__.staging] : []) == (has(oldSelf.__import__) && has(oldSelf.__import__.staging) ? [oldSelf.__import__.staging] : []) && (has(self.imageCache) ? [self.imageCache] : []) == (has(oldSelf.imageCache) ? [oldSelf.imageCache] : [])",message="import.staging and imageCache are immutable while Glance is enabled, because pods keep their volumes; disable Glance, change them, and enable it again"
type Glance struct {
	Switch          `json:",inline"`
	glance.Storage  `json:",inline"`
	common.Workload `json:",inline"`
	common.Service  `json:",inline"`
	// Removal of deleted images and tasks from the database. Defaults to every night, after 30 days.
	// +optional
	Archive *glance.Archive `json:"archive,omitempty"`
	// uWSGI processes of each pod.
	// +optional
	UWSGI *glance.UWSGI `json:"uwsgi,omitempty"`
}

// Placement is the resource inventory.
type Placement struct {
	Switch          `json:",inline"`
	common.Workload `json:",inline"`
	common.Service  `json:",inline"`
	// uWSGI processes of each pod.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

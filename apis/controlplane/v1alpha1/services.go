package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	glance "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	keystone "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
)

// Keystone is the identity service.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled",message="Keystone cannot be switched off: every other service authenticates through it"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.replicas) || has(self.resources) || has(self.nodeSelector) || has(self.tolerations) || has(self.uwsgi) || has(self.image) || has(self.hostname))",message="a Keystone elsewhere has its own pods and address; leave replicas, resources, nodeSelector, tolerations, uwsgi, image and hostname out",fieldPath=".external"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.policy) || has(self.allowUnknown) || has(self.fernet) || has(self.credentialKeys) || has(self.trustFlush))",message="whoever runs a Keystone configures it; leave policy, allowUnknown, fernet, credentialKeys and trustFlush out",fieldPath=".external"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.identityBackends) || has(self.federation) || has(self.bootstrap) && self.bootstrap.adminUser != 'admin')",message="whoever runs a Keystone says who logs in; leave identityBackends, federation and bootstrap out",fieldPath=".external"
type Keystone struct {
	// Keystone is always there.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// A Keystone that somebody else runs, in place of one of the cloud's own. It cannot be set or removed later.
	// +optional
	External        *keystone.ExternalKeystone `json:"external,omitempty"`
	common.Workload `json:",inline"`
	common.Service  `json:",inline"`
	// Keys that tokens are encrypted with.
	// +optional
	Fernet *keystone.Fernet `json:"fernet,omitempty"`
	// Keys that stored credentials are encrypted with.
	// +optional
	CredentialKeys *keystone.CredentialKeys `json:"credentialKeys,omitempty"`
	// The first user.
	// +kubebuilder:default={adminUser: admin}
	// +optional
	Bootstrap *Bootstrap `json:"bootstrap,omitempty"`
	// Domains whose users live in a directory.
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
	// Processes of each pod.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

// Bootstrap names the first user.
// +kubebuilder:validation:XValidation:rule="self.adminUser == oldSelf.adminUser",message="adminUser cannot be changed: bootstrap would make a second administrator beside the first"
type Bootstrap struct {
	// Name of the administrator.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	// +kubebuilder:default=admin
	// +optional
	AdminUser string `json:"adminUser,omitempty"`
}

// Switch turns a service on.
type Switch struct {
	// Run the service.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// Glance is the image service.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.stores) && self.stores.size() > 0",message="Glance needs a place for images: write stores: [{name: main, file: {storageSize: 100Gi}}], or a store with s3, rbd or swift",fieldPath=".stores"
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || !has(oldSelf.enabled) || !oldSelf.enabled || (has(self.__import__) && has(self.__import__.staging) ? [self.__import__.staging] : []) == (has(oldSelf.__import__) && has(oldSelf.__import__.staging) ? [oldSelf.__import__.staging] : []) && (has(self.imageCache) ? [self.imageCache] : []) == (has(oldSelf.imageCache) ? [oldSelf.imageCache] : [])",message="import.staging and imageCache stay as Glance was started with: pods keep their volumes; switch Glance off, change them, and switch it on again"
type Glance struct {
	Switch          `json:",inline"`
	glance.Storage  `json:",inline"`
	common.Workload `json:",inline"`
	common.Service  `json:",inline"`
	// Removal of images and tasks that were deleted from the database. Absent: every night, after 30 days.
	// +optional
	Archive *glance.Archive `json:"archive,omitempty"`
	// Processes of each pod.
	// +optional
	UWSGI *glance.UWSGI `json:"uwsgi,omitempty"`
}

// Placement is the resource inventory.
type Placement struct {
	Switch          `json:",inline"`
	common.Workload `json:",inline"`
	common.Service  `json:",inline"`
	// Processes of each pod.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

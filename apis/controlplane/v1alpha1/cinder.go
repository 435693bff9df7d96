package v1alpha1

import (
	cinder "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Cinder is the block storage service.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.backends) && self.backends.size() > 0",message="Cinder requires at least one backend; set backends: [{name: ceph-rbd, rbd: {secretRef: {name: …}}}], or a backend with nfs",fieldPath=".backends"
type Cinder struct {
	Switch           `json:",inline"`
	cinder.Storage   `json:",inline"`
	common.Service   `json:",inline"`
	common.Placement `json:",inline"`
	// API processes.
	// +optional
	API *common.Process `json:"api,omitempty"`
	// Scheduler processes.
	// +optional
	Scheduler *common.Process `json:"scheduler,omitempty"`
	// Volume managers of each backend that does not override them. Defaults to two for a backend whose volumes they can share, and one for
	// others.
	// +optional
	Volume *common.Process `json:"volume,omitempty"`
	// Removal of deleted rows from the database. Defaults to every night, after 30 days.
	// +optional
	Archive *common.Archive `json:"archive,omitempty"`
	// uWSGI processes of each pod of the API.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

package v1alpha1

import (
	cinder "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Cinder is the block storage service.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.backends) && self.backends.size() > 0",message="Cinder needs a place for volumes: write backends: [{name: ceph-rbd, rbd: {secretRef: {name: …}}}], or one with nfs",fieldPath=".backends"
type Cinder struct {
	Switch           `json:",inline"`
	cinder.Storage   `json:",inline"`
	common.Service   `json:",inline"`
	common.Placement `json:",inline"`
	// The API.
	// +optional
	API *common.Process `json:"api,omitempty"`
	// The scheduler.
	// +optional
	Scheduler *common.Process `json:"scheduler,omitempty"`
	// The volume managers of each backend, where it does not say otherwise. Absent: two of each that can share its volumes, and one of others.
	// +optional
	Volume *common.Process `json:"volume,omitempty"`
	// Removal of what was deleted from the database. Absent: every night, after 30 days.
	// +optional
	Archive *common.Archive `json:"archive,omitempty"`
	// Processes of each pod of the API.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

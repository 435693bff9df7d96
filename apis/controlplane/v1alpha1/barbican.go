package v1alpha1

import (
	barbican "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Barbican is the key manager.
type Barbican struct {
	Switch           `json:",inline"`
	barbican.Storage `json:",inline"`
	common.Service   `json:",inline"`
	common.Placement `json:",inline"`
	// API processes.
	// +optional
	API *common.Process `json:"api,omitempty"`
	// Workers, which generate the keys that users order.
	// +optional
	Worker *common.Process `json:"worker,omitempty"`
	// Removal of deleted and expired secrets from the database. Defaults to every night, after 30 days.
	// +optional
	Archive *common.Archive `json:"archive,omitempty"`
	// uWSGI processes of each pod of the API.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

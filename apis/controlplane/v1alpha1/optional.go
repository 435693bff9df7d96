package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	horizon "github.com/c5c3/crossplane-cobaltcore/apis/horizon/v1alpha1"
	tempest "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
)

// Heat is the orchestration service.
type Heat struct {
	Switch           `json:",inline"`
	common.Service   `json:",inline"`
	common.Placement `json:",inline"`
	// API processes.
	// +optional
	API *common.Process `json:"api,omitempty"`
	// API for signals of virtual machines. It is enabled by default.
	// +optional
	CFN *HeatCFN `json:"cfn,omitempty"`
	// Engine processes.
	// +optional
	Engine *common.Process `json:"engine,omitempty"`
	// Removal of deleted rows from the database. Defaults to every night, after 30 days.
	// +optional
	Archive *common.Archive `json:"archive,omitempty"`
	// uWSGI processes of each pod of an API.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

// HeatCFN is the API that is compatible with AWS CloudFormation.
type HeatCFN struct {
	common.Process `json:",inline"`
	// Run the API. Stacks that wait for virtual machines require it.
	// +kubebuilder:default=true
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Public host name. Virtual machines must be able to connect to it. Defaults to heat-cfn.<domain>.
	// +optional
	Hostname common.Hostname `json:"hostname,omitempty"`
}

// Horizon is the dashboard.
type Horizon struct {
	Switch           `json:",inline"`
	common.Served    `json:",inline"`
	common.Placement `json:",inline"`
	common.Process   `json:",inline"`
	horizon.Settings `json:",inline"`
	// uWSGI processes of each pod.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

// Tempest runs integration tests against the cloud.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.allowAdministration) && self.allowAdministration",message="Tempest requires an administrator account; set allowAdministration: true or disable Tempest",fieldPath=".allowAdministration"
type Tempest struct {
	// Run tests. Defaults to false. All objects with names that begin with c5c3-tempest- belong to the tests and are deleted at the end of a
	// run.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// Allow the tests to use an administrator of the cloud, who creates users and projects and sets quotas. Tests require it.
	// +optional
	AllowAdministration bool `json:"allowAdministration,omitempty"`
	// Schedule of the tests.
	// +kubebuilder:default="0 2 * * *"
	// +optional
	Schedule common.Cron `json:"schedule,omitempty"`
	// Container image. Defaults to the image of the release.
	// +optional
	Image *common.Image `json:"image,omitempty"`
	// Selection of the tests.
	// +optional
	Tests *tempest.Tests `json:"tests,omitempty"`
}

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
	// The API.
	// +optional
	API *common.Process `json:"api,omitempty"`
	// The API by which virtual machines report. Absent: it runs, too.
	// +optional
	CFN *HeatCFN `json:"cfn,omitempty"`
	// The engine.
	// +optional
	Engine *common.Process `json:"engine,omitempty"`
	// Removal of what was deleted from the database. Absent: every night, after 30 days.
	// +optional
	Archive *common.Archive `json:"archive,omitempty"`
	// Processes of each pod of an API.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

// HeatCFN is the API that speaks as AWS CloudFormation.
type HeatCFN struct {
	common.Process `json:",inline"`
	// Run it. Stacks that wait for virtual machines need it.
	// +kubebuilder:default=true
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Public host name, which virtual machines have to reach. Absent: heat-cfn.<domain>.
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
	// Processes of each pod.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
}

// Cortex is a scheduler that considers the whole cloud.
type Cortex struct {
	// Run Cortex.
	// +optional
	Enabled          bool `json:"enabled,omitempty"`
	common.Process   `json:",inline"`
	common.Placement `json:",inline"`
	// Container image.
	// +optional
	Image *common.Image `json:"image,omitempty"`
	// PostgreSQL that it keeps what it learns in. Absent: one of its own.
	// +optional
	Database *CortexDatabase `json:"database,omitempty"`
	// Decisions that it takes.
	// +optional
	Pipelines *CortexPipelines `json:"pipelines,omitempty"`
	// What it learns from. Absent: the services that it decides for.
	// +optional
	Datasources *CortexDatasources `json:"datasources,omitempty"`
}

// CortexDatabase is a PostgreSQL database.
type CortexDatabase struct {
	Storage `json:",inline"`
	// Secret with the keys host, port, username, password and database of a server that exists.
	// +optional
	SecretRef *common.SecretReference `json:"secretRef,omitempty"`
}

// CortexPipelines are the decisions that Cortex takes.
type CortexPipelines struct {
	// Hosts of virtual machines.
	// +optional
	Nova *CortexPipeline `json:"nova,omitempty"`
	// Backends of volumes.
	// +optional
	Cinder *CortexPipeline `json:"cinder,omitempty"`
}

// CortexPipeline is how a decision is taken.
type CortexPipeline struct {
	Switch `json:",inline"`
	// What has to hold of a candidate, in this order.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Filters []CortexStep `json:"filters,omitempty"`
	// What makes one better than another.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Weighers []CortexWeigher `json:"weighers,omitempty"`
}

// CortexStep is a step of a pipeline.
type CortexStep struct {
	// Name of the step, as Cortex has it: AvailabilityZoneFilter.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_-]*$`
	Name string `json:"name"`
}

// CortexWeigher is a step that weighs.
type CortexWeigher struct {
	CortexStep `json:",inline"`
	// Weight of the step against the others, in hundredths.
	// +kubebuilder:default=100
	// +optional
	WeightPercent *int32 `json:"weightPercent,omitempty"`
}

// CortexDatasources are what Cortex learns from.
type CortexDatasources struct {
	// Metrics.
	// +optional
	Prometheus *CortexDatasource `json:"prometheus,omitempty"`
	// Virtual machines and hypervisors.
	// +optional
	Nova *CortexDatasource `json:"nova,omitempty"`
	// Volumes and backends.
	// +optional
	Cinder *CortexDatasource `json:"cinder,omitempty"`
}

// CortexDatasource is something that Cortex asks.
type CortexDatasource struct {
	Switch `json:",inline"`
	// Its address. Absent, of a service: that of the catalog.
	// +optional
	Endpoint common.URL `json:"endpoint,omitempty"`
}

// Tempest runs integration tests against the cloud.
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.allowAdministration) && self.allowAdministration",message="tests make users and set quotas as an administrator of the cloud; say allowAdministration: true, or leave them off",fieldPath=".allowAdministration"
type Tempest struct {
	// Run tests. Whatever is called c5c3-tempest-… is theirs, and goes when they end.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// Tests may have an administrator of the cloud, who makes users and projects and sets quotas. Without that none run.
	// +optional
	AllowAdministration bool `json:"allowAdministration,omitempty"`
	// When they run.
	// +kubebuilder:default="0 2 * * *"
	// +optional
	Schedule common.Cron `json:"schedule,omitempty"`
	// Container image. Absent: the image of the claim's OpenStack release.
	// +optional
	Image *common.Image `json:"image,omitempty"`
	// Which tests run.
	// +optional
	Tests *tempest.Tests `json:"tests,omitempty"`
}

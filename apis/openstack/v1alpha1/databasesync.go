package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A DatabaseSync migrates the schema of one service's databases to a release: one Job at a time, each step once.
//
// A new database is migrated in one phase (sync). An existing one is upgraded in phases: expand, then the rollout of the workloads, then
// contract.
//
// Every step may run again after an interruption, so it must be idempotent, as the steps of OpenStack are. A step that succeeded for a
// release, an image and its command does not run again. The annotation openstack.c5c3.io/retry, set to any new value, and every change of
// the spec let a failed step run again immediately.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Wanted",type=string,JSONPath=`.spec.release`
// +kubebuilder:printcolumn:name="Installed",type=string,JSONPath=`.status.installedRelease`
// +kubebuilder:printcolumn:name="Contracted",type=string,JSONPath=`.status.contractedRelease`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Last step",type=string,JSONPath=`.status.history[-1:].step`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
type DatabaseSync struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec DatabaseSyncSpec `json:"spec"`
	// Observed state.
	// +optional
	Status DatabaseSyncStatus `json:"status,omitempty"`
}

// DatabaseSyncSpec is the desired state of a schema.
type DatabaseSyncSpec struct {
	// OpenStack release to which the schema is migrated.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Release string `json:"release"`
	// Steps for a new database.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Sync []Step `json:"sync"`
	// Steps of an upgrade while the old release still runs. Defaults to the steps of sync.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Expand []Step `json:"expand,omitempty"`
	// Steps of an upgrade after every pod runs the new release.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Contract []Step `json:"contract,omitempty"`
	// Steps that migrate data while the service runs, repeated until they report completion.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	OnlineMigrations []Step `json:"onlineMigrations,omitempty"`
	// Check before an upgrade.
	// +optional
	UpgradeCheck *Step `json:"upgradeCheck,omitempty"`
	// Command that determines the release of an existing schema before the first step. If unset, the database is assumed to be new.
	// +optional
	SchemaVersion *SchemaVersion `json:"schemaVersion,omitempty"`
	// Workloads that use the database: contract waits until all of their pods run the image of the template.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Consumers []Consumer `json:"consumers,omitempty"`
	// Pod template of the Jobs. The first container runs each step's command.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Template corev1.PodTemplateSpec `json:"template"`
}

// SchemaVersion identifies the release of an existing schema, in a database that was retained or restored from a backup. An upgrade from
// it to the desired release that OpenStack does not support is rejected before any step runs.
type SchemaVersion struct {
	// Read-only command that prints the schema's revision on a separate line, as Alembic does. If it prints several revisions, a known one is
	// used.
	Step Step `json:"step"`
	// Line that the command prints for an empty database.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Empty string `json:"empty"`
	// Known revisions.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=revision
	// +optional
	Revisions []SchemaRevision `json:"revisions,omitempty"`
	// Assume that an unknown revision belongs to the desired release. Defaults to false: an unknown revision is rejected.
	// +optional
	AllowUnknown bool `json:"allowUnknown,omitempty"`
}

// SchemaRevision is a revision of a schema and its releases.
type SchemaRevision struct {
	// Revision, as the service's migrations name it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision"`
	// Releases with this revision of the schema, the oldest first.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=15
	// +listType=set
	Releases []string `json:"releases"`
}

// Step is one command of a schema change.
type Step struct {
	// Name of the step.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name    string `json:"name"`
	Command `json:",inline"`
	// Exit codes that mean success. Defaults to 0.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	SuccessCodes []int32 `json:"successCodes,omitempty"`
	// Exit codes that mean that the step must run again because it is not complete.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	RepeatCodes []int32 `json:"repeatCodes,omitempty"`
	// Run the step of an upgrade to another release only while no pod of a consumer runs. While status.quiesce is set, the owner of the
	// consumers must scale them to 0.
	// +optional
	Quiesced bool `json:"quiesced,omitempty"`
}

// Command is a program with its arguments.
type Command struct {
	// Program and arguments.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Command []Argument `json:"command"`
}

// Argument is a program or an argument.
// +kubebuilder:validation:MaxLength=1024
type Argument string

// Phases of a DatabaseSync.
const (
	SyncPhasePending     = "Pending"
	SyncPhaseSyncing     = "Syncing"
	SyncPhaseExpanding   = "Expanding"
	SyncPhaseRollingOut  = "RollingOut"
	SyncPhaseContracting = "Contracting"
	SyncPhaseMigrating   = "Migrating"
	SyncPhaseDone        = "Done"
	SyncPhaseFailed      = "Failed"
)

// Results of a step.
const (
	StepSucceeded = "Succeeded"
	StepFailed    = "Failed"
	StepRepeat    = "Repeat"
)

// DatabaseSyncStatus is the observed state of a schema.
type DatabaseSyncStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready (the schema supports the desired release), Contracted.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// Current activity of the controller.
	// +kubebuilder:validation:Enum=Pending;Syncing;Expanding;RollingOut;Contracting;Migrating;Done;Failed
	// +optional
	Phase string `json:"phase,omitempty"`
	// Release of the current schema: services of this release may run. It is set when sync or expand is complete.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	InstalledRelease string `json:"installedRelease,omitempty"`
	// Hash of the release, the image and the steps that migrated the schema to installedRelease.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	InstalledHash string `json:"installedHash,omitempty"`
	// Earlier release that the schema still supports: the upgrade can be aborted to it until contract starts.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	PreviousRelease string `json:"previousRelease,omitempty"`
	// Release for which all steps have run, including contract and online migrations.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	ContractedRelease string `json:"contractedRelease,omitempty"`
	// Hash of the release, the image and the steps that all have run.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	ContractedHash string `json:"contractedHash,omitempty"`
	// No pod of a consumer may run, because the current or next step requires it.
	// +optional
	Quiesce bool `json:"quiesce,omitempty"`
	// Revision that the database reported before the first step (spec.schemaVersion).
	// +kubebuilder:validation:MaxLength=256
	// +optional
	SchemaRevision string `json:"schemaRevision,omitempty"`
	// Attempts of steps, newest last. The last one may still run.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	History []StepRecord `json:"history,omitempty"`
}

// StepRecord is one attempt of a step. It is written before its Job may start, and again when the Job has ended.
type StepRecord struct {
	// Phase and name of the step: expand/db-sync.
	// +kubebuilder:validation:MaxLength=80
	Step string `json:"step"`
	// Release for which it ran.
	// +kubebuilder:validation:MaxLength=15
	Release string `json:"release"`
	// Image that it ran, with its digest where the node reports one.
	// +kubebuilder:validation:MaxLength=640
	Image string `json:"image"`
	// Hash of the phase, the step, the release and the image of the spec. It identifies successful steps.
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash"`
	// Number of the attempt, from 1.
	Attempt int32 `json:"attempt"`
	// No pod of a consumer may run at the same time.
	// +optional
	Quiesced bool `json:"quiesced,omitempty"`
	// Hash of the spec's generation and of the retry annotation at that time.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Request string `json:"request,omitempty"`
	// Result: Succeeded, Failed, or Repeat because the step is not complete. Unset: it still runs.
	// +kubebuilder:validation:Enum=Succeeded;Failed;Repeat
	// +optional
	Result string `json:"result,omitempty"`
	// Exit code of the command. Unset: it still runs, or the code is unknown.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Last lines of output of a failed attempt, with passwords removed.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Log string `json:"log,omitempty"`
	// Time when it started.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// Time when its end was recorded.
	// +optional
	Finished *metav1.Time `json:"finished,omitempty"`
}

// DatabaseSyncList is a list of DatabaseSyncs.
// +kubebuilder:object:root=true
type DatabaseSyncList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DatabaseSync `json:"items"`
}

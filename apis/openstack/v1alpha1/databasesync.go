package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A DatabaseSync brings the schema of one service's databases to a release: one Job at a time, each step once.
//
// A new database gets all of it at once (sync). An existing one is upgraded in phases: expand, then the workloads roll out,
// then contract.
//
// Every step may run again after it was interrupted, so it has to be idempotent, as OpenStack's are. One that succeeded for a release, an
// image and its command does not run again. The annotation openstack.c5c3.io/retry, set to any new value, and every change of the spec
// let a failed step run again at once.
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
	// OpenStack release that the schema is brought to.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Release string `json:"release"`
	// Steps for a new database.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Sync []Step `json:"sync"`
	// Steps of an upgrade while the old release still runs. Absent: the steps of sync.
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
	// Steps that move data while the service runs, repeated until they report that nothing is left.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	OnlineMigrations []Step `json:"onlineMigrations,omitempty"`
	// Check before an upgrade.
	// +optional
	UpgradeCheck *Step `json:"upgradeCheck,omitempty"`
	// How the release of an existing schema is determined before the first step. Absent: the database is assumed to be new.
	// +optional
	SchemaVersion *SchemaVersion `json:"schemaVersion,omitempty"`
	// Workloads that use the database: contract waits until all of their pods run the image of the template.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Consumers []Consumer `json:"consumers,omitempty"`
	// The Jobs' pods. The first container runs each step's command.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Template corev1.PodTemplateSpec `json:"template"`
}

// SchemaVersion identifies the release of the schema that is found in a database: one that was retained, or restored from a backup. A
// step from there to the wanted release that OpenStack does not support is refused before anything runs.
type SchemaVersion struct {
	// Command that changes nothing and prints the schema's revision as a line of its own, as Alembic does. Of several revisions, one
	// that is known counts.
	Step Step `json:"step"`
	// Line that it prints of an empty database.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Empty string `json:"empty"`
	// Revisions that are known.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=revision
	// +optional
	Revisions []SchemaRevision `json:"revisions,omitempty"`
	// Assume that an unknown revision is one of the wanted release. Absent: it is refused.
	// +optional
	AllowUnknown bool `json:"allowUnknown,omitempty"`
}

// SchemaRevision is a revision of a schema and the releases that it serves.
type SchemaRevision struct {
	// Revision, as the service's migrations call it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision"`
	// Releases whose schema it is, the oldest first.
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
	// Exit codes that mean success. Absent: 0.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	SuccessCodes []int32 `json:"successCodes,omitempty"`
	// Exit codes that mean that the step has to run again because more is left.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	RepeatCodes []int32 `json:"repeatCodes,omitempty"`
	// Run the step of an upgrade to another release only while no pod of a consumer runs. While status.quiesce is set, whoever made the
	// consumers has to scale them to none.
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

// Argument is a program or an argument of it.
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
	// Conditions: Ready (the schema serves the wanted release), Contracted.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// What the controller is doing.
	// +kubebuilder:validation:Enum=Pending;Syncing;Expanding;RollingOut;Contracting;Migrating;Done;Failed
	// +optional
	Phase string `json:"phase,omitempty"`
	// Release whose schema is in place: services of this release may run. Set when sync or expand is done.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	InstalledRelease string `json:"installedRelease,omitempty"`
	// Hash of the release, the image and the steps that brought the schema to installedRelease.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	InstalledHash string `json:"installedHash,omitempty"`
	// Earlier release that the schema still serves: the upgrade can be aborted to it until contract begins.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	PreviousRelease string `json:"previousRelease,omitempty"`
	// Release that everything has run for, contract and online migrations too.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	ContractedRelease string `json:"contractedRelease,omitempty"`
	// Hash of the release, the image and the steps that everything has run for.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	ContractedHash string `json:"contractedHash,omitempty"`
	// No pod of a consumer may run: a step that is in turn, or runs, is one that needs that.
	// +optional
	Quiesce bool `json:"quiesce,omitempty"`
	// Revision that the database reported before the first step (spec.schemaVersion).
	// +kubebuilder:validation:MaxLength=256
	// +optional
	SchemaRevision string `json:"schemaRevision,omitempty"`
	// What ran, newest last. The last one may still run.
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
	// Release that it belongs to.
	// +kubebuilder:validation:MaxLength=15
	Release string `json:"release"`
	// Image that ran, with its digest where the node reports one.
	// +kubebuilder:validation:MaxLength=640
	Image string `json:"image"`
	// Hash of the phase, the step, the release and the image of the spec: what succeeded is known by it.
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash"`
	// Which attempt of the step it is, from 1.
	Attempt int32 `json:"attempt"`
	// No pod of a consumer may run beside it.
	// +optional
	Quiesced bool `json:"quiesced,omitempty"`
	// Hash of the spec's generation and of the annotation that asks to try again, as they were.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Request string `json:"request,omitempty"`
	// How it ended: Succeeded, Failed, or Repeat because more is left to do. Absent: it still runs.
	// +kubebuilder:validation:Enum=Succeeded;Failed;Repeat
	// +optional
	Result string `json:"result,omitempty"`
	// Exit code of the command. Absent: it still runs, or nobody knows.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Last lines of its output, where it failed, without passwords.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Log string `json:"log,omitempty"`
	// When it started.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// When its end was recorded.
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

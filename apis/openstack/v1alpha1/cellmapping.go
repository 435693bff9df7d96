package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A CellMapping makes a cell known to Nova, and maps the hypervisors that register in it. Nova's tool that makes cells makes a second one
// when it is called twice; the controller looks what is there before it makes or changes anything, and runs one Job at a time.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Cell",type=string,JSONPath=`.spec.cell`
// +kubebuilder:printcolumn:name="UUID",type=string,JSONPath=`.status.uuid`
// +kubebuilder:printcolumn:name="Hosts",type=integer,JSONPath=`.status.hostCount`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].message`,priority=1
type CellMapping struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec CellMappingSpec `json:"spec"`
	// Observed state.
	// +optional
	Status CellMappingStatus `json:"status,omitempty"`
}

// CellMappingSpec is the desired state of a cell of Nova.
// +kubebuilder:validation:XValidation:rule="(self.cell == 'cell0') == (!has(self.transportURL) || size(self.transportURL) == 0)",message="transportURL is needed for every cell but cell0, which has none"
// +kubebuilder:validation:XValidation:rule="self.cell != 'cell0' || !has(self.disabled) || !self.disabled",message="disabled cannot be set for cell0, in which nothing is placed"
type CellMappingSpec struct {
	// Nova that the cell is of. CellMappings of one Nova take turns.
	// +kubebuilder:default=nova
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="novaName cannot be changed: make another CellMapping"
	// +optional
	NovaName common.ObjectName `json:"novaName,omitempty"`
	// Name of the cell. cell0 is where Nova keeps what was never placed: it has a fixed UUID and no hosts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cell cannot be changed: make another CellMapping"
	Cell string `json:"cell"`
	// Address of the cell's database, with {username} and {password} for those of whoever reads it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[^:/]+://[^{/@]*:[^{/@]+@')",message="databaseConnection must not hold a password: write {username}:{password}"
	DatabaseConnection string `json:"databaseConnection"`
	// Address of the cell's message queue, likewise. cell0 has none.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[^:/]+://[^{/@]*:[^{/@]+@')",message="transportURL must not hold a password: write {username}:{password}"
	// +optional
	TransportURL string `json:"transportURL,omitempty"`
	// Place no new virtual machines in it.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// Nova's API, which is asked for hosts that are not mapped yet. Absent: hosts are not looked for.
	// +optional
	CloudCredentialsRef *common.CloudCredentialsReference `json:"cloudCredentialsRef,omitempty"`
	// The Jobs' pods. The first container runs nova-manage, by the environment and the files that it has.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Template corev1.PodTemplateSpec `json:"template"`
}

// CellMappingStatus is the observed state of a cell of Nova.
type CellMappingStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready (Nova knows the cell as the spec says), HostsMapped.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// UUID by which Nova knows the cell.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	UUID string `json:"uuid,omitempty"`
	// Hash of what Nova was told of the cell last.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	AppliedHash string `json:"appliedHash,omitempty"`
	// Hash of how Nova listed the cell after that: when it lists it otherwise, it is told again.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	ListedHash string `json:"listedHash,omitempty"`
	// The cells of this name that Nova listed last. Of more than one, none is touched.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Found []FoundCell `json:"found,omitempty"`
	// When Nova's cells were listed last.
	// +optional
	Listed *metav1.Time `json:"listed,omitempty"`
	// The command that runs, or else the last one that ran.
	// +optional
	Run *CellRun `json:"run,omitempty"`
	// How many hosts are mapped to the cell.
	// +optional
	HostCount int32 `json:"hostCount,omitempty"`
	// Their names, sorted: the first of them, if there are too many.
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=255
	// +listType=set
	// +optional
	Hosts []string `json:"hosts,omitempty"`
	// Version that the oldest nova-compute of the cell has recorded, by which others speak to it. 0: there is none. Absent: nobody has
	// looked yet.
	// +optional
	OldestCompute *int32 `json:"oldestCompute,omitempty"`
	// The last time that hosts were looked for.
	// +optional
	Search *HostSearch `json:"search,omitempty"`
}

// FoundCell is a cell as Nova lists it.
type FoundCell struct {
	// UUID of the cell.
	// +kubebuilder:validation:MaxLength=36
	UUID string `json:"uuid"`
	// It gets no new virtual machines.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// Hash of all that is listed of it.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Hash string `json:"hash,omitempty"`
}

// CellCommand is what a Job does.
// +kubebuilder:validation:Enum=ListCells;MapCell0;CreateCell;UpdateCell;DiscoverHosts;ListHosts
type CellCommand string

// What Jobs do. MapCell0, CreateCell, UpdateCell and DiscoverHosts change what Nova knows; each of them directly follows a ListCells.
const (
	CellCommandListCells     CellCommand = "ListCells"
	CellCommandMapCell0      CellCommand = "MapCell0"
	CellCommandCreateCell    CellCommand = "CreateCell"
	CellCommandUpdateCell    CellCommand = "UpdateCell"
	CellCommandDiscoverHosts CellCommand = "DiscoverHosts"
	CellCommandListHosts     CellCommand = "ListHosts"
)

// Results of a CellRun. Lost: its Job was gone before its end was recorded, so it may have done what it was to do.
const (
	CellRunSucceeded = "Succeeded"
	CellRunFailed    = "Failed"
	CellRunLost      = "Lost"
)

// CellRun is one Job. It is recorded before it runs.
type CellRun struct {
	// Number of the run, counted from 1.
	Number int64 `json:"number"`
	// What it does.
	Command CellCommand `json:"command"`
	// Cell that it is about, once that is known.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	UUID string `json:"uuid,omitempty"`
	// Hash of what Nova is told of the cell by it.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Hash string `json:"hash,omitempty"`
	// Generation of the spec that it was made for.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// UID of its Job.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	JobUID string `json:"jobUID,omitempty"`
	// When it was recorded.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// When its end was recorded.
	// +optional
	Finished *metav1.Time `json:"finished,omitempty"`
	// How it ended. Absent: it runs, or may.
	// +kubebuilder:validation:Enum=Succeeded;Failed;Lost
	// +optional
	Result string `json:"result,omitempty"`
	// Exit code, if there is one.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// The last lines that it wrote, if it did not succeed, without what looks like a secret.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Log string `json:"log,omitempty"`
	// How many runs in a row, up to this one, did not succeed. Lists that only prepared others are not counted.
	// +optional
	Failures int32 `json:"failures,omitempty"`
}

// HostSearch is a search for hosts that Nova's API lists and that no cell has.
type HostSearch struct {
	// When it ended.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// Hash of the hosts that it was for: those that no cell had, and those of this cell that the API did not list.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Hash string `json:"hash,omitempty"`
	// How often in a row it was for the same hosts. 0: it only lists those that are mapped.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
}

// CellMappingList is a list of CellMappings.
// +kubebuilder:object:root=true
type CellMappingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CellMapping `json:"items"`
}

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A CellMapping registers a cell in Nova, and maps the hypervisors that register in it. A second call of the command that creates cells
// creates a duplicate, so the controller lists the existing cells before each change, and runs one Job at a time.
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
// +kubebuilder:validation:XValidation:rule="(self.cell == 'cell0') == (!has(self.transportURL) || size(self.transportURL) == 0)",message="transportURL is required for every cell except cell0, which has none"
// +kubebuilder:validation:XValidation:rule="self.cell != 'cell0' || !has(self.disabled) || !self.disabled",message="disabled cannot be set for cell0, which never gets virtual machines"
type CellMappingSpec struct {
	// Name of the Nova of the cell. Jobs of all CellMappings of one Nova run one at a time.
	// +kubebuilder:default=nova
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="novaName is immutable; create another CellMapping"
	// +optional
	NovaName common.ObjectName `json:"novaName,omitempty"`
	// Name of the cell. cell0 stores virtual machines that could not be scheduled: it has a fixed UUID and no hosts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cell is immutable; create another CellMapping"
	Cell string `json:"cell"`
	// Address of the cell's database, with {username} and {password} as placeholders for the credentials of the reader.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[^:/]+://[^{/@]*:[^{/@]+@')",message="databaseConnection must not contain a password; use {username}:{password}"
	DatabaseConnection string `json:"databaseConnection"`
	// Address of the cell's message queue, with the same placeholders. cell0 has none.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[^:/]+://[^{/@]*:[^{/@]+@')",message="transportURL must not contain a password; use {username}:{password}"
	// +optional
	TransportURL string `json:"transportURL,omitempty"`
	// Exclude the cell from the placement of new virtual machines.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// Credentials for Nova's API, which lists hosts that are not mapped yet. If unset, hosts are not discovered.
	// +optional
	CloudCredentialsRef *common.CloudCredentialsReference `json:"cloudCredentialsRef,omitempty"`
	// Pod template of the Jobs. The first container runs nova-manage, with the environment and the files of the template.
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
	// Conditions: Ready (the cell in Nova matches the spec), HostsMapped.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// UUID of the cell in Nova.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	UUID string `json:"uuid,omitempty"`
	// Hash of the cell settings that were last passed to nova-manage.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	AppliedHash string `json:"appliedHash,omitempty"`
	// Hash of the cell as Nova listed it afterwards: when the list changes, the settings are applied again.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	ListedHash string `json:"listedHash,omitempty"`
	// Cells of this name in the last list of Nova. If there are several, none is changed.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Found []FoundCell `json:"found,omitempty"`
	// Time of the last list of Nova's cells.
	// +optional
	Listed *metav1.Time `json:"listed,omitempty"`
	// Command of the current or else the last run.
	// +optional
	Run *CellRun `json:"run,omitempty"`
	// Number of hosts that are mapped to the cell.
	// +optional
	HostCount int32 `json:"hostCount,omitempty"`
	// Names of the hosts, sorted, and truncated if there are too many.
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=255
	// +listType=set
	// +optional
	Hosts []string `json:"hosts,omitempty"`
	// Version that the oldest nova-compute of the cell has recorded, which limits the RPC version of other services. 0: there is none. Unset:
	// not checked yet.
	// +optional
	OldestCompute *int32 `json:"oldestCompute,omitempty"`
	// Last discovery of hosts.
	// +optional
	Search *HostSearch `json:"search,omitempty"`
}

// FoundCell is a cell in Nova's list.
type FoundCell struct {
	// UUID of the cell.
	// +kubebuilder:validation:MaxLength=36
	UUID string `json:"uuid"`
	// The cell is excluded from the placement of new virtual machines.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// Hash of all listed properties of the cell.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Hash string `json:"hash,omitempty"`
}

// CellCommand is the command of a Job.
// +kubebuilder:validation:Enum=ListCells;MapCell0;CreateCell;UpdateCell;DiscoverHosts;ListHosts
type CellCommand string

// Commands of Jobs. MapCell0, CreateCell, UpdateCell and DiscoverHosts change Nova; each of them directly follows a ListCells.
const (
	CellCommandListCells     CellCommand = "ListCells"
	CellCommandMapCell0      CellCommand = "MapCell0"
	CellCommandCreateCell    CellCommand = "CreateCell"
	CellCommandUpdateCell    CellCommand = "UpdateCell"
	CellCommandDiscoverHosts CellCommand = "DiscoverHosts"
	CellCommandListHosts     CellCommand = "ListHosts"
)

// CellRun is one Job.
type CellRun struct {
	JobRun `json:",inline"`
	// Command of the Job.
	Command CellCommand `json:"command"`
	// UUID of the cell that it changes, once it exists.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	UUID string `json:"uuid,omitempty"`
	// Hash of the cell settings that it passes to nova-manage.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Hash string `json:"hash,omitempty"`
}

// HostSearch is a discovery of hosts that Nova's API lists and that no cell contains.
type HostSearch struct {
	// Time when it ended.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// Hash of the hosts of the search: hosts that no cell contained, and hosts of this cell that the API did not list.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Hash string `json:"hash,omitempty"`
	// Number of consecutive searches for the same hosts. 0: it only lists mapped hosts.
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

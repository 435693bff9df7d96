package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Nova is the compute service of one control plane: the API, the scheduler, the conductor above the cells, and the cells. A
// ControlPlaneCluster makes it and fills in every field, so that it looks nothing up.
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=novas,scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.release`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Update",type=string,JSONPath=`.status.updatePhase`,priority=1
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
type Nova struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec NovaSpec `json:"spec"`
	// Observed state.
	// +optional
	Status NovaStatus `json:"status,omitempty"`
}

// NovaSpec is the desired state of a Nova. Its database is the server of the API's database and of cell0's.
type NovaSpec struct {
	common.ServiceSpec `json:",inline"`
	common.Placement   `json:",inline"`
	// The Keystone that it belongs to.
	Identity common.Identity `json:"identity"`
	// Message queue of what is above the cells.
	Queue common.Queue `json:"queue"`
	// The Barbican that keeps keys. Absent: there is none, and nothing is encrypted for users.
	// +optional
	KeyManager *common.KeyManager `json:"keyManager,omitempty"`
	// The API.
	API common.Process `json:"api"`
	// The scheduler: one process in each pod, so that more work takes more pods.
	Scheduler common.Process `json:"scheduler"`
	// The conductor above the cells: one process in each pod, so that more work takes more pods.
	Conductor common.Process `json:"conductor"`
	// The metadata API, unless each cell has its own.
	// +optional
	Metadata *common.Process `json:"metadata,omitempty"`
	// Processes of each pod of an API.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
	// Consoles of virtual machines.
	// +optional
	Consoles Consoles `json:"consoles,omitempty"`
	// Cells besides cell0.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Cells []Cell `json:"cells"`
	// What a project may use where nothing else is said. Absent: as Nova has it.
	// +optional
	Quotas *Quotas `json:"quotas,omitempty"`
	// Removal of what was deleted from the databases.
	// +optional
	Archive common.Archive `json:"archive,omitempty"`
	// Sizes of virtual machines.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Flavors []common.Flavor `json:"flavors,omitempty"`
	// Groups of hypervisors.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Aggregates []common.HostAggregate `json:"aggregates,omitempty"`
}

// Consoles are the ways to the screens of virtual machines.
type Consoles struct {
	// Protocol of the screens. None: there are none.
	// +kubebuilder:validation:Enum=VNC;SPICE;None
	// +kubebuilder:default=VNC
	// +optional
	Graphical string `json:"graphical,omitempty"`
	// Serial consoles, too.
	// +optional
	Serial bool `json:"serial,omitempty"`
}

// Cell is a group of hypervisors with a database, a message queue and a conductor of its own.
type Cell struct {
	// Name of the cell.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['cell0', 'api'])",message="nova_cell0 and nova_api are databases of Nova's own, and a cell's is called nova_<cell>; choose another name"
	Name string `json:"name"`
	// Place no new virtual machines in it.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// Its database server. Absent: that of the API.
	// +optional
	Database *common.Database `json:"database,omitempty"`
	// Its message queue. Absent: that of what is above the cells.
	// +optional
	Queue *common.Queue `json:"queue,omitempty"`
	// Those of the two that the cell has to itself. Absent: somebody else runs them.
	// +optional
	Infrastructure *CellInfrastructure `json:"infrastructure,omitempty"`
	// Its conductor: one process in each pod, so that more work takes more pods.
	Conductor common.Process `json:"conductor"`
	// Its metadata API. Absent: there is one above the cells.
	// +optional
	Metadata *common.Process `json:"metadata,omitempty"`
	// Its console proxies.
	Consoles CellConsoles `json:"consoles"`
	// Networks of its hypervisors: where consoles reach screens, and where the metadata API is asked from. Absent: neither is let through.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"10.0.0.0/16"}
	// +optional
	HypervisorNetworks []common.CIDR `json:"hypervisorNetworks,omitempty"`
}

// CellInfrastructure is what a cell has to itself.
type CellInfrastructure struct {
	// Its database server.
	// +optional
	Database *common.DatabaseServer `json:"database,omitempty"`
	// Its message queue.
	// +optional
	Queue *common.QueueServer `json:"queue,omitempty"`
	// Who reaches them.
	// +optional
	Neighbours common.Neighbours `json:"neighbours,omitempty"`
}

// CellConsoles are the console proxies of a cell.
type CellConsoles struct {
	common.Process `json:",inline"`
	// How screens are reached from outside. Absent: they are not.
	// +optional
	Exposure *common.ServiceExposure `json:"exposure,omitempty"`
	// How serial consoles are reached from outside. Absent: they are not.
	// +optional
	SerialExposure *common.ServiceExposure `json:"serialExposure,omitempty"`
}

// Quotas bound each project. -1 is no bound.
type Quotas struct {
	// Keep limits in Keystone, for each project, rather than here. The others are the limits to start from.
	// +optional
	UnifiedLimits bool `json:"unifiedLimits,omitempty"`
	// Virtual machines.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	Instances *int32 `json:"instances,omitempty"`
	// Virtual cores.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	Cores *int32 `json:"cores,omitempty"`
	// Memory, in MiB.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	MemoryMiB *int32 `json:"memoryMiB,omitempty"`
}

// NovaStatus is the observed state of a Nova.
type NovaStatus struct {
	common.ServiceStatus `json:",inline"`
	// State of each cell.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Cells []CellState `json:"cells,omitempty"`
}

// CellState is what is known of a cell.
type CellState struct {
	// Name of the cell.
	// +kubebuilder:validation:MaxLength=20
	Name string `json:"name"`
	// Phase of the cell.
	// +kubebuilder:validation:Enum=Waiting;Creating;Ready;Updating;Failed
	Phase string `json:"phase"`
	// UUID by which Nova knows it.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	UUID string `json:"uuid,omitempty"`
	// Hypervisors that Nova has mapped to it.
	// +optional
	ComputeNodes int32 `json:"computeNodes,omitempty"`
}

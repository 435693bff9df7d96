package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A Nova is the compute service of one control plane: the API, the scheduler, the super-conductor, and the cells. A ControlPlaneCluster
// creates it with every field set, so it reads no other object.
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

// NovaSpec is the desired state of a Nova. Its database is the server of the databases of the API and of cell0.
type NovaSpec struct {
	common.ServiceSpec `json:",inline"`
	common.Placement   `json:",inline"`
	// Keystone of the service.
	Identity common.Identity `json:"identity"`
	// Message queue of the processes above the cells.
	Queue common.Queue `json:"queue"`
	// Barbican for keys of encrypted volumes. Defaults to none: volumes cannot be encrypted.
	// +optional
	KeyManager *common.KeyManager `json:"keyManager,omitempty"`
	// API processes.
	API common.Process `json:"api"`
	// Scheduler processes: one in each pod; add pods for more load.
	Scheduler common.Process `json:"scheduler"`
	// Super-conductor processes: one in each pod; add pods for more load.
	Conductor common.Process `json:"conductor"`
	// Metadata API, unless each cell has its own.
	// +optional
	Metadata *common.Process `json:"metadata,omitempty"`
	// uWSGI processes of each pod of an API.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
	// Consoles of virtual machines.
	// +optional
	Consoles Consoles `json:"consoles,omitempty"`
	// Cells in addition to cell0.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Cells []Cell `json:"cells"`
	// Default quotas of projects. Defaults to the quotas of Nova.
	// +optional
	Quotas *Quotas `json:"quotas,omitempty"`
	// Removal of deleted rows from the databases.
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

// Consoles configures the consoles of virtual machines.
// +kubebuilder:validation:XValidation:rule="!has(self.vnc) || !has(self.graphical) || self.graphical == 'VNC'",message="vnc requires graphical: VNC; set it, or remove vnc",fieldPath=".vnc"
type Consoles struct {
	// Protocol of graphical consoles, or None.
	// +kubebuilder:validation:Enum=VNC;SPICE;None
	// +kubebuilder:default=VNC
	// +optional
	Graphical string `json:"graphical,omitempty"`
	// Connections to VNC servers of hypervisors.
	// +optional
	VNC *VNCConnections `json:"vnc,omitempty"`
	// Also offer serial consoles.
	// +optional
	Serial bool `json:"serial,omitempty"`
}

// VNCConnections configures the connections of console proxies to the VNC servers of hypervisors.
type VNCConnections struct {
	// TLS with certificates of both sides (VeNCrypt). Preferred also allows connections without TLS, for virtual machines that were started
	// without it, and does not protect against attackers that change packets. Required rejects these connections.
	// +kubebuilder:validation:Enum=Preferred;Required
	// +kubebuilder:default=Preferred
	// +optional
	TLS string `json:"tls,omitempty"`
}

// Cell is a group of hypervisors with a database, a message queue and a conductor.
type Cell struct {
	// Name of the cell.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['cell0', 'api'])",message="cell0 and api are reserved, because the database of a cell is named nova_<cell>; choose another name"
	Name string `json:"name"`
	// Exclude the cell from the placement of new virtual machines.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// Database server of the cell. Defaults to the server of the API.
	// +optional
	Database *common.Database `json:"database,omitempty"`
	// Message queue of the cell. Defaults to the queue of the processes above the cells.
	// +optional
	Queue *common.Queue `json:"queue,omitempty"`
	// Separate servers of the cell. If unset, both servers are managed outside of the cell.
	// +optional
	Infrastructure *CellInfrastructure `json:"infrastructure,omitempty"`
	// Conductor of the cell: one process in each pod; add pods for more load.
	Conductor common.Process `json:"conductor"`
	// Metadata API of the cell. If unset, there is one for all cells.
	// +optional
	Metadata *common.Process `json:"metadata,omitempty"`
	// Console proxies of the cell.
	Consoles CellConsoles `json:"consoles"`
	// Networks of its hypervisors. Network policies allow console proxies to connect to them, and allow requests of the metadata API from
	// them. Defaults to none.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"10.0.0.0/16"}
	// +optional
	HypervisorNetworks []common.CIDR `json:"hypervisorNetworks,omitempty"`
}

// CellInfrastructure is the separate servers of a cell.
type CellInfrastructure struct {
	// Database server of the cell.
	// +optional
	Database *common.DatabaseServer `json:"database,omitempty"`
	// Message queue of the cell.
	// +optional
	Queue *common.QueueServer `json:"queue,omitempty"`
	// Namespaces that connect to these servers.
	// +optional
	Neighbours common.Neighbours `json:"neighbours,omitempty"`
}

// CellConsoles are the console proxies of a cell.
type CellConsoles struct {
	common.Process `json:",inline"`
	// External access to graphical consoles. Defaults to none.
	// +optional
	Exposure *common.ServiceExposure `json:"exposure,omitempty"`
	// External access to serial consoles. Defaults to none.
	// +optional
	SerialExposure *common.ServiceExposure `json:"serialExposure,omitempty"`
}

// Quotas limit each project. -1 is unlimited.
type Quotas struct {
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

// CellState is the state of a cell.
type CellState struct {
	// Name of the cell.
	// +kubebuilder:validation:MaxLength=20
	Name string `json:"name"`
	// Phase of the cell.
	// +kubebuilder:validation:Enum=Waiting;Creating;Ready;Updating;Failed
	Phase string `json:"phase"`
	// UUID of the cell in Nova.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	UUID string `json:"uuid,omitempty"`
	// Hypervisors that are mapped to the cell.
	// +optional
	ComputeNodes int32 `json:"computeNodes,omitempty"`
}

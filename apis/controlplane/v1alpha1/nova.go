package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
)

// Nova is the compute service. Which hypervisors belong to a cell is said by the HypervisorClusters, so that they come and go without a
// change of the control plane.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cells) || has(self.enabled) && self.enabled && has(oldSelf.enabled) && oldSelf.enabled || oldSelf.cells.all(o, has(self.cells) && self.cells.exists(c, c.name == o.name && has(c.infrastructure) == has(o.infrastructure) && (!has(c.infrastructure) || has(c.infrastructure.mariadb) == has(o.infrastructure.mariadb) && has(c.infrastructure.rabbitmq) == has(o.infrastructure.rabbitmq))))",message="while Nova is off nobody knows which cells it had: leave their names and whether they have a mariadb or rabbitmq of their own, or change them while it is on",fieldPath=".cells"
type Nova struct {
	Switch           `json:",inline"`
	common.Service   `json:",inline"`
	common.Placement `json:",inline"`
	// The API.
	// +optional
	API *common.Process `json:"api,omitempty"`
	// The scheduler: one process in each pod, so that more work takes more pods.
	// +optional
	Scheduler *NovaScheduler `json:"scheduler,omitempty"`
	// The conductor above the cells: one process in each pod, so that more work takes more pods.
	// +optional
	Conductor *common.Process `json:"conductor,omitempty"`
	// The metadata API that virtual machines ask.
	// +optional
	Metadata *NovaMetadata `json:"metadata,omitempty"`
	// Ways to the screens of virtual machines.
	// +optional
	Consoles *NovaConsoles `json:"consoles,omitempty"`
	// Networks of hypervisors: where consoles reach screens, and where the metadata API is asked from. Absent: neither is let through.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"10.0.0.0/16"}
	// +optional
	HypervisorNetworks []common.CIDR `json:"hypervisorNetworks,omitempty"`
	// Cells besides cell0. Absent: cell1. One that is there cannot be removed or renamed: its virtual machines are recorded in it.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Cells []NovaCell `json:"cells,omitempty"`
	// What a project may use where nothing else is said. Absent: as Nova has it.
	// +optional
	Quotas *novav1.Quotas `json:"quotas,omitempty"`
	// Removal of what was deleted from the databases. Absent: every night, after 30 days.
	// +optional
	Archive *common.Archive `json:"archive,omitempty"`
	// Processes of each pod of an API.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
	// Sizes of virtual machines. One that is taken out is removed if it was made here; what runs goes on.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Flavors []common.Flavor `json:"flavors,omitempty"`
	// Groups of hypervisors, and their availability zones. One that is taken out is removed if it was made here and has no others' hosts.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Aggregates []common.HostAggregate `json:"aggregates,omitempty"`
}

// NovaScheduler chooses hosts.
type NovaScheduler struct {
	common.Process `json:",inline"`
	// Scheduler outside of Nova that has the last word. It needs an image that is patched for it. Absent: Cortex, if that is enabled.
	// +optional
	ExternalScheduler *ExternalScheduler `json:"externalScheduler,omitempty"`
}

// ExternalScheduler is asked for the order of hosts.
type ExternalScheduler struct {
	// Ask it.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// Its address. Absent: that of Cortex.
	// +optional
	Endpoint common.URL `json:"endpoint,omitempty"`
}

// NovaMetadata is the metadata API.
type NovaMetadata struct {
	common.Process `json:",inline"`
	// Run it in each cell, close to the virtual machines, rather than once. A cell's goes on when the others do not.
	// +optional
	PerCell bool `json:"perCell,omitempty"`
}

// NovaConsoles says which consoles virtual machines have. Proxies run in each cell.
type NovaConsoles struct {
	common.Process  `json:",inline"`
	novav1.Consoles `json:",inline"`
}

// NovaCell is a group of hypervisors with a conductor of its own. Its processes are those of the service where it does not say otherwise.
type NovaCell struct {
	// Name of the cell.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['cell0', 'api'])",message="nova_cell0 and nova_api are databases of Nova's own, and a cell's is called nova_<cell>; choose another name"
	Name string `json:"name"`
	// Place no new virtual machines in it.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// Networks of its hypervisors. Absent: those of the service.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"10.0.0.0/16"}
	// +optional
	HypervisorNetworks []common.CIDR `json:"hypervisorNetworks,omitempty"`
	// Its conductor: one process in each pod, so that more work takes more pods. Absent: as the one above the cells.
	// +optional
	Conductor *common.Process `json:"conductor,omitempty"`
	// Its metadata API, if metadata.perCell says so.
	// +optional
	Metadata *common.Process `json:"metadata,omitempty"`
	// Its console proxies.
	// +optional
	Consoles *CellConsoles `json:"consoles,omitempty"`
	// Database and queue of its own. Absent: in those of the control plane. What is there does not move, neither into it nor out of it.
	// +optional
	Infrastructure *CellInfrastructure `json:"infrastructure,omitempty"`
}

// CellConsoles are the console proxies of a cell.
type CellConsoles struct {
	common.Process `json:",inline"`
	// Public host name of screens. Absent: console-<cell>.<domain>.
	// +optional
	Hostname common.Hostname `json:"hostname,omitempty"`
	// Public host name of serial consoles. Absent: serial-<cell>.<domain>.
	// +optional
	SerialHostname common.Hostname `json:"serialHostname,omitempty"`
}

// CellInfrastructure is a cell's own. Everything that it does not say is as that of the control plane, backups included, which go below
// cells/<cell> in its bucket. There is no proxy in front of a cell's database.
// +kubebuilder:validation:XValidation:rule="has(self.mariadb) || has(self.rabbitmq)",message="say mariadb: {}, rabbitmq: {}, or both; or leave infrastructure out"
type CellInfrastructure struct {
	// Database.
	// +optional
	MariaDB *Members `json:"mariadb,omitempty"`
	// Message queue.
	// +optional
	RabbitMQ *Members `json:"rabbitmq,omitempty"`
}

// Members are the pods of something that keeps data, in short.
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas % 2 == 1",message="replicas must be odd: a majority has to agree"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas <= 9",message="there can be 9 replicas at most: all of them have to agree on each write"
type Members struct {
	common.Process `json:",inline"`
	Storage        `json:",inline"`
}

package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
)

// Nova is the compute service. A HypervisorCluster selects the cell of its hypervisors, so that pools can be added and removed without a
// change of the control plane.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cells) || has(self.enabled) && self.enabled && has(oldSelf.enabled) && oldSelf.enabled || oldSelf.cells.all(o, has(self.cells) && self.cells.exists(c, c.name == o.name && has(c.infrastructure) == has(o.infrastructure) && (!has(c.infrastructure) || has(c.infrastructure.mariadb) == has(o.infrastructure.mariadb) && has(c.infrastructure.rabbitmq) == has(o.infrastructure.rabbitmq))))",message="cells cannot be removed or renamed, and their own mariadb and rabbitmq cannot be added or removed, while Nova is disabled; enable Nova first",fieldPath=".cells"
type Nova struct {
	Switch           `json:",inline"`
	common.Service   `json:",inline"`
	common.Placement `json:",inline"`
	// API processes.
	// +optional
	API *common.Process `json:"api,omitempty"`
	// Scheduler processes: one in each pod; add pods for more load.
	// +optional
	Scheduler *common.Process `json:"scheduler,omitempty"`
	// Super-conductor processes: one in each pod; add pods for more load.
	// +optional
	Conductor *common.Process `json:"conductor,omitempty"`
	// Metadata API of virtual machines.
	// +optional
	Metadata *NovaMetadata `json:"metadata,omitempty"`
	// Consoles of virtual machines.
	// +optional
	Consoles *NovaConsoles `json:"consoles,omitempty"`
	// Networks of hypervisors. Network policies allow console proxies to connect to them, and allow requests of the metadata API from them.
	// Defaults to none.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"10.0.0.0/16"}
	// +optional
	HypervisorNetworks []common.CIDR `json:"hypervisorNetworks,omitempty"`
	// Cells in addition to cell0. Defaults to cell1. A cell cannot be removed or renamed, because its virtual machines are recorded in it.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Cells []NovaCell `json:"cells,omitempty"`
	// Default quotas of projects. Defaults to the quotas of Nova.
	// +optional
	Quotas *novav1.Quotas `json:"quotas,omitempty"`
	// Removal of deleted rows from the databases. Defaults to every night, after 30 days.
	// +optional
	Archive *common.Archive `json:"archive,omitempty"`
	// uWSGI processes of each pod of an API.
	// +optional
	UWSGI *common.UWSGI `json:"uwsgi,omitempty"`
	// Sizes of virtual machines. When an entry is removed, the flavor is deleted if the claim created it; existing virtual machines are not
	// affected.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Flavors []common.Flavor `json:"flavors,omitempty"`
	// Groups of hypervisors, and their availability zones. When an entry is removed, the aggregate is deleted if the claim created it and it
	// has no other hosts.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Aggregates []common.HostAggregate `json:"aggregates,omitempty"`
}

// NovaMetadata is the metadata API.
type NovaMetadata struct {
	common.Process `json:",inline"`
	// Run the API in each cell, close to the virtual machines, instead of once. The API of a cell does not depend on other cells.
	// +optional
	PerCell bool `json:"perCell,omitempty"`
}

// NovaConsoles configures the consoles of virtual machines. Proxies run in each cell.
type NovaConsoles struct {
	common.Process  `json:",inline"`
	novav1.Consoles `json:",inline"`
}

// NovaCell is a group of hypervisors with a conductor. Its processes default to the configuration of the service.
type NovaCell struct {
	// Name of the cell.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['cell0', 'api'])",message="cell0 and api are reserved, because the database of a cell is named nova_<cell>; choose another name"
	Name string `json:"name"`
	// Exclude the cell from the placement of new virtual machines.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// Networks of its hypervisors. Defaults to the networks of the service.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"10.0.0.0/16"}
	// +optional
	HypervisorNetworks []common.CIDR `json:"hypervisorNetworks,omitempty"`
	// Conductor of the cell: one process in each pod; add pods for more load. Defaults to the super-conductor's configuration.
	// +optional
	Conductor *common.Process `json:"conductor,omitempty"`
	// Metadata API of the cell, with metadata.perCell.
	// +optional
	Metadata *common.Process `json:"metadata,omitempty"`
	// Console proxies of the cell.
	// +optional
	Consoles *CellConsoles `json:"consoles,omitempty"`
	// Separate database and queue of the cell. Defaults to those of the control plane. Existing data cannot be moved in either direction.
	// +optional
	Infrastructure *CellInfrastructure `json:"infrastructure,omitempty"`
}

// CellConsoles are the console proxies of a cell.
type CellConsoles struct {
	common.Process `json:",inline"`
	// Public host name of graphical consoles. Defaults to console-<cell>.<domain>.
	// +optional
	Hostname common.Hostname `json:"hostname,omitempty"`
	// Public host name of serial consoles. Defaults to serial-<cell>.<domain>.
	// +optional
	SerialHostname common.Hostname `json:"serialHostname,omitempty"`
}

// CellInfrastructure is the separate database and queue of a cell. Unset fields have the values of the control plane, including backups,
// which are stored below cells/<cell> in its bucket. The database of a cell has no proxy.
// +kubebuilder:validation:XValidation:rule="has(self.mariadb) || has(self.rabbitmq)",message="set mariadb: {}, rabbitmq: {} or both, or remove infrastructure"
type CellInfrastructure struct {
	// Database.
	// +optional
	MariaDB *Members `json:"mariadb,omitempty"`
	// Message queue.
	// +optional
	RabbitMQ *Members `json:"rabbitmq,omitempty"`
}

// Members configures the pods of a stateful server.
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas % 2 == 1",message="replicas must be odd: a majority must agree"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas <= 9",message="replicas must be at most 9: a majority must agree on each write"
type Members struct {
	common.Process `json:",inline"`
	Storage        `json:",inline"`
}

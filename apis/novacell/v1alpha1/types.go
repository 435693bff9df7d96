package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
)

// A NovaCell is a cell of a Nova: its database, its virtual host of the message queue, its conductor, its console proxies, and its
// registration in Nova. A Nova creates it with every field set, so it reads no other object.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Cell",type=string,JSONPath=`.spec.cell`
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.release`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Hypervisors",type=integer,JSONPath=`.status.computeNodes`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
type NovaCell struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec NovaCellSpec `json:"spec"`
	// Observed state.
	// +optional
	Status NovaCellStatus `json:"status,omitempty"`
}

// NovaCellSpec is the desired state of a NovaCell. Its database is the server of the cell's database, its endpoints are those of the Nova.
type NovaCellSpec struct {
	common.ServiceSpec `json:",inline"`
	common.Placement   `json:",inline"`
	// Name of the cell.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9]*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cell is immutable: its servers are recorded in it; restore the previous value"
	// +kubebuilder:validation:XValidation:rule="!(self in ['cell0', 'api'])",message="cell0 and api are reserved, because the database of a cell is named nova_<cell>; choose another name"
	Cell string `json:"cell"`
	// Nova of the cell.
	NovaRef common.LocalReference `json:"novaRef"`
	// Database server of that Nova.
	NovaDatabase common.Database `json:"novaDatabase"`
	// Message queue of that Nova.
	NovaQueue common.Queue `json:"novaQueue"`
	// Exclude the cell from the placement of new virtual machines.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// Keystone of the service. The cell uses the credentials of the Nova.
	Identity common.Identity `json:"identity"`
	// Message queue of the cell.
	Queue common.Queue `json:"queue"`
	// Separate servers of the cell. If unset, the servers of its database and its queue are managed outside of the cell.
	// +optional
	Infrastructure *novav1.CellInfrastructure `json:"infrastructure,omitempty"`
	// Conductor of the cell: one process in each pod; add pods for more load.
	Conductor common.Process `json:"conductor"`
	// Networks of its hypervisors. Network policies allow console proxies to connect to them, and allow requests of its metadata API from
	// them. Defaults to none.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"10.0.0.0/16"}
	// +optional
	HypervisorNetworks []common.CIDR `json:"hypervisorNetworks,omitempty"`
	// Metadata API of the cell. If unset, there is one for all cells.
	// +optional
	Metadata *common.Process `json:"metadata,omitempty"`
	// uWSGI processes of each pod of the metadata API.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
	// Consoles of its virtual machines.
	// +optional
	Consoles novav1.Consoles `json:"consoles,omitempty"`
	// Console proxies of the cell.
	Proxies novav1.CellConsoles `json:"proxies"`
}

// NovaCellStatus is the observed state of a NovaCell.
type NovaCellStatus struct {
	common.ServiceStatus `json:",inline"`
	// UUID of the cell in Nova.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	UUID string `json:"uuid,omitempty"`
	// Hypervisors that are mapped to the cell.
	// +optional
	ComputeNodes int32 `json:"computeNodes,omitempty"`
	// Version that the oldest nova-compute has recorded, which limits the RPC version of other services. 0: there is none. Unset: not checked
	// yet.
	// +optional
	OldestCompute *int32 `json:"oldestCompute,omitempty"`
}

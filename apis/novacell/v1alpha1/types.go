package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
)

// A NovaCell is a cell of a Nova: its database, its part of the message queue, its conductor, its console proxies, and that Nova knows it.
// A Nova makes it and fills in every field, so that it looks nothing up.
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
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cell cannot be changed: its virtual machines are recorded in it"
	// +kubebuilder:validation:XValidation:rule="!(self in ['cell0', 'api'])",message="nova_cell0 and nova_api are databases of Nova's own, and a cell's is called nova_<cell>; choose another name"
	Cell string `json:"cell"`
	// The Nova that it is a cell of.
	NovaRef common.LocalReference `json:"novaRef"`
	// Database server of that Nova.
	NovaDatabase common.Database `json:"novaDatabase"`
	// Message queue of that Nova.
	NovaQueue common.Queue `json:"novaQueue"`
	// Place no new virtual machines in it.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// The Keystone that it belongs to. The cell logs in as the Nova does.
	Identity common.Identity `json:"identity"`
	// Its message queue.
	Queue common.Queue `json:"queue"`
	// Servers that it has to itself. Absent: somebody else runs those of its database and its queue.
	// +optional
	Infrastructure *novav1.CellInfrastructure `json:"infrastructure,omitempty"`
	// Its conductor: one process in each pod, so that more work takes more pods.
	Conductor common.Process `json:"conductor"`
	// Networks of its hypervisors: where consoles reach screens, and where its metadata API is asked from. Absent: neither is let through.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +kubebuilder:example={"10.0.0.0/16"}
	// +optional
	HypervisorNetworks []common.CIDR `json:"hypervisorNetworks,omitempty"`
	// Its metadata API. Absent: there is one above the cells.
	// +optional
	Metadata *common.Process `json:"metadata,omitempty"`
	// Processes of each pod of the metadata API.
	// +optional
	UWSGI common.UWSGI `json:"uwsgi,omitempty"`
	// Consoles of its virtual machines.
	// +optional
	Consoles novav1.Consoles `json:"consoles,omitempty"`
	// Its console proxies.
	Proxies novav1.CellConsoles `json:"proxies"`
}

// NovaCellStatus is the observed state of a NovaCell.
type NovaCellStatus struct {
	common.ServiceStatus `json:",inline"`
	// UUID by which Nova knows the cell.
	// +kubebuilder:validation:MaxLength=36
	// +optional
	UUID string `json:"uuid,omitempty"`
	// Hypervisors that Nova has mapped to it.
	// +optional
	ComputeNodes int32 `json:"computeNodes,omitempty"`
	// Version that the oldest nova-compute has recorded, by which others speak to it. 0: there is none. Absent: nobody has looked yet.
	// +optional
	OldestCompute *int32 `json:"oldestCompute,omitempty"`
}

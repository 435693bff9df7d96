package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A ComputeCatalog creates flavors and host aggregates in Nova, reconciles them, and deletes the ones that are removed from its spec, if
// it created them. Deletion of the ComputeCatalog does not change Nova.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].message`
type ComputeCatalog struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec ComputeCatalogSpec `json:"spec"`
	// Observed state.
	// +optional
	Status ComputeCatalogStatus `json:"status,omitempty"`
}

// ComputeCatalogSpec is the desired state of a catalog.
type ComputeCatalogSpec struct {
	// Credentials of an administrator for Nova.
	CloudCredentialsRef common.CloudCredentialsReference `json:"cloudCredentialsRef"`
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
	// Nodes whose hypervisors are added to aggregates when they register, and removed when they leave.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=daemonSet
	// +optional
	Nodes []ComputeNodes `json:"nodes,omitempty"`
}

// ComputeNodes are the nodes of a DaemonSet. A hypervisor has the name of its node.
type ComputeNodes struct {
	// Namespace of the DaemonSet.
	Namespace common.NamespaceName `json:"namespace"`
	// Name of the DaemonSet.
	DaemonSet common.ObjectName `json:"daemonSet"`
	// Names of aggregates of this catalog.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=100
	// +listType=set
	Aggregates []string `json:"aggregates"`
}

// ComputeCatalogStatus is the observed state of a catalog.
type ComputeCatalogStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready (Nova matches the spec, except hypervisors that have not registered yet).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
	// Changes of flavors. They are recorded in advance, so that only objects that were created here are deleted.
	// +kubebuilder:validation:MaxItems=128
	// +listType=map
	// +listMapKey=name
	// +optional
	Flavors []FlavorRecord `json:"flavors,omitempty"`
	// Changes of aggregates.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Aggregates []AggregateRecord `json:"aggregates,omitempty"`
}

// FlavorRecord records the changes of a flavor.
type FlavorRecord struct {
	// Name of the flavor.
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name"`
	// ID in Nova, once it exists.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	ID string `json:"id,omitempty"`
	// The flavor was created here.
	// +optional
	Made bool `json:"made,omitempty"`
	// Keys of extra specs that were added.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +listType=set
	// +optional
	ExtraSpecs []string `json:"extraSpecs,omitempty"`
	// Projects that were granted access.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=set
	// +optional
	Projects []string `json:"projects,omitempty"`
}

// AggregateRecord records the changes of an aggregate.
type AggregateRecord struct {
	// Name of the aggregate.
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name"`
	// ID in Nova, once it exists.
	// +optional
	ID int64 `json:"id,omitempty"`
	// The aggregate was created here.
	// +optional
	Made bool `json:"made,omitempty"`
	// Hypervisors that were added.
	// +kubebuilder:validation:MaxItems=5120
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	Hosts []string `json:"hosts,omitempty"`
	// Keys of metadata that were added.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=255
	// +listType=set
	// +optional
	Metadata []string `json:"metadata,omitempty"`
}

// ComputeCatalogList is a list of ComputeCatalogs.
// +kubebuilder:object:root=true
type ComputeCatalogList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ComputeCatalog `json:"items"`
}

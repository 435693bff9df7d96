package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
)

// An IdentityCatalog represents initial objects of a Keystone in Kubernetes, so that other objects can refer to them: objects of its
// bootstrap, the project of the services, and the domains with users in a directory. A ControlPlaneCluster creates it with every field
// set. It is deleted before the Keystone, because K-ORC must log in to Keystone to delete it.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
type IdentityCatalog struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec IdentityCatalogSpec `json:"spec"`
	// Observed state.
	// +optional
	Status IdentityCatalogStatus `json:"status,omitempty"`
}

// IdentityCatalogSpec is the desired state of an IdentityCatalog.
type IdentityCatalogSpec struct {
	// Settings for Crossplane, which adds these fields to every definition.
	// +optional
	Crossplane *common.Crossplane `json:"crossplane,omitempty"`
	// Cluster and namespace of the objects: those of Keystone's pods.
	// +optional
	Target common.Target `json:"target,omitempty"`
	// Credentials of the administrator, for operations that K-ORC does not support.
	AdminCloudRef common.CloudCredentialsReference `json:"adminCloudRef"`
	// Credentials of K-ORC.
	KORCCloudRef common.CloudCredentialsReference `json:"korcCloudRef"`
	// Region of the catalog.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region"`
	// Name of the administrator.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	// +kubebuilder:default=admin
	// +optional
	AdminUser string `json:"adminUser,omitempty"`
	// Objects of Keystone's bootstrap to import. Defaults to those that other objects require.
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	// +optional
	BootstrapResources []BootstrapResource `json:"bootstrapResources,omitempty"`
	// There are services in addition to Keystone. The objects that their users refer to are then always imported.
	// +optional
	Services bool `json:"services,omitempty"`
	// External, possibly shared, Keystone. It gets a catalog entry for this region, by which services find it. If unset, the Keystone belongs
	// to the control plane, and bootstrap has created an entry.
	// +optional
	Shared *SharedKeystone `json:"shared,omitempty"`
	// Domains with users in a directory. They are created, and are kept in Keystone when they are removed from this list.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	Domains []DomainName `json:"domains,omitempty"`
}

// SharedKeystone is a Keystone with other users.
type SharedKeystone struct {
	// Name of the control plane. It is the name of the project of its services, and the suffix of the name of the entry.
	As common.ObjectName `json:"as"`
	// Address of the Keystone, public and internal.
	URL common.URL `json:"url"`
}

// BootstrapResource is a kind of resource that Keystone's bootstrap creates.
// +kubebuilder:validation:Enum=domains;projects;roles;users;catalog
type BootstrapResource string

// DomainName is the name of a domain in Keystone.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9_-]*$`
type DomainName string

// IdentityCatalogStatus is the observed state of an IdentityCatalog.
type IdentityCatalogStatus struct {
	common.CompositionStatus `json:",inline"`
	// Generation that the phase refers to.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase of the catalog.
	// +kubebuilder:validation:Enum=Creating;Ready;Updating
	// +optional
	Phase string `json:"phase,omitempty"`
	// IDs of the existing domains of the spec. A domain whose object is temporarily not observed keeps its ID.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	DomainIDs map[string]keystonev1.DomainID `json:"domainIDs,omitempty"`
	// State of each component.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Components []common.ComponentStatus `json:"components,omitempty"`
}

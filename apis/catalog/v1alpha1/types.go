package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
)

// An IdentityCatalog shows in Kubernetes what there is in a Keystone from its beginning, so that other objects can refer to it: what its
// bootstrap made, the project of the services, and the domains whose users live in a directory. A ControlPlaneCluster makes it and fills
// in every field. It goes before the Keystone does: K-ORC has to log in there to delete it.
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
	// Settings for Crossplane. Its fields are those that Crossplane adds to every definition.
	// +optional
	Crossplane *common.Crossplane `json:"crossplane,omitempty"`
	// Where the objects are: beside Keystone's pods.
	// +optional
	Target common.Target `json:"target,omitempty"`
	// What the administrator logs in by, for what K-ORC cannot do.
	AdminCloudRef common.CloudCredentialsReference `json:"adminCloudRef"`
	// What K-ORC logs in by.
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
	// What of bootstrap's is imported. Absent: nothing but what the rest needs.
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	// +optional
	BootstrapResources []BootstrapResource `json:"bootstrapResources,omitempty"`
	// There are services besides Keystone. What their users refer to is there then, whatever else is imported.
	// +optional
	Services bool `json:"services,omitempty"`
	// Keystone that is outside of the control plane, and that others may use, too. It gets an entry for this region, by which services find
	// it. Absent: the Keystone is the control plane's own, and bootstrap has made an entry.
	// +optional
	Shared *SharedKeystone `json:"shared,omitempty"`
	// Domains whose users live in a directory. They are made, and stay in Keystone when they are no longer named here.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	Domains []DomainName `json:"domains,omitempty"`
}

// SharedKeystone is a Keystone that others may use, too.
type SharedKeystone struct {
	// Name of the control plane: that of its services' project, and the end of the name of the entry.
	As common.ObjectName `json:"as"`
	// Address of the Keystone, public and internal.
	URL common.URL `json:"url"`
}

// BootstrapResource is a kind of resource that Keystone's bootstrap makes.
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
	// Generation that the phase is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase of the catalog.
	// +kubebuilder:validation:Enum=Creating;Ready;Updating
	// +optional
	Phase string `json:"phase,omitempty"`
	// IDs of the domains of the spec, as far as there are any. One whose object cannot be seen for a while keeps its ID.
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

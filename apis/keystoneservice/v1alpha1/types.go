package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A KeystoneService is a service of somebody's own in a cloud: it has an account there, and a place in the catalog if it serves an API.
// What runs the service is not part of it, but of a Composition or a chart of its own.
//
// The type describes both the claim and the composite resource (XKeystoneService) that Crossplane makes of it.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=cobaltcore
// +kubebuilder:printcolumn:name="Control plane",type=string,JSONPath=`.spec.controlPlaneRef.name`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.catalog.type`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Current')].message`
type KeystoneService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec KeystoneServiceSpec `json:"spec"`
	// Observed state.
	// +optional
	Status KeystoneServiceStatus `json:"status,omitempty"`
}

// KeystoneServiceSpec is the desired state of a service in Keystone.
// +kubebuilder:validation:XValidation:rule="!has(self.additionalCatalog) || has(self.catalog)",message="additionalCatalog adds to catalog: say that, too"
// +kubebuilder:validation:XValidation:rule="!has(self.additionalCatalog) || !has(self.catalog) || self.additionalCatalog.all(c, c.type != self.catalog.type)",message="additionalCatalog has the type of catalog: clients would find either; choose another"
// +kubebuilder:validation:XValidation:rule="self.controlPlaneRef == oldSelf.controlPlaneRef",message="controlPlaneRef cannot be changed: the account is in that cloud; make another claim for another one"
type KeystoneServiceSpec struct {
	// Control plane that the service belongs to. It has to name this claim in spec.keystoneServices.
	ControlPlaneRef common.ClaimReference `json:"controlPlaneRef"`
	// Place of the service in the catalog. Absent: it serves no API.
	// +optional
	Catalog *Catalog `json:"catalog,omitempty"`
	// Further places, of a service that speaks more than one protocol. Each has a type of its own.
	// +kubebuilder:validation:MaxItems=4
	// +listType=map
	// +listMapKey=type
	// +optional
	AdditionalCatalog []Catalog `json:"additionalCatalog,omitempty"`
	// Namespaces that the service's pods are in besides that of the claim. All pods there reach Keystone, to log in and to check tokens.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	PodNamespaces []common.NamespaceName `json:"podNamespaces,omitempty"`
	// What the service logs in by.
	// +kubebuilder:default={}
	// +optional
	Account AccountSpec `json:"account,omitempty"`
}

// Catalog is what the catalog says of a service.
// +kubebuilder:validation:XValidation:rule="self.type == oldSelf.type",message="type cannot be changed: clients find the service by it; make another claim for another service"
type Catalog struct {
	// Type of the service, by which clients find it.
	// +kubebuilder:validation:XValidation:rule="!(self in ['identity', 'image', 'compute', 'compute-legacy', 'placement', 'network', 'block-storage', 'block-store', 'volume', 'volumev2', 'volumev3', 'orchestration', 'cloudformation', 'orchestration-cfn', 'key-manager', 'dashboard'])",message="this is the type of a service of OpenStack's own; choose another"
	// +kubebuilder:example="metering"
	Type ServiceType `json:"type"`
	// Name of the service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9 ._-]*[A-Za-z0-9])?$`
	// +kubebuilder:example="ceilometer"
	Name string `json:"name"`
	// What it is for.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Description string `json:"description,omitempty"`
	// Where it answers.
	Endpoints Endpoints `json:"endpoints"`
}

// Endpoints are where a service answers.
type Endpoints struct {
	// Address from outside.
	Public EndpointURL `json:"public"`
	// Address inside the cluster.
	Internal EndpointURL `json:"internal"`
}

// EndpointURL is an http or https address without user, query and fragment. For %(project_id)s in its path Keystone puts the project of
// whoever asks.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:Pattern=`^https?://[A-Za-z0-9.\[\]:-]+(/([A-Za-z0-9._~%+/-]|%\(project_id\)s)*)?$`
type EndpointURL string

// ServiceType is the type of a service in a catalog.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
type ServiceType string

// AccountSpec is what a service logs in by: a user of its own in the project of all services.
type AccountSpec struct {
	// Roles of the user. With service it checks the tokens of others, with reader it sees what the project of the services has. An admin
	// administrates the whole cloud, which the control plane has to allow by allowAdministration.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:default={service}
	// +listType=set
	// +optional
	Roles []Role `json:"roles,omitempty"`
}

// Role in Keystone.
// +kubebuilder:validation:Enum=service;reader;admin
type Role string

// KeystoneServiceStatus is the observed state of a service in Keystone.
type KeystoneServiceStatus struct {
	common.CloudStatus `json:",inline"`
	// What the service logs in by, and the Secret with the password. Absent: there is none yet, or none any more.
	// +optional
	Account *Account `json:"account,omitempty"`
	// Namespace of the control plane's workloads, where the objects of the account are. It holds while the control plane says nothing.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	ControlPlaneInstance string `json:"controlPlaneInstance,omitempty"`
}

// Account is what a service logs in by. Nothing here is a secret.
type Account struct {
	// Address of Keystone inside the cluster.
	AuthURL common.URL `json:"authURL"`
	// Region of the catalog.
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region"`
	// User.
	// +kubebuilder:validation:MaxLength=64
	User string `json:"user"`
	// Domain of the user.
	// +kubebuilder:validation:MaxLength=64
	UserDomain string `json:"userDomain"`
	// Project that it works in.
	// +kubebuilder:validation:MaxLength=64
	Project string `json:"project"`
	// Domain of the project.
	// +kubebuilder:validation:MaxLength=64
	ProjectDomain string `json:"projectDomain"`
	// Secret in the claim's namespace. Its keys are the variables of the environment that OpenStack's clients read (OS_PASSWORD and others),
	// clouds.yaml with all of it, and cacert with the authority of Keystone's address.
	SecretName common.ObjectName `json:"secretName"`
}

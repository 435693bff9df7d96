package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// A KeystoneService is a custom service in a cloud: it has an account, and a catalog entry if it serves an API. The workloads of the
// service are not part of it; they belong to another Composition or chart.
//
// The type describes both the claim and the composite resource (XKeystoneService) that Crossplane creates for it.
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
// +kubebuilder:validation:XValidation:rule="!has(self.additionalCatalog) || has(self.catalog)",message="additionalCatalog requires catalog"
// +kubebuilder:validation:XValidation:rule="!has(self.additionalCatalog) || !has(self.catalog) || self.additionalCatalog.all(c, c.type != self.catalog.type)",message="additionalCatalog must not contain the type of catalog: clients could find either entry; choose another type"
// +kubebuilder:validation:XValidation:rule="self.controlPlaneRef == oldSelf.controlPlaneRef",message="controlPlaneRef is immutable: the account belongs to that cloud; create another claim"
type KeystoneServiceSpec struct {
	// Control plane of the service. Its spec.keystoneServices must contain this claim.
	ControlPlaneRef common.ClaimReference `json:"controlPlaneRef"`
	// Catalog entry of the service. If unset, it serves no API.
	// +optional
	Catalog *Catalog `json:"catalog,omitempty"`
	// Further catalog entries, for a service with several protocols. Each must have a different type.
	// +kubebuilder:validation:MaxItems=4
	// +listType=map
	// +listMapKey=type
	// +optional
	AdditionalCatalog []Catalog `json:"additionalCatalog,omitempty"`
	// Further namespaces of the service's pods. All pods in them can connect to Keystone, to log in and to validate tokens.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	PodNamespaces []common.NamespaceName `json:"podNamespaces,omitempty"`
	// Account of the service.
	// +kubebuilder:default={}
	// +optional
	Account AccountSpec `json:"account,omitempty"`
}

// Catalog is a catalog entry of a service.
// +kubebuilder:validation:XValidation:rule="self.type == oldSelf.type",message="type is immutable: clients find the service by it; create another claim for another service"
type Catalog struct {
	// Type of the service, by which clients find it.
	// +kubebuilder:validation:XValidation:rule="!(self in ['identity', 'image', 'compute', 'compute-legacy', 'placement', 'network', 'block-storage', 'block-store', 'volume', 'volumev2', 'volumev3', 'orchestration', 'cloudformation', 'orchestration-cfn', 'key-manager', 'dashboard'])",message="this type is reserved for a service of OpenStack; choose another type"
	// +kubebuilder:example="metering"
	Type ServiceType `json:"type"`
	// Name of the service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9 ._-]*[A-Za-z0-9])?$`
	// +kubebuilder:example="ceilometer"
	Name string `json:"name"`
	// Description of the service.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Description string `json:"description,omitempty"`
	// Addresses of the service.
	Endpoints Endpoints `json:"endpoints"`
}

// Endpoints are the addresses of a service.
type Endpoints struct {
	// Address from outside.
	Public EndpointURL `json:"public"`
	// Address inside the cluster.
	Internal EndpointURL `json:"internal"`
}

// EndpointURL is an http or https address without user, query and fragment. Keystone replaces %(project_id)s in its path by the project of
// the user, and would interpret any other % as a format: %9999999999s takes all its memory.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:Pattern=`^https?://[A-Za-z0-9.\[\]:-]+(/([A-Za-z0-9._~+/-]|%\(project_id\)s)*)?$`
type EndpointURL string

// ServiceType is the type of a service in a catalog.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
type ServiceType string

// AccountSpec configures the account of a service: a user in the project of all services.
type AccountSpec struct {
	// Roles of the user. With service, it can validate the tokens of others; with reader, it can read objects in the project of the services.
	// An admin administers the whole cloud, which the control plane must allow with allowAdministration.
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
	// Account of the service, and the Secret with the password. Unset: it does not exist yet, or not any more.
	// +optional
	Account *Account `json:"account,omitempty"`
	// Namespace of the control plane's workloads and of the objects of the account. It is kept while the control plane does not report it.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	ControlPlaneInstance string `json:"controlPlaneInstance,omitempty"`
}

// Account is the account of a service, without secrets.
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
	// Project of the user.
	// +kubebuilder:validation:MaxLength=64
	Project string `json:"project"`
	// Domain of the project.
	// +kubebuilder:validation:MaxLength=64
	ProjectDomain string `json:"projectDomain"`
	// Secret in the claim's namespace. Its keys are the environment variables of OpenStack's clients (OS_PASSWORD and others), clouds.yaml
	// with the same values, and cacert with the authority of Keystone's address.
	SecretName common.ObjectName `json:"secretName"`
}

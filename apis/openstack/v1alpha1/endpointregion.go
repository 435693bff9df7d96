package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// An EndpointRegion puts an endpoint of the catalog into a region: K-ORC's Endpoints have none, and a client that asks for a region does
// not find them. When it is deleted, the endpoint stays as it is.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.spec.endpointRef`
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.spec.region`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=='Available')].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Available')].message`,priority=1
type EndpointRegion struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec EndpointRegionSpec `json:"spec"`
	// Observed state.
	// +optional
	Status EndpointRegionStatus `json:"status,omitempty"`
}

// EndpointRegionSpec is the desired state of an endpoint's region.
type EndpointRegionSpec struct {
	// How Keystone is reached, as an administrator.
	CloudCredentialsRef common.CloudCredentialsReference `json:"cloudCredentialsRef"`
	// K-ORC's Endpoint in the same namespace.
	EndpointRef common.ObjectName `json:"endpointRef"`
	// Region that it is in. Keystone makes one that it does not know.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	Region string `json:"region"`
}

// EndpointRegionStatus is the observed state of an endpoint's region.
type EndpointRegionStatus struct {
	// Conditions: Available.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ID of the endpoint in Keystone.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	ID string `json:"id,omitempty"`
}

// EndpointRegionList is a list of EndpointRegions.
// +kubebuilder:object:root=true
type EndpointRegionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EndpointRegion `json:"items"`
}

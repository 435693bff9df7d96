package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// An EndpointRegion sets the region of an endpoint in the catalog: K-ORC's Endpoints have none, and clients that request a region do not
// find them. The endpoint is not changed when the EndpointRegion is deleted.
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
	// Credentials of an administrator for Keystone.
	CloudCredentialsRef common.CloudCredentialsReference `json:"cloudCredentialsRef"`
	// K-ORC's Endpoint in the same namespace.
	EndpointRef common.ObjectName `json:"endpointRef"`
	// Region of the endpoint. Keystone creates it if it does not exist.
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
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
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

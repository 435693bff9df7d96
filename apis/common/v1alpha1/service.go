package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Options of one group. A value is a string, a number, a boolean, or a list of those.
// +kubebuilder:validation:MaxProperties=128
type Options map[string]apiextensionsv1.JSON

// Config overrides configuration options of a service: {<group>: {<option>: <value>}}. Every option is checked against
// the options that the service has in that release.
// +kubebuilder:validation:MaxProperties=64
type Config map[string]Options

// PolicyCheck of oslo.policy: "role:admin or user_id:%(user_id)s".
// +kubebuilder:validation:MaxLength=2048
// +kubebuilder:validation:Pattern=`^[^\n\r]*$`
type PolicyCheck string

// Policy overrides access rules of a service: {<rule>: <check>}. Every rule is checked against the rules that the service
// has in that release.
// +kubebuilder:validation:MaxProperties=512
type Policy map[string]PolicyCheck

// Overrides are a tenant's own configuration options and access rules of a service.
type Overrides struct {
	// Configuration options, as {<group>: {<option>: <value>}}.
	// +kubebuilder:example={"DEFAULT": {"debug": true}}
	// +optional
	Config Config `json:"config,omitempty"`
	// Access rules (oslo.policy), as {<rule>: <check>}.
	// +optional
	Policy Policy `json:"policy,omitempty"`
	// Accept unchecked options and rules that the release lacks, as of a patched image.
	// +optional
	AllowUnknown bool `json:"allowUnknown,omitempty"`
}

// Workload configures the pods of one process of a service.
type Workload struct {
	// Number of pods. Defaults by the size.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// Resources of each pod's main container. Defaults by the size.
	// +optional
	Resources *Resources `json:"resources,omitempty"`
	Placement `json:",inline"`
}

// Process configures the pods of one of several processes of a service. Other settings of pods are common to all processes of the service.
type Process struct {
	// Number of pods. Defaults by the size.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// CPU request, in cores. Defaults by the size.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="string(self).matches('^([1-9][0-9]{0,3}|[1-9][0-9]{0,6}m|(0|[1-9][0-9]{0,3})[.][0-9]{0,2}[1-9])$')",message="must be more than 0 cores, such as 500m or 2"
	// +kubebuilder:example="500m"
	// +optional
	CPU *intstr.IntOrString `json:"cpu,omitempty"`
	// Memory request and limit. Defaults by the size.
	// +kubebuilder:example="1Gi"
	// +optional
	Memory Memory `json:"memory,omitempty"`
}

// Memory is an amount of memory: 1Gi.
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi|Ti)$`
type Memory string

// Service holds the fields that every OpenStack service with oslo's options has.
type Service struct {
	Served    `json:",inline"`
	Overrides `json:",inline"`
}

// Served holds the fields that every OpenStack service has.
type Served struct {
	// Public host name. Defaults to <service>.<domain>.
	// +kubebuilder:example="api.cloud.example.com"
	// +optional
	Hostname Hostname `json:"hostname,omitempty"`
	// Container image. Defaults to the image of the release.
	// +optional
	Image *Image `json:"image,omitempty"`
}

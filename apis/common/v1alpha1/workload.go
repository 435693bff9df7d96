package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// ResourceAmounts are amounts of resources of a container.
type ResourceAmounts struct {
	// CPU time, in cores: 500m is half a core.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="string(self).matches('[eE][-+]?[0-9.]') || !isQuantity(string(self)) || quantity(string(self)).isGreaterThan(quantity('0'))",message="must be more than 0 cores: 500m is half a core"
	// +kubebuilder:validation:XValidation:rule="string(self).matches('[eE][-+]?[0-9.]') || !isQuantity(string(self)) || string(self).matches('^[0-9]*[.]?[0-9]*m?$')",message="must be cores, without a unit of bytes: 500m is half a core, 2 are two"
	// +kubebuilder:example="500m"
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// Memory, in bytes: 512Mi.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="string(self).matches('[eE][-+]?[0-9.]') || !isQuantity(string(self)) || !quantity(string(self)).isLessThan(quantity('1Mi'))",message="must be at least 1Mi; add the unit: 512Mi, not 512 or 512m"
	// +kubebuilder:example="1Gi"
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// Scratch space on the node, in bytes: 2Gi.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="string(self).matches('[eE][-+]?[0-9.]') || !isQuantity(string(self)) || !quantity(string(self)).isLessThan(quantity('1Mi'))",message="must be at least 1Mi; add the unit: 512Mi, not 512 or 512m"
	// +kubebuilder:example="2Gi"
	// +optional
	EphemeralStorage *resource.Quantity `json:"ephemeral-storage,omitempty"`
}

// Resources are the guaranteed (requests) and the maximum (limits) resources of a container.
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || !has(self.requests.cpu) || !has(self.limits.cpu) || string(self.requests.cpu).matches('[eE][-+]?[0-9.]') || !isQuantity(string(self.requests.cpu)) || string(self.limits.cpu).matches('[eE][-+]?[0-9.]') || !isQuantity(string(self.limits.cpu)) || !quantity(string(self.requests.cpu)).isGreaterThan(quantity(string(self.limits.cpu)))",message="requests.cpu must not exceed limits.cpu"
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || !has(self.requests.memory) || !has(self.limits.memory) || string(self.requests.memory).matches('[eE][-+]?[0-9.]') || !isQuantity(string(self.requests.memory)) || string(self.limits.memory).matches('[eE][-+]?[0-9.]') || !isQuantity(string(self.limits.memory)) || !quantity(string(self.requests.memory)).isGreaterThan(quantity(string(self.limits.memory)))",message="requests.memory must not exceed limits.memory"
type Resources struct {
	// Resources that the scheduler reserves for the container.
	// +optional
	Requests *ResourceAmounts `json:"requests,omitempty"`
	// Maximum resources of the container.
	// +optional
	Limits *ResourceAmounts `json:"limits,omitempty"`
}

// Toleration lets pods run on nodes that carry a taint.
// +kubebuilder:validation:XValidation:rule="(has(self.operator) && self.operator == 'Exists') ? !has(self.value) : has(self.key)",message="operator Exists cannot have a value; operator Equal requires a key"
type Toleration struct {
	// Key of the taint. Defaults, with Exists, to all.
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:example="dedicated"
	// +optional
	Key string `json:"key,omitempty"`
	// Equal compares the value, Exists matches any.
	// +kubebuilder:validation:Enum=Equal;Exists
	// +optional
	Operator string `json:"operator,omitempty"`
	// Value of the taint.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Value string `json:"value,omitempty"`
	// Effect of the taint. Defaults to all.
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	// +optional
	Effect string `json:"effect,omitempty"`
	// Seconds until a NoExecute taint evicts the pod. Defaults to unlimited.
	// +kubebuilder:validation:Minimum=0
	// +optional
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

// Placement selects the nodes of pods.
type Placement struct {
	// Labels that a node must carry.
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:example={"topology.kubernetes.io/zone": "a"}
	// +optional
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`
	// Taints that the pods tolerate.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Tolerations []Toleration `json:"tolerations,omitempty"`
}

// LabelValue is the value of a Kubernetes label.
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
type LabelValue string

// Image overrides parts of the container image in the release table.
// +kubebuilder:validation:XValidation:rule="!(has(self.tag) && has(self.digest))",message="set tag or digest, not both"
type Image struct {
	// Repository with registry, without tag: registry.example.com/openstack/keystone.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)+$`
	// +kubebuilder:example="registry.example.com/openstack/keystone"
	// +optional
	Repository string `json:"repository,omitempty"`
	// Version (28.1.0), patched version (28.1.0-p1), branch (stable-2025.2) or commit.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^([0-9]+\.[0-9]+\.[0-9]+(-p[0-9]+)?|stable-20[0-9]{2}\.[12]|[0-9a-f]{7,40})$`
	// +kubebuilder:example="28.1.0-p1"
	// +optional
	Tag string `json:"tag,omitempty"`
	// Digest of the image: sha256:….
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	// +optional
	Digest string `json:"digest,omitempty"`
}

// InfrastructureImage overrides an image that is not part of OpenStack.
// +kubebuilder:validation:XValidation:rule="!(has(self.tag) && has(self.digest))",message="set tag or digest, not both"
type InfrastructureImage struct {
	// Repository with its registry, without a tag.
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)+$`
	// +optional
	Repository string `json:"repository,omitempty"`
	// Tag.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_][A-Za-z0-9._-]*$`
	// +optional
	Tag string `json:"tag,omitempty"`
	// Digest of the image: sha256:….
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	// +optional
	Digest string `json:"digest,omitempty"`
}

// Images configures the registry and the pull secrets of images.
type Images struct {
	// Registry, with an optional path, that mirrors the default ones: registry.example.com/mirror. It replaces the registry of every image
	// without its own override. In a claim, it applies only to images of services, not to databases and queues.
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`
	// +kubebuilder:example="registry.example.com/mirror"
	// +optional
	Registry string `json:"registry,omitempty"`
	// Names of Secrets of type kubernetes.io/dockerconfigjson. In a claim: in its namespace. In a PlatformConfig: in its secretsNamespace. In
	// the composite resource of a service: in the workload namespace.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	PullSecrets []ObjectName `json:"pullSecrets,omitempty"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// DefaultName is the name of the PlatformConfig that compositions ask for.
const DefaultName = "default"

// A PlatformConfig holds what the platform team decides once: defaults that claims need not repeat, clusters that are
// offered, and limits.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=cobaltcore
// +kubebuilder:printcolumn:name="Domain",type=string,JSONPath=`.spec.domain`
type PlatformConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the platform team decided.
	Spec PlatformConfigSpec `json:"spec"`
}

// PlatformConfigSpec is what the platform team decided.
type PlatformConfigSpec struct {
	// Domain below which every control plane gets its own: <claim>.<namespace>.<domain>.
	Domain common.Hostname `json:"domain"`
	// How APIs are reached from outside. Absent: not at all.
	// +optional
	Exposure *common.Exposure `json:"exposure,omitempty"`
	// Certificates of public addresses.
	// +optional
	TLS *common.TLS `json:"tls,omitempty"`
	// Prometheus objects.
	// +optional
	Monitoring *common.Monitoring `json:"monitoring,omitempty"`
	// Store outside the cluster in which generated secrets are kept.
	// +optional
	SecretStore *common.SecretStoreReference `json:"secretStore,omitempty"`
	// Where images come from.
	// +optional
	Images *common.Images `json:"images,omitempty"`
	// Images of what is not OpenStack's, such as databases and queues.
	// +optional
	ThirdPartyImages *ThirdPartyImages `json:"thirdPartyImages,omitempty"`
	// Who reaches the pods of control planes from other namespaces.
	// +optional
	Network *Network `json:"network,omitempty"`
	// DNS domain of the clusters that workloads run in. mariadb-operator has to be told the same (its chart's clusterName).
	// +kubebuilder:default=cluster.local
	// +optional
	ClusterDomain common.Hostname `json:"clusterDomain,omitempty"`
	// Storage class of new volumes. Absent: the cluster's default class. What there is keeps the class that it has.
	// +optional
	StorageClass common.ObjectName `json:"storageClass,omitempty"`
	// Provider config of the management cluster itself.
	// +kubebuilder:default=in-cluster
	// +optional
	ProviderConfig common.ObjectName `json:"providerConfig,omitempty"`
	// Clusters that claims may name in spec.cluster.ref.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Clusters []Cluster `json:"clusters,omitempty"`
	// What claims may ask for. Every limit whose namespaces match a claim's applies. None: everything is allowed.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Limits []Limit `json:"limits,omitempty"`
}

// Cluster is a Kubernetes cluster that claims may use.
type Cluster struct {
	// Name that claims use.
	Name common.ObjectName `json:"name"`
	// Provider config by which the cluster is reached: a ProviderConfig for composite resources of the cluster scope and a
	// ClusterProviderConfig for namespaced ones, both of this name.
	ProviderConfig common.ObjectName `json:"providerConfig"`
	// Namespaces whose claims may use it; * stands for any run of characters.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	AllowedNamespaces []common.NamespacePattern `json:"allowedNamespaces"`
}

// Limit bounds what claims of some namespaces may ask for. An absent list allows everything.
type Limit struct {
	// Name of the limit, which errors mention.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Namespaces of the claims; * stands for any run of characters.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	Namespaces []common.NamespacePattern `json:"namespaces"`
	// Sizes that may be asked for.
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	Sizes []Size `json:"sizes,omitempty"`
	// Releases that may be asked for.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	Releases []Release `json:"releases,omitempty"`
	// Registries that images may come from, as prefixes: registry.example.com/openstack.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Registries []Registry `json:"registries,omitempty"`
	// Domains below which host names may lie.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Domains []common.Hostname `json:"domains,omitempty"`
}

// Size is a size of a control plane.
// +kubebuilder:validation:Enum=development;small;medium;large
type Size string

// Release is an OpenStack release.
// +kubebuilder:validation:Enum="2025.1";"2025.2";"2026.1";"2026.2"
type Release string

// Registry is the beginning of an image's name.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=200
// +kubebuilder:validation:Pattern=`^[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`
type Registry string

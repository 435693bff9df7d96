package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// DefaultName is the name of the PlatformConfig that compositions ask for.
const DefaultName = "default"

// A PlatformConfig holds the platform team's settings for all claims: defaults, the clusters that are offered, and limits.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=cobaltcore
// +kubebuilder:printcolumn:name="Domain",type=string,JSONPath=`.spec.domain`
type PlatformConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The platform's settings.
	Spec PlatformConfigSpec `json:"spec"`
}

// PlatformConfigSpec holds the platform's settings.
type PlatformConfigSpec struct {
	// Domain below which every control plane gets its own: <claim>.<namespace>.<domain>.
	Domain common.Hostname `json:"domain"`
	// How APIs are reached from outside. Absent: not at all.
	// +optional
	Exposure *common.Exposure `json:"exposure,omitempty"`
	// Certificates of public addresses.
	// +optional
	TLS *common.TLS `json:"tls,omitempty"`
	// ClusterIssuer of the certificates of message queues, in each cluster that workloads run in. RabbitMQ's operator of virtual hosts has to
	// trust its authority. Absent: each control plane's own authority, which that operator does not know, so that services with a
	// queue are refused.
	// +kubebuilder:example="queues"
	// +optional
	QueueIssuer common.ObjectName `json:"queueIssuer,omitempty"`
	// Prometheus objects.
	// +optional
	Monitoring *common.MonitoringSettings `json:"monitoring,omitempty"`
	// Store outside the cluster in which generated secrets are kept.
	// +optional
	SecretStore *common.SecretStoreReference `json:"secretStore,omitempty"`
	// Where images come from.
	// +optional
	Images *common.Images `json:"images,omitempty"`
	// Namespace of the platform's own Secrets: of those that images.pullSecrets names, and of those that a composite resource names which
	// has no claim. Whoever may write Secrets there controls what all control planes pull images with.
	// +kubebuilder:default=crossplane-system
	// +optional
	SecretsNamespace common.NamespaceName `json:"secretsNamespace,omitempty"`
	// The companion, which holds rights of the platform in a control plane's namespace and therefore is not configured by claims.
	// +optional
	Companion *Companion `json:"companion,omitempty"`
	// Images of what is not OpenStack's, such as databases and queues.
	// +optional
	ThirdPartyImages *ThirdPartyImages `json:"thirdPartyImages,omitempty"`
	// Rook's operator, which makes Ceph clusters. It has to watch all namespaces.
	// +optional
	Rook *Rook `json:"rook,omitempty"`
	// Labels injectors of pools of hypervisors.
	// +optional
	LabelsInjector *LabelsInjector `json:"labelsInjector,omitempty"`
	// Who reaches the pods of control planes from other namespaces.
	// +optional
	Network *Network `json:"network,omitempty"`
	// DNS domain of the clusters that workloads run in. mariadb-operator needs the same value (its chart's clusterName).
	// +kubebuilder:default=cluster.local
	// +optional
	ClusterDomain common.Hostname `json:"clusterDomain,omitempty"`
	// Storage class of new volumes. Absent: the cluster's default class. Existing volumes keep their class.
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
	// What claims may ask for. Every limit whose namespaces match a claim's holds. What reaches outside a control plane is denied unless
	// a limit allows it.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Limits []Limit `json:"limits,omitempty"`
	// Instances that are assigned to claims, instead of those that follow from their names, while nothing of theirs runs: this is how data
	// that a claim retained under another name is adopted. Every entry is another instance.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:XValidation:rule="self.all(i, self.exists_one(j, j.instance == i.instance))",message="every entry has to name another instance"
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	// +optional
	Instances []Instance `json:"instances,omitempty"`
}

// Instance assigns to a claim the name of everything that belongs to it.
type Instance struct {
	// Namespace of the claim.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Namespace string `json:"namespace"`
	// Name of the claim.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	Name string `json:"name"`
	// Name of the namespace that its control plane lives in: one that a control plane has had, which ends with a hash.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9-]*-([0-9a-f]{5}|[0-9a-f]{20})$`
	Instance string `json:"instance"`
}

// Companion says how the companion's pods run.
type Companion struct {
	// Resources of each pod. They override 50m, 128Mi and a limit of 256Mi.
	// +optional
	Resources        *common.Resources `json:"resources,omitempty"`
	common.Placement `json:",inline"`
}

// LabelsInjector says how pods get labels of their nodes.
type LabelsInjector struct {
	// As they are bound to a node, by a webhook, and not within five minutes of that. Who composes pools has to write
	// ValidatingWebhookConfigurations for it, which the chart allows where its value hypervisors.webhooks is true, in each cluster of nodes.
	// +optional
	Webhook bool `json:"webhook,omitempty"`
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

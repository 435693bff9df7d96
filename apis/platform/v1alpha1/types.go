package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// DefaultName is the name of the PlatformConfig that compositions require.
const DefaultName = "default"

// A PlatformConfig holds the platform team's settings for all claims: defaults, available clusters, and limits.
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
	// Domain of the domains of control planes: <claim>.<namespace>.<domain>.
	Domain common.Hostname `json:"domain"`
	// External access to APIs. Defaults to none.
	// +optional
	Exposure *common.Exposure `json:"exposure,omitempty"`
	// Certificates of public addresses.
	// +optional
	TLS *common.TLS `json:"tls,omitempty"`
	// ClusterIssuer of the certificates of message queues, in each cluster of workloads. RabbitMQ's operator of virtual hosts must trust its
	// authority. Defaults to each control plane's own authority, which that operator does not trust, so that services with a queue are
	// rejected.
	// +kubebuilder:example="queues"
	// +optional
	QueueIssuer common.ObjectName `json:"queueIssuer,omitempty"`
	// Prometheus objects.
	// +optional
	Monitoring *common.MonitoringSettings `json:"monitoring,omitempty"`
	// Store outside the cluster for generated secrets.
	// +optional
	SecretStore *common.SecretStoreReference `json:"secretStore,omitempty"`
	// Registry and pull secrets of images.
	// +optional
	Images *common.Images `json:"images,omitempty"`
	// Namespace of the platform's own Secrets: those in images.pullSecrets, and those of composite resources without a claim. Write access to
	// Secrets in this namespace controls the pull secrets of all control planes.
	// +kubebuilder:default=crossplane-system
	// +optional
	SecretsNamespace common.NamespaceName `json:"secretsNamespace,omitempty"`
	// Companion. It has permissions of the platform in a control plane's namespace, so claims cannot configure it.
	// +optional
	Companion *Companion `json:"companion,omitempty"`
	// Images that are not part of OpenStack, such as databases and queues.
	// +optional
	ThirdPartyImages *ThirdPartyImages `json:"thirdPartyImages,omitempty"`
	// Rook's operator, which creates Ceph clusters. It must watch all namespaces.
	// +optional
	Rook *Rook `json:"rook,omitempty"`
	// Labels injectors of pools of hypervisors.
	// +optional
	LabelsInjector *LabelsInjector `json:"labelsInjector,omitempty"`
	// Namespaces that may connect to the pods of control planes.
	// +optional
	Network *Network `json:"network,omitempty"`
	// DNS domain of the clusters of workloads. mariadb-operator requires the same value (its chart's clusterName).
	// +kubebuilder:default=cluster.local
	// +optional
	ClusterDomain common.Hostname `json:"clusterDomain,omitempty"`
	// First address family of the pods and Services in the clusters of workloads. Set IPv6 for IPv6-only clusters, before the first
	// control plane.
	// +kubebuilder:default=IPv4
	// +optional
	IPFamily common.IPFamily `json:"ipFamily,omitempty"`
	// Storage class of new volumes. Defaults to the default class of the cluster. Existing volumes keep their class.
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
	// Limits of claims. Every limit whose namespaces match a claim's applies. Access beyond a control plane is denied unless a limit allows
	// it.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Limits []Limit `json:"limits,omitempty"`
	// Instances that are assigned to claims, instead of the instances that follow from their names, while nothing of theirs runs, to adopt
	// data that a claim retained under another name. Every entry must have a different instance.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:XValidation:rule="self.all(i, self.exists_one(j, j.instance == i.instance))",message="every entry must have a different instance"
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	// +optional
	Instances []Instance `json:"instances,omitempty"`
}

// Instance assigns to a claim the prefix of the names of all its objects.
type Instance struct {
	// Namespace of the claim.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Namespace string `json:"namespace"`
	// Name of the claim.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	Name string `json:"name"`
	// Name of the namespace of its control plane: one that a control plane has had, which ends with a hash.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9-]*-([0-9a-f]{5}|[0-9a-f]{20})$`
	Instance string `json:"instance"`
}

// Companion configures the companion's pods.
type Companion struct {
	// Resources of each pod. They override 50m, 128Mi and a limit of 256Mi.
	// +optional
	Resources        *common.Resources `json:"resources,omitempty"`
	common.Placement `json:",inline"`
}

// LabelsInjector configures how pods get labels of their nodes.
type LabelsInjector struct {
	// Set the labels when a pod is bound to a node, by a webhook, instead of within five minutes. The composer of pools must be permitted to
	// write ValidatingWebhookConfigurations for it, which the chart allows with its value hypervisors.webhooks, in each cluster of nodes.
	// +optional
	Webhook bool `json:"webhook,omitempty"`
}

// Cluster is a Kubernetes cluster that claims may use.
type Cluster struct {
	// Name that claims use.
	Name common.ObjectName `json:"name"`
	// Provider config for the cluster: a ProviderConfig for composite resources of the cluster scope and a ClusterProviderConfig for
	// namespaced ones, both with this name.
	ProviderConfig common.ObjectName `json:"providerConfig"`
	// First address family of its pods and Services. Defaults to ipFamily of the platform.
	// +optional
	IPFamily common.IPFamily `json:"ipFamily,omitempty"`
	// Namespaces whose claims may use it; * matches any characters.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	AllowedNamespaces []common.NamespacePattern `json:"allowedNamespaces"`
}

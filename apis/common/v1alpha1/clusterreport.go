package v1alpha1

// ClusterReport lists properties of a Kubernetes cluster, as the companion observed them in it.
type ClusterReport struct {
	// Version of the API server: v1.35.3.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// Address family of the Service kubernetes, which is the first one of the cluster's Services.
	// +optional
	IPFamily IPFamily `json:"ipFamily,omitempty"`
	// Nodes of the cluster.
	// +optional
	Nodes NodeReport `json:"nodes,omitempty"`
	// Classes of persistent volumes: the first 64 by name.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	StorageClasses []StorageClassReport `json:"storageClasses,omitempty"`
	// Classes of Gateways: the first 64 by name. Empty without the Gateway API.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	GatewayClasses []GatewayClassReport `json:"gatewayClasses,omitempty"`
	// True: the API server rejects labels of namespaces that Pod Security Admission does not know, so it enforces the levels. False: it
	// accepts them, so pods of every kind are admitted. Unset: unknown, because the API server rejects the dry run for another reason, which
	// the condition Ready of the ClusterCheck contains.
	// +optional
	PodSecurity *bool `json:"podSecurity,omitempty"`
	// Operators that the check names.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Operators []OperatorReport `json:"operators,omitempty"`
}

// NodeReport counts nodes.
type NodeReport struct {
	// Number of nodes.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Total int32 `json:"total,omitempty"`
	// Number of nodes with the condition Ready.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Ready int32 `json:"ready,omitempty"`
	// Architectures of the nodes: amd64, arm64.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	Architectures []string `json:"architectures,omitempty"`
}

// StorageClassReport is a class of persistent volumes.
type StorageClassReport struct {
	// Name of the StorageClass.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Driver that provisions volumes.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Provisioner string `json:"provisioner,omitempty"`
	// True: volumes without a class get this one.
	// +optional
	Default bool `json:"default,omitempty"`
}

// GatewayClassReport is a class of Gateways.
type GatewayClassReport struct {
	// Name of the GatewayClass.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// True: a controller has accepted the class.
	// +optional
	Accepted bool `json:"accepted,omitempty"`
}

// OperatorReport is the state of an operator's API.
type OperatorReport struct {
	// Name of the operator.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Version in the label app.kubernetes.io/version or helm.sh/chart of its CustomResourceDefinitions. Unset: they have no such label.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Version string `json:"version,omitempty"`
	// CustomResourceDefinitions that do not exist, are not established, or do not serve the version that is used: name and version.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=320
	// +listType=set
	// +optional
	Missing []string `json:"missing,omitempty"`
}

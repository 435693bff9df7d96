package v1alpha1

// ObjectName is the name of a Kubernetes object.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
type ObjectName string

// NamespaceName is the name of a Kubernetes namespace.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
type NamespaceName string

// NamespacePattern is the name of a namespace, in which * stands for any run of characters.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[a-z0-9*]([-a-z0-9*]*[a-z0-9*])?$`
type NamespacePattern string

// Hostname is a fully qualified host name in lower case. Its last label begins with a letter, as every top-level domain does (RFC 1123,
// section 2.1), so that an IP address does not match: neither an Ingress nor an HTTPRoute accepts an address as host.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)+[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`
type Hostname string

// Host is a fully qualified host name in lower case, or an IPv4 address.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+$`
type Host string

// URL is an http or https address without user, query and fragment.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:Pattern=`^https?://[A-Za-z0-9.\[\]:-]+(/[A-Za-z0-9._~%+/-]*)?$`
type URL string

// HTTPSURL is an https address without user, query and fragment, for requests that contain secrets.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:Pattern=`^https://[A-Za-z0-9.\[\]:-]+(/[A-Za-z0-9._~%+/-]*)?$`
type HTTPSURL string

// CIDR is a range of addresses: 10.0.1.0/24.
// +kubebuilder:validation:MinLength=4
// +kubebuilder:validation:MaxLength=43
// +kubebuilder:validation:Pattern=`^[0-9a-fA-F.:]+/[0-9]{1,3}$`
// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="must be a range of addresses, such as 10.0.1.0/24"
type CIDR string

// SecretKey is a key of a Secret or a ConfigMap.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
type SecretKey string

// Cron is a schedule of five fields (minute, hour, day of the month, number of the month, day of the week) in UTC.
// +kubebuilder:validation:MinLength=9
// +kubebuilder:validation:MaxLength=100
// +kubebuilder:validation:Pattern=`^[0-9*,/-]+( +[0-9A-Za-z*,/-]+){4}$`
type Cron string

// ClaimReference names a claim in a namespace of the management cluster.
type ClaimReference struct {
	// Namespace of the claim.
	Namespace NamespaceName `json:"namespace"`
	// Name of the claim.
	Name ObjectName `json:"name"`
}

// StoragePool names a pool of a StorageCluster that allows the claim's namespace.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="pool is immutable, because its contents would become unreachable; add another entry with the other pool"
type StoragePool struct {
	// The StorageCluster.
	ClusterRef ClaimReference `json:"clusterRef"`
	// Name of the pool in the StorageCluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Pool string `json:"pool"`
}

// LocalReference names an object in the same namespace.
type LocalReference struct {
	// Name of the object.
	Name ObjectName `json:"name"`
}

// SecretReference names a Secret in the same namespace; in a claim, the namespace of the claim.
type SecretReference struct {
	// Name of the Secret.
	// +kubebuilder:example="s3-credentials"
	Name ObjectName `json:"name"`
}

// SecretKeyReference names one key of a Secret in the same namespace; in a claim, the namespace of the claim.
type SecretKeyReference struct {
	// Name of the Secret.
	Name ObjectName `json:"name"`
	// Key in the Secret.
	// +kubebuilder:example="password"
	Key SecretKey `json:"key"`
}

// IssuerReference names a cert-manager issuer.
type IssuerReference struct {
	// Name of the issuer.
	// +kubebuilder:example="letsencrypt"
	Name ObjectName `json:"name"`
	// Kind of the issuer: Issuer is in the workload namespace, ClusterIssuer is cluster-wide.
	// +kubebuilder:validation:Enum=Issuer;ClusterIssuer
	// +kubebuilder:default=ClusterIssuer
	// +optional
	Kind string `json:"kind,omitempty"`
}

// SecretStoreReference names an External Secrets store, which stores secrets outside the cluster.
type SecretStoreReference struct {
	// Name of the store.
	// +kubebuilder:example="openbao"
	Name ObjectName `json:"name"`
	// Kind of the store: SecretStore is in the workload namespace, ClusterSecretStore is cluster-wide.
	// +kubebuilder:validation:Enum=SecretStore;ClusterSecretStore
	// +kubebuilder:default=ClusterSecretStore
	// +optional
	Kind string `json:"kind,omitempty"`
	// Path prefix of keys, so that two platforms can share a store. No segment may begin with a dot.
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`
	// +kubebuilder:example="clouds/production"
	// +optional
	Prefix string `json:"prefix,omitempty"`
}

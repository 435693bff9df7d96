package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// NodeSignerDomain is the domain of the signers of NodeIssuers. The path of a signer is <namespace>.<name> of its NodeIssuer. An admission
// policy allows a companion to sign only for the NodeIssuers of its namespace.
const NodeSignerDomain = "nodes.c5c3.io"

// SignerName returns the name of the signer of a NodeIssuer in CertificateSigningRequests.
func SignerName(namespace, name string) string {
	return NodeSignerDomain + "/" + namespace + "." + name
}

// A NodeIssuer issues a certificate to each node of a pool, for one purpose. Pods on the node create a CertificateSigningRequest with their
// service account. The API server records the node of the pod in it, and the companion signs it only if all its names belong to that node.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=cobaltcore
// +kubebuilder:printcolumn:name="Nodes",type=string,JSONPath=`.spec.namespace`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].message`,priority=1
type NodeIssuer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state.
	Spec NodeIssuerSpec `json:"spec"`
	// Observed state.
	// +optional
	Status NodeIssuerStatus `json:"status,omitempty"`
}

// NodeIssuerSpec is the desired state of a NodeIssuer.
type NodeIssuerSpec struct {
	// Namespace of the pods that request certificates.
	Namespace common.NamespaceName `json:"namespace"`
	// Service account of these pods.
	ServiceAccountName common.ObjectName `json:"serviceAccountName"`
	// Secret with the authority that signs: tls.crt and tls.key.
	AuthoritySecretName common.ObjectName `json:"authoritySecretName"`
	// Namespace of this Secret. Defaults to the namespace of the NodeIssuer.
	// +optional
	AuthorityNamespace common.NamespaceName `json:"authorityNamespace,omitempty"`
	// Names of certificates with which nodes are servers, too. Unset: certificates are for clients only, and their common name is the name of
	// the node.
	// +optional
	Server *NodeServer `json:"server,omitempty"`
}

// NodeServer describes certificates of nodes that are servers and clients of one another. The alternative names of a certificate are the
// name of the node and, for each of its addresses, the address with hyphens below a domain.
type NodeServer struct {
	// Common name of all certificates. Servers accept clients with this name only.
	CommonName common.NamespaceName `json:"commonName"`
	// Domain of the names that are derived from addresses.
	Domain common.ObjectName `json:"domain"`
	// Whether a node can have an address that no Node object lists, such as one on a network for live migration. The first node that
	// requests it gets it.
	// +optional
	UnlistedAddresses bool `json:"unlistedAddresses,omitempty"`
}

// NodeIssuerStatus is the observed state of a NodeIssuer.
type NodeIssuerStatus struct {
	// Generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions: Ready (requests can be signed).
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Addresses in certificates that have not expired. No other node gets a certificate for them, unless the node is deleted.
	// +kubebuilder:validation:MaxItems=4096
	// +listType=map
	// +listMapKey=address
	// +optional
	Addresses []NodeAddress `json:"addresses,omitempty"`
	// Time of the last pass that read everything that this status describes. While nothing else changes, it is written at most every 30
	// minutes. Unset: there was no such pass.
	// +optional
	LastObservationTime *metav1.Time `json:"lastObservationTime,omitempty"`
}

// NodeAddress is an address of a node in its certificates.
type NodeAddress struct {
	// Address of the node.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=45
	Address string `json:"address"`
	// Name of the node.
	Node common.ObjectName `json:"node"`
	// Time at which the last certificate has expired.
	ExpiresAt metav1.Time `json:"expiresAt"`
}

// NodeIssuerList is a list of NodeIssuers.
// +kubebuilder:object:root=true
type NodeIssuerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeIssuer `json:"items"`
}

// Package nodeissuer reconciles NodeIssuers: it signs the client certificates that pods request for their node with a
// CertificateSigningRequest.
//
// The API server records who created a request, and for a token of a pod also its node
// (https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#additional-metadata-in-pod-bound-tokens).
// The creator cannot change this record. A request is signed only if the NodeIssuer names the service account, and
// the subject of the certificate is the recorded node. Therefore a compromised node gets certificates in its own name only.
//
// The companion signs with the authority's key, because a CertificateRequest of cert-manager requires a right that applies to
// every issuer that the namespace can use.
package nodeissuer

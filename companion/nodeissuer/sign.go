package nodeissuer

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

const (
	// lifetime is the validity of a certificate. Pods renew it when a third of it has passed, so that the companion may be away for days.
	// A removed node can use its certificate until then.
	lifetime = 7 * 24 * time.Hour
	// earlier is the tolerated difference between clocks.
	earlier = 5 * time.Minute
	// nodeKey is the key of the node of a pod in the record of the creator of a request.
	nodeKey = "authentication.kubernetes.io/node-name"
	// maxName is the maximum length of a common name (ub-common-name in RFC 5280).
	maxName = 64
)

// usages are the usages of a certificate of a node.
var usages = []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature}

// nodeOf returns the node of the pod that created a request. Empty: it was not created with the token of a pod.
func nodeOf(r *certificatesv1.CertificateSigningRequest) string {
	if values := r.Spec.Extra[nodeKey]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// check returns the public key of a request, or the reason to deny it.
func check(issuer *c5c3v1.NodeIssuerSpec, r *certificatesv1.CertificateSigningRequest) (crypto.PublicKey, error) {
	creator := fmt.Sprintf("system:serviceaccount:%s:%s", issuer.Namespace, issuer.ServiceAccountName)
	node := nodeOf(r)
	requested := slices.Sorted(slices.Values(r.Spec.Usages))
	switch {
	case r.Spec.Username != creator:
		return nil, fmt.Errorf("spec.username: must be %s", creator)
	case node == "":
		return nil, errors.New("spec.extra: requires the node of a pod; use the token of a pod, and Kubernetes 1.30 or later")
	case len(node) > maxName:
		return nil, fmt.Errorf("spec.request: the name of a node must have at most %d characters; rename the node", maxName)
	case !slices.Equal(requested, usages):
		return nil, fmt.Errorf("spec.usages: must be %q", usages)
	}
	block, rest := pem.Decode(r.Spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("spec.request: must be one certificate request in PEM")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err == nil {
		err = request.CheckSignature()
	}
	if err != nil {
		return nil, fmt.Errorf("spec.request: %w", err)
	}
	_, elliptic := request.PublicKey.(*ecdsa.PublicKey)
	switch {
	case len(request.Subject.Names) != 1 || request.Subject.CommonName != node:
		return nil, fmt.Errorf("spec.request: the subject must be CN=%s, the node of the pod", node)
	case len(request.Extensions) > 0:
		return nil, errors.New("spec.request: cannot have extensions")
	case !elliptic:
		return nil, errors.New("spec.request: the key must be an ECDSA key")
	}
	return request.PublicKey, nil
}

// sign returns the certificate of a node, followed by the certificate of the authority.
func (a authority) sign(random io.Reader, public crypto.PublicKey, node string, now time.Time) ([]byte, error) {
	const bits = 127
	serial, err := rand.Int(random, new(big.Int).Lsh(big.NewInt(1), bits))
	if err != nil {
		return nil, fmt.Errorf("cannot generate a serial number: %w", err)
	}
	until := now.Add(lifetime)
	if until.After(a.certificate.NotAfter) {
		until = a.certificate.NotAfter
	}
	raw, err := x509.CreateCertificate(random, &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: node}, NotBefore: now.Add(-earlier), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true,
	}, a.certificate, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("cannot sign the certificate of node %s: %w", node, err)
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), a.pem...), nil
}

package nodeissuer

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/netip"
	"slices"
	"strings"
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
	// maxAddresses is the maximum number of addresses of a node in certificates that have not expired.
	maxAddresses = 8
)

// Usages of certificates, sorted: of clients, and of nodes that are servers, too. libvirt and QEMU require key encipherment for every type
// of key.
var (
	clientUsages = []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature}
	serverUsages = []certificatesv1.KeyUsage{
		certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageServerAuth,
	}
)

// nodeOf returns the node of the pod that created a request. Empty: it was not created with the token of a pod.
func nodeOf(r *certificatesv1.CertificateSigningRequest) string {
	if values := r.Spec.Extra[nodeKey]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// A subject is the verified content of a request.
type subject struct {
	key        crypto.PublicKey
	node       string
	commonName string
	// names are the alternative names, and addresses the ones that they are derived from. Nil: the certificate is for a client only.
	names     []string
	addresses []netip.Addr
}

// check verifies a request without regard to addresses. It returns the content of its certificate, or the reason to deny it.
func check(issuer *c5c3v1.NodeIssuerSpec, r *certificatesv1.CertificateSigningRequest) (subject, error) {
	creator := fmt.Sprintf("system:serviceaccount:%s:%s", issuer.Namespace, issuer.ServiceAccountName)
	s := subject{node: nodeOf(r)}
	requested, usages := slices.Sorted(slices.Values(r.Spec.Usages)), clientUsages
	if issuer.Server != nil {
		usages = serverUsages
	}
	switch {
	case r.Spec.Username != creator:
		return s, fmt.Errorf("spec.username: must be %s", creator)
	case s.node == "":
		return s, errors.New("spec.extra: requires the node of a pod; use the token of a pod, and Kubernetes 1.30 or later")
	case issuer.Server == nil && len(s.node) > maxName:
		return s, fmt.Errorf("spec.request: the name of a node must have at most %d characters; rename the node", maxName)
	case !slices.Equal(requested, usages):
		return s, fmt.Errorf("spec.usages: must be %q", usages)
	}
	block, rest := pem.Decode(r.Spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(bytes.TrimSpace(rest)) > 0 {
		return s, errors.New("spec.request: must be one certificate request in PEM")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err == nil {
		err = request.CheckSignature()
	}
	if err != nil {
		return s, fmt.Errorf("spec.request: %w", err)
	}
	if _, elliptic := request.PublicKey.(*ecdsa.PublicKey); !elliptic {
		return s, errors.New("spec.request: the key must be an ECDSA key")
	}
	s.key = request.PublicKey
	if issuer.Server == nil {
		s.commonName = s.node
	} else {
		s.commonName = string(issuer.Server.CommonName)
	}
	switch {
	case len(request.Subject.Names) != 1 || request.Subject.CommonName != s.commonName:
		return s, fmt.Errorf("spec.request: the subject must be CN=%s, %s", s.commonName,
			map[bool]string{true: "the node of the pod", false: "the name of the pool"}[issuer.Server == nil])
	case issuer.Server != nil:
		return s, s.setNames(issuer.Server, request)
	case len(request.Extensions) > 0:
		return s, errors.New("spec.request: cannot have extensions")
	}
	return s, nil
}

// alternativeName is the identifier of the extension with alternative names (RFC 5280, 4.2.1.6).
var alternativeName = asn1.ObjectIdentifier{2, 5, 29, 17}

// setNames verifies that the only extension has the name of the node, and names that are derived from addresses.
func (s *subject) setNames(server *c5c3v1.NodeServer, request *x509.CertificateRequest) error {
	others := len(request.EmailAddresses) + len(request.IPAddresses) + len(request.URIs)
	if len(request.Extensions) != 1 || !request.Extensions[0].Id.Equal(alternativeName) || others > 0 {
		return errors.New("spec.request: the only extension must be alternative names of DNS")
	}
	domain := "." + string(server.Domain)
	if strings.HasSuffix(s.node, domain) {
		return fmt.Errorf("spec.request: the name of a node cannot end with %s, the domain of addresses; rename the node", domain)
	}
	for _, name := range request.DNSNames {
		label, found := strings.CutSuffix(name, domain)
		switch address, ok := addressOf(label); {
		case name == s.node:
		case !found || !ok:
			return fmt.Errorf("spec.request: the name %q must be %s, the node of the pod, or one of its addresses with hyphens, as in 10-0-0-1%s",
				name, s.node, domain)
		default:
			s.addresses = append(s.addresses, address)
		}
		if slices.Contains(s.names, name) {
			return fmt.Errorf("spec.request: the name %q must occur once", name)
		}
		s.names = append(s.names, name)
	}
	if len(s.addresses) == 0 || len(s.addresses) == len(s.names) || len(s.addresses) > maxAddresses {
		return fmt.Errorf("spec.request: the names must be %s, the node of the pod, and names of 1 to %d addresses", s.node, maxAddresses)
	}
	return nil
}

// addressOf returns the address of a label such as 10-0-0-1 or fd00--1. Each address has one label only: its usual form, with hyphens.
func addressOf(label string) (netip.Addr, bool) {
	for _, separator := range []string{".", ":"} {
		a, err := netip.ParseAddr(strings.ReplaceAll(label, "-", separator))
		usual := strings.NewReplacer(".", "-", ":", "-").Replace(a.String())
		if err == nil && a.IsGlobalUnicast() && !a.Is4In6() && a.Zone() == "" && usual == label {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// until returns the end of a certificate that is signed now.
func (a authority) until(now time.Time) time.Time {
	if until := now.Add(lifetime); until.Before(a.certificate.NotAfter) {
		return until
	}
	return a.certificate.NotAfter
}

// sign returns the certificate of a node, followed by the certificate of the authority.
func (a authority) sign(random io.Reader, s subject, now time.Time) ([]byte, error) {
	const bits = 127
	serial, err := rand.Int(random, new(big.Int).Lsh(big.NewInt(1), bits))
	if err != nil {
		return nil, fmt.Errorf("cannot generate a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: s.commonName}, DNSNames: s.names,
		NotBefore: now.Add(-earlier), NotAfter: a.until(now),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true,
	}
	if len(s.names) > 0 {
		template.KeyUsage |= x509.KeyUsageKeyEncipherment
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	raw, err := x509.CreateCertificate(random, template, a.certificate, s.key, a.key)
	if err != nil {
		return nil, fmt.Errorf("cannot sign the certificate of node %s: %w", s.node, err)
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), a.pem...), nil
}

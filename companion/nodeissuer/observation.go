package nodeissuer

import (
	"cmp"
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/netip"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// observation is the state from which the next step is selected.
type observation struct {
	issuer *c5c3v1.NodeIssuer
	now    time.Time
	// problem is the reason why nothing can be signed. Empty: none.
	problem   condition.State
	authority authority
	// requests are the pending requests for the signer, the oldest first.
	requests []certificatesv1.CertificateSigningRequest
	// nodes maps each node of the cluster to its addresses. It is read only if a request is for a server.
	nodes map[string][]netip.Addr
	// addresses are the addresses in certificates after this pass. Nil: they do not change.
	addresses []c5c3v1.NodeAddress
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	// pem is the certificate, which clients verify servers with.
	pem []byte
}

func observe(ctx context.Context, env *controller.Env, issuer *c5c3v1.NodeIssuer) (*observation, error) {
	w := &observation{issuer: issuer, now: env.Clock.Now()}
	secret := &corev1.Secret{}
	name, namespace := string(issuer.Spec.AuthoritySecretName), cmp.Or(string(issuer.Spec.AuthorityNamespace), issuer.Namespace)
	err := env.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		w.problem = condition.False("NoAuthority", "waiting for Secret "+name+" with the authority")
		return w, nil
	case apierrors.IsForbidden(err):
		w.problem = condition.False("Forbidden", "the companion may not read Secret "+name+" with the authority yet")
		return w, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read Secret %s: %w", name, err)
	}
	if w.authority, err = load(secret); err != nil {
		w.problem = condition.False("AuthorityInvalid", fmt.Sprintf("Secret %s: %s", name, err))
		return w, nil
	}
	signer := c5c3v1.SignerName(issuer.Namespace, issuer.Name)
	list := &certificatesv1.CertificateSigningRequestList{}
	err = env.Reader.List(ctx, list, client.MatchingFields{"spec.signerName": signer})
	switch {
	case apierrors.IsForbidden(err):
		w.problem = condition.False("Forbidden", "the companion may not list CertificateSigningRequests yet")
		return w, nil
	case err != nil:
		return nil, fmt.Errorf("cannot list the CertificateSigningRequests: %w", err)
	}
	for _, r := range list.Items {
		if r.Spec.SignerName == signer && pending(&r) {
			w.requests = append(w.requests, r)
		}
	}
	slices.SortStableFunc(w.requests, func(a, b certificatesv1.CertificateSigningRequest) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	if issuer.Spec.Server != nil && len(w.requests) > 0 {
		if w.nodes, err = nodeAddresses(ctx, env.Reader); apierrors.IsForbidden(err) {
			w.problem, err = condition.False("Forbidden", "the companion may not list Nodes yet"), nil
		}
	}
	return w, err
}

// nodeAddresses returns the addresses of each node of the cluster.
func nodeAddresses(ctx context.Context, reader client.Reader) (map[string][]netip.Addr, error) {
	const page = 200 // A Node has some 20 kB.
	out := map[string][]netip.Addr{}
	for next := ""; ; {
		list := &corev1.NodeList{}
		if err := reader.List(ctx, list, client.Limit(page), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("cannot list the Nodes: %w", err)
		}
		for i := range list.Items {
			n := &list.Items[i]
			out[n.Name] = []netip.Addr{}
			for _, a := range n.Status.Addresses {
				if address, err := netip.ParseAddr(a.Address); err == nil {
					out[n.Name] = append(out[n.Name], address.Unmap())
				}
			}
		}
		if next = list.Continue; next == "" {
			return out, nil
		}
	}
}

// pending reports whether a request has neither a certificate nor a final condition.
func pending(r *certificatesv1.CertificateSigningRequest) bool {
	return len(r.Status.Certificate) == 0 && !has(r, certificatesv1.CertificateDenied) && !has(r, certificatesv1.CertificateFailed)
}

func has(r *certificatesv1.CertificateSigningRequest, condition certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == condition
	})
}

// load reads an authority from its Secret.
func load(secret *corev1.Secret) (authority, error) {
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return authority{}, fmt.Errorf("tls.crt and tls.key must be a certificate and its key: %w", err)
	}
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return authority{}, fmt.Errorf("tls.crt: %w", err)
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !certificate.IsCA {
		return authority{}, fmt.Errorf("tls.crt must be the certificate of an authority")
	}
	return authority{certificate: certificate, key: key, pem: secret.Data[corev1.TLSCertKey]}, nil
}

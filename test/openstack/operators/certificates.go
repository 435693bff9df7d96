//go:build linux

package operators

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
)

// certificate creates the Secret of a Certificate, as cert-manager does.
// https://cert-manager.io/docs/usage/certificate/
func (o *Operators) certificate(ctx context.Context, u *unstructured.Unstructured) error {
	isCA, _, _ := unstructured.NestedBool(u.Object, "spec", "isCA")
	issuer, err := o.issuer(ctx, u.GetNamespace(), text(u, "spec", "issuerRef", "kind"), text(u, "spec", "issuerRef", "name"))
	if err != nil {
		return err
	}
	var data map[string][]byte
	switch {
	case isCA && issuer == nil:
		a, err := o.existing(ctx, u)
		if a != nil || err != nil {
			return err
		}
		if a, err = pki.New(text(u, "spec", "commonName")); err != nil {
			return err
		}
		data = map[string][]byte{"tls.crt": a.Certificate, "tls.key": a.Key, "ca.crt": a.Certificate}
	case issuer != nil && !isCA:
		p, err := issuer.Issue(pki.Subject{
			User: text(u, "spec", "commonName"), Hosts: append(texts(u, "spec", "dnsNames"), texts(u, "spec", "ipAddresses")...),
			Usages:        usages(texts(u, "spec", "usages")),
			SignatureOnly: !slices.Contains(texts(u, "spec", "usages"), "key encipherment"),
		})
		if err != nil {
			return err
		}
		data = map[string][]byte{"tls.crt": p.Certificate, "tls.key": p.Key, "ca.crt": issuer.Certificate}
	default:
		return errors.New("an authority that another one signs is not supported by this fake")
	}
	return o.SetSecret(ctx, u.GetNamespace(), text(u, "spec", "secretName"), data)
}

// usages returns the purposes of a key, of the usages of a Certificate.
func usages(names []string) []x509.ExtKeyUsage {
	var out []x509.ExtKeyUsage
	for _, name := range names {
		switch name {
		case "server auth":
			out = append(out, x509.ExtKeyUsageServerAuth)
		case "client auth":
			out = append(out, x509.ExtKeyUsageClientAuth)
		}
	}
	return out
}

// existing returns the CA that a Certificate created earlier.
func (o *Operators) existing(ctx context.Context, u *unstructured.Unstructured) (*pki.Authority, error) {
	data, err := o.Secret(ctx, u.GetNamespace(), text(u, "spec", "secretName"))
	if err != nil {
		return nil, nil //nolint:nilerr // there is none
	}
	return pki.Load(pki.Pair{Certificate: data["tls.crt"], Key: data["tls.key"]})
}

// issuer returns the CA of an issuer: nil for a self-signed one.
func (o *Operators) issuer(ctx context.Context, namespace, kind, name string) (*pki.Authority, error) {
	if kind == "ClusterIssuer" {
		return o.Public, nil
	}
	u, err := o.Find("Issuer.cert-manager.io", namespace, name)
	if err != nil {
		return nil, err
	}
	if _, ok, _ := unstructured.NestedMap(u.Object, "spec", "selfSigned"); ok {
		return nil, nil
	}
	secret := text(u, "spec", "ca", "secretName")
	data, err := o.Secret(ctx, namespace, secret)
	if err != nil {
		return nil, fmt.Errorf("issuer %s cannot sign: %w", name, err)
	}
	return pki.Load(pki.Pair{Certificate: data["tls.crt"], Key: data["tls.key"]})
}

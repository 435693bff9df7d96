//go:build linux

package operators

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Authority signs certificates.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// PEM is its certificate.
	PEM []byte
}

// NewAuthority makes an authority.
func NewAuthority(name string) (*Authority, error) {
	a := &Authority{}
	cert, key, err := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
	})
	if err != nil {
		return nil, err
	}
	return authorityOf(cert, key)
}

// authorityOf reads an authority from a Secret's entries.
func authorityOf(certPEM, keyPEM []byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("the authority's key is not an ECDSA key")
	}
	return &Authority{certificate: pair.Leaf, key: key, PEM: certPEM}, nil
}

// sign makes a key and its certificate. An authority without a certificate yet signs its own.
func (a *Authority) sign(t *x509.Certificate) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if t.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return nil, nil, err
	}
	t.NotBefore, t.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(24*time.Hour)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = t, key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	certPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	return certPEM, keyPEM, nil
}

// Server makes a server's certificate and key.
func (a *Authority) Server(names ...string) (certPEM, keyPEM []byte, err error) {
	return a.sign(&x509.Certificate{
		DNSNames:    names,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

// Pool trusts this authority only.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// certificate is what cert-manager makes of a Certificate.
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
		cert, key, err := (&Authority{}).sign(&x509.Certificate{
			Subject: pkix.Name{CommonName: text(u, "spec", "commonName")}, IsCA: true, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		})
		if err != nil {
			return err
		}
		data = map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": cert}
	case issuer != nil && !isCA:
		cert, key, err := issuer.Server(texts(u, "spec", "dnsNames")...)
		if err != nil {
			return err
		}
		data = map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": issuer.PEM}
	default:
		return errors.New("an authority that another one signs is not played")
	}
	return o.SetSecret(ctx, u.GetNamespace(), text(u, "spec", "secretName"), data)
}

// existing is the authority that a Certificate has made before.
func (o *Operators) existing(ctx context.Context, u *unstructured.Unstructured) (*Authority, error) {
	data, err := o.Secret(ctx, u.GetNamespace(), text(u, "spec", "secretName"))
	if err != nil {
		return nil, nil //nolint:nilerr // there is none
	}
	return authorityOf(data["tls.crt"], data["tls.key"])
}

// issuer finds who signs: nil for one that lets certificates sign themselves.
func (o *Operators) issuer(ctx context.Context, namespace, kind, name string) (*Authority, error) {
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
	return authorityOf(data["tls.crt"], data["tls.key"])
}

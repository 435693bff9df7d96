// Package pki creates certificates for tests: a CA, and certificates that it signs. All of it is PEM; keys are ECDSA in
// PKCS #8.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Pair is a certificate with its key.
type Pair struct{ Certificate, Key []byte }

// Authority is a CA.
type Authority struct {
	Pair

	certificate *x509.Certificate
	key         crypto.Signer
}

// Subject is the subject of a certificate: a user with groups, and its hosts (names or addresses).
type Subject struct {
	User          string
	Groups, Hosts []string
	// Usages are the purposes of its key. Empty: client and server.
	Usages []x509.ExtKeyUsage
	// SignatureOnly: its key is for signatures, and not for the keys of others, as RSA's may be.
	SignatureOnly bool
}

// New creates a CA.
func New(name string) (*Authority, error) {
	t := template(name)
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage |= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	p, err := sign(t, nil, nil)
	if err != nil {
		return nil, err
	}
	return Load(p)
}

// Load returns an existing CA.
func Load(p Pair) (*Authority, error) {
	loaded, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		return nil, err
	}
	key, ok := loaded.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, errors.New("the authority's key cannot sign")
	}
	return &Authority{Pair: p, certificate: loaded.Leaf, key: key}, nil
}

// Issue creates a certificate, by default for a client and server.
func (a *Authority) Issue(s Subject) (Pair, error) {
	t := template(s.User)
	t.Subject.Organization = s.Groups
	t.ExtKeyUsage = s.Usages
	if len(s.Usages) == 0 {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	if s.SignatureOnly {
		t.KeyUsage = x509.KeyUsageDigitalSignature
	}
	for _, h := range s.Hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	return sign(t, a.certificate, a.key)
}

// Server returns a server certificate for hosts.
func (a *Authority) Server(hosts ...string) (tls.Certificate, error) {
	p, err := a.Issue(Subject{Hosts: hosts})
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(p.Certificate, p.Key)
}

// Pool returns a pool with only this CA.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// Write writes a certificate as Kubernetes mounts one: tls.crt, tls.key and ca.crt in a folder.
func (a *Authority) Write(dir string, p Pair) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, data := range map[string][]byte{"tls.crt": p.Certificate, "tls.key": p.Key, "ca.crt": a.Certificate} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return fmt.Errorf("cannot write a certificate: %w", err)
		}
	}
	return nil
}

// sign creates a key and its certificate, which is self-signed without a parent.
func sign(t, parent *x509.Certificate, signer crypto.Signer) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	if parent == nil {
		parent, signer = t, key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), signer)
	if err != nil {
		return Pair{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, nil
}

func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.AddDate(1, 0, 0),
		KeyUsage:  x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
}

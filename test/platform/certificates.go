package platform

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte // the certificate
}

// pair is a certificate with its key, both PEM.
type pair struct{ certificate, key []byte }

// newAuthority makes an authority that nobody else knows.
func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := template(name)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return loadAuthority(pemOf("CERTIFICATE", der), key)
}

// readAuthority reads the authority that Crossplane made for itself.
func readAuthority(certificate, key []byte) (*authority, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, errors.New("its key is not PEM")
	}
	k, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	return loadAuthority(certificate, k)
}

func loadAuthority(certificate []byte, key crypto.Signer) (*authority, error) {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return nil, errors.New("its certificate is not PEM")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	return &authority{certificate: c, key: key, pem: certificate}, nil
}

// issue makes a certificate for a client and server: a user of groups, who listens at hosts (names or addresses).
func (a *authority) issue(user string, groups, hosts []string) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	t := template(user)
	t.Subject.Organization = groups
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, err
	}
	k, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return pair{}, err
	}
	return pair{certificate: pemOf("CERTIFICATE", der), key: pemOf("EC PRIVATE KEY", k)}, nil
}

func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// write writes a certificate the way in which Kubernetes mounts one: tls.crt, tls.key and ca.crt in a folder.
func (a *authority) write(dir string, p pair) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, data := range map[string][]byte{"tls.crt": p.certificate, "tls.key": p.key, "ca.crt": a.pem} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return fmt.Errorf("cannot write a certificate: %w", err)
		}
	}
	return nil
}

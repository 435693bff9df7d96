package node

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// authority signs the certificates of a cluster.
type authority struct {
	dir         string
	server      string // URL of the API
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte // the certificate
}

// identity is who a certificate is for.
type identity struct {
	name, user string
	groups     []string
	hosts      []string // names and addresses that it listens at; none: it only comes as a client, with a kubeconfig
}

// newAuthority makes an authority that writes into a folder.
func newAuthority(dir, server string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := template("cobaltcore-node")
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage |= x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	a := &authority{dir: dir, server: server, key: key, pem: encode("CERTIFICATE", der)}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return a, a.write(map[string][]byte{"ca.crt": a.pem, "ca.key": encode("EC PRIVATE KEY", secret)})
}

// issue writes a certificate and its key, NAME.crt and NAME.key, and for a client NAME.kubeconfig.
func (a *authority) issue(who identity) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	t := template(who.user)
	t.Subject.Organization = who.groups
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, h := range who.hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	certificate, private := encode("CERTIFICATE", der), encode("EC PRIVATE KEY", secret)
	if err := a.write(map[string][]byte{who.name + ".crt": certificate, who.name + ".key": private}); err != nil || who.hosts != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["node"] = &clientcmdapi.Cluster{Server: a.server, CertificateAuthorityData: a.pem}
	config.AuthInfos[who.name] = &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: private}
	config.Contexts["node"] = &clientcmdapi.Context{Cluster: "node", AuthInfo: who.name}
	config.CurrentContext = "node"
	return clientcmd.WriteToFile(*config, a.file(who.name+".kubeconfig"))
}

func (a *authority) write(files map[string][]byte) error {
	for name, data := range files {
		if err := os.WriteFile(a.file(name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

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

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

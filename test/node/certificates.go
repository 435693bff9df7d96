package node

import (
	"os"
	"path/filepath"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
)

// identity is the subject of a certificate.
type identity struct {
	name, user string
	groups     []string
	hosts      []string // names and addresses of the server; none: a client with a kubeconfig
}

// certificates writes a CA and the certificates that it signs into a folder, NAME.crt and NAME.key, and for a client
// NAME.kubeconfig.
func certificates(dir, server string, all []identity) error {
	ca, err := pki.New("cobaltcore-node")
	if err != nil {
		return err
	}
	if err := writePair(dir, "ca", ca.Pair); err != nil {
		return err
	}
	for _, who := range all {
		p, err := ca.Issue(pki.Subject{User: who.user, Groups: who.groups, Hosts: who.hosts})
		if err != nil {
			return err
		}
		if err := writePair(dir, who.name, p); err != nil {
			return err
		}
		if who.hosts != nil {
			continue
		}
		if err := kubernetes.Kubeconfig(filepath.Join(dir, who.name+".kubeconfig"), server, ca.Certificate, &clientcmdapi.AuthInfo{
			ClientCertificateData: p.Certificate, ClientKeyData: p.Key,
		}); err != nil {
			return err
		}
	}
	return nil
}

func writePair(dir, name string, p pki.Pair) error {
	if err := os.WriteFile(filepath.Join(dir, name+".crt"), p.Certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".key"), p.Key, 0o600)
}

//go:build openstack && linux

package hypervisors

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// peer is the certificate of a node for one purpose, as its pod has it.
type peer struct {
	pair  tls.Certificate
	leaf  *x509.Certificate
	roots *x509.CertPool
	// address is the node's, and name the name that is derived from it.
	address, name string
}

// peerOf reads the certificate of a node from a folder of a pod.
func (m *Machines) peerOf(t *testing.T, node, component, folder string) peer {
	t.Helper()
	p := m.On(t, node, component)
	read := func(file string) []byte {
		out, err := m.Cloud.Cluster.Exec(context.Background(), p.Namespace, p.Name, "cat", folder+"/"+file)
		if err != nil {
			t.Fatal(err)
		}
		return []byte(out)
	}
	out := peer{roots: x509.NewCertPool(), address: p.Status.HostIP}
	out.name = strings.ReplaceAll(out.address, ".", "-") + "." + p.Namespace + ".pod"
	out.roots.AppendCertsFromPEM(read("ca.crt"))
	var err error
	if out.pair, err = tls.X509KeyPair(read("tls.crt"), read("tls.key")); err != nil {
		t.Fatal(err)
	}
	if out.leaf, err = x509.ParseCertificate(out.pair.Certificate[0]); err != nil {
		t.Fatal(err)
	}
	return out
}

// accepted connects to a port of a node with a certificate, and reports whether both ends accept the other one. libvirt
// sends one byte to an accepted client; disk transfer replies to a request.
func (p peer) accepted(client peer, port, request string) error {
	config := &tls.Config{
		RootCAs: client.roots, ServerName: p.name, MinVersion: tls.VersionTLS12,
		// It sends the certificate whatever authorities the server accepts.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &client.pair, nil },
	}
	c, err := tls.Dial("tcp", net.JoinHostPort(p.address, port), config)
	if err != nil {
		return err
	}
	defer c.Close()
	const timeout = 10 * time.Second
	reply := make([]byte, 1)
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, request); err != nil {
		return err
	}
	_, err = io.ReadFull(c, reply)
	return err
}

// testPeerCertificates checks that each node has a certificate with its own names for each purpose: a node cannot take the place of
// another node, and a certificate for one purpose is not accepted for the other one.
func testPeerCertificates(t *testing.T, m *Machines) {
	const libvirt, disks = "16514", "16515"
	const hello = `{"operation": "hello"}`
	greeting := string([]byte{0, byte(len(hello))}) + hello
	var migration, transfer [2]peer
	for i := range migration {
		node := fmt.Sprintf("node-%d", i)
		migration[i] = m.peerOf(t, node, "libvirt", "/etc/node-certificate")
		transfer[i] = m.peerOf(t, node, "disk-transfer", "/etc/disk-transfer")
		client := m.peerOf(t, node, "nova-compute", "/etc/disk-transfer")
		for _, p := range []peer{migration[i], transfer[i], client} {
			got := slices.Sorted(slices.Values(p.leaf.DNSNames))
			if diff := cmp.Diff(slices.Sorted(slices.Values([]string{node, p.name})), got); diff != "" {
				t.Errorf("names of %s (-want +got):\n%s", node, diff)
			}
		}
		if err := transfer[i].accepted(client, disks, greeting); err != nil {
			t.Errorf("nova-compute of %s is not accepted: %v", node, err)
		}
	}
	// A client that looks for one node arrives at another one.
	impostor := func(p, of peer) peer {
		p.name = of.name
		return p
	}
	const other = "certificate is valid for"
	for name, tc := range map[string]struct {
		server, client peer
		port, request  string
		accepted       bool
		want           string
	}{
		"migration":                    {server: migration[0], client: migration[1], port: libvirt, accepted: true},
		"migration to an impostor":     {server: impostor(migration[1], migration[0]), client: migration[0], port: libvirt, want: other},
		"migration with a transfer":    {server: migration[0], client: peer{pair: transfer[1].pair, roots: migration[1].roots}, port: libvirt},
		"disk transfer":                {server: transfer[0], client: transfer[1], port: disks, request: greeting, accepted: true},
		"disk transfer to an impostor": {server: impostor(transfer[1], transfer[0]), client: transfer[0], port: disks, request: greeting, want: other},
		"disk transfer with a migration": {
			server: transfer[0], client: peer{pair: migration[1].pair, roots: transfer[1].roots}, port: disks, request: greeting,
		},
	} {
		err := tc.server.accepted(tc.client, tc.port, tc.request)
		if (err == nil) != tc.accepted || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want accepted %t %s", name, err, tc.accepted, tc.want)
		}
		t.Logf("%s: %v", name, err)
	}
	for i, p := range migration {
		if p.leaf.Equal(migration[1-i].leaf) || p.leaf.Equal(transfer[i].leaf) {
			t.Errorf("the certificate of node-%d has two uses", i)
		}
	}
}

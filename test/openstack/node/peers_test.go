//go:build openstack && linux

package node

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// testMigrationTLS checks that libvirt accepts clients with a certificate of the pool's CA and the pool's name, and no
// others; that it reloads its certificate without a restart, and that QEMU can read it.
func testMigrationTLS(t *testing.T, n fakeNode) {
	other, err := pki.New("pool")
	if err != nil {
		t.Fatal(err)
	}
	address := n.pod(t, "libvirt").Status.HostIP
	for name, tc := range map[string]struct {
		reason string
		own    *pki.Pair
		in     bool
	}{
		"Peer":      {"Other nodes have such a certificate.", new(n.peer(t, n.authority, n.namespace)), true},
		"OtherName": {"The authority's word is not enough.", new(n.peer(t, n.authority, "other")), false},
		"QEMU":      {"A guest that has escaped has its certificate.", new(n.peer(t, n.authority, "qemu")), false},
		"Stranger":  {"Another CA may issue any name.", new(n.peer(t, other, n.namespace)), false},
		"Nobody":    {"Clients without a certificate are unknown.", nil, false},
	} {
		if _, err := n.connect(address, tc.own); (err == nil) != tc.in {
			t.Errorf("%s: %v, want accepted %t\n%s", name, err, tc.in, tc.reason)
		}
	}
	const pids, known = "cat /run/libvirt/libvirtd.pid", "cat /tmp/private/certificates"
	old := n.exec(t, "libvirt", known)
	before := n.exec(t, "libvirt", pids)
	next := n.certify(t)
	began := time.Now()
	// No client connects meanwhile: a handshake at the time of the change crashes libvirt's daemon with a segmentation
	// fault.
	harness.WaitFor(t, n.Cluster, "the next certificate", func() bool { return n.exec(t, "libvirt", known) != old })
	took := time.Since(began)
	if served, err := n.connect(address, &next); err != nil || string(served) != string(next.Certificate) {
		t.Errorf("it serves %s (%v), want\n%s", served, err, next.Certificate)
	}
	t.Logf("the next certificate is served after %.0f s", took.Seconds())
	if after := n.exec(t, "libvirt", pids); after != before {
		t.Errorf("libvirt has started again for it: process %s, and then %s", before, after)
	}
	if got := n.exec(t, "libvirt", "cat /run/libvirt/pki/client-cert.pem; ls -d /run/libvirt/pki*"); !strings.HasPrefix(got, string(next.Certificate)) ||
		strings.Count(got, "/run/libvirt/pki") != 2 {
		t.Errorf("QEMU has %s, want\n%s", got, next.Certificate)
	}
}

// connect connects to libvirt as another node does, and returns its certificate, in PEM.
func (n fakeNode) connect(address string, own *pki.Pair) ([]byte, error) {
	config := &tls.Config{
		RootCAs: n.authority.Pool(), ServerName: strings.ReplaceAll(address, ".", "-") + "." + n.namespace + ".pod", MinVersion: tls.VersionTLS12,
	}
	if own != nil {
		pair, err := tls.X509KeyPair(own.Certificate, own.Key)
		if err != nil {
			return nil, err
		}
		// It sends this certificate whatever CAs libvirt accepts.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	conn, err := tls.Dial("tcp", net.JoinHostPort(address, "16514"), config)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	// libvirt sends one byte to accepted clients.
	const timeout = 10 * time.Second
	reply := make([]byte, 1)
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(conn, reply); err != nil {
		return nil, err
	}
	if reply[0] != 1 {
		return nil, fmt.Errorf("it sent %v", reply)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: conn.ConnectionState().PeerCertificates[0].Raw}), nil
}

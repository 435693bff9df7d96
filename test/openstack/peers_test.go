//go:build openstack && linux

package openstack

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
)

// testPeers: libvirt lets in who has a certificate of the pool's authority by the pool's name, and nobody else. It takes another
// certificate without being started again, and lets QEMU have it.
func testPeers(t *testing.T, n fakeNode) {
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
		"Peer":      {"It is what other nodes have.", new(n.peer(t, n.authority, n.namespace)), true},
		"OtherName": {"The authority's word is not enough.", new(n.peer(t, n.authority, "other")), false},
		"Stranger":  {"Another authority says anything.", new(n.peer(t, other, n.namespace)), false},
		"Nobody":    {"Who has none may be anybody.", nil, false},
	} {
		if _, err := n.connect(address, tc.own); (err == nil) != tc.in {
			t.Errorf("%s: %v, want let in %t\n%s", name, err, tc.in, tc.reason)
		}
	}
	const pids, known = "cat /run/libvirt/libvirtd.pid", "cat /tmp/certificates"
	old := n.exec(t, "libvirt", known)
	before := n.exec(t, "libvirt", pids)
	next := n.certify(t)
	begin := time.Now()
	// Nobody connects meanwhile: a handshake in the moment of the change ends libvirt's daemon with a segmentation fault.
	waitFor(t, n.Cluster, "the next certificate", func() bool { return n.exec(t, "libvirt", known) != old })
	took := time.Since(begin)
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

// connect connects to libvirt as another node does, and returns the certificate that it has shown, in PEM.
func (n fakeNode) connect(address string, own *pki.Pair) ([]byte, error) {
	config := &tls.Config{
		RootCAs: n.authority.Pool(), ServerName: strings.ReplaceAll(address, ".", "-") + "." + n.namespace + ".pod", MinVersion: tls.VersionTLS12,
	}
	if own != nil {
		pair, err := tls.X509KeyPair(own.Certificate, own.Key)
		if err != nil {
			return nil, err
		}
		// Whatever authorities libvirt names, it gets this one.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	conn, err := tls.Dial("tcp", net.JoinHostPort(address, "16514"), config)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	// Who is let in is told so by one byte.
	const patience = 10 * time.Second
	said := make([]byte, 1)
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(conn, said); err != nil {
		return nil, err
	}
	if said[0] != 1 {
		return nil, fmt.Errorf("it says %v", said)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: conn.ConnectionState().PeerCertificates[0].Raw}), nil
}

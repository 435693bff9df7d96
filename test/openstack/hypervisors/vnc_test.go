//go:build openstack && linux

package hypervisors

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/hypervisor"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/nova"
)

// testVNC checks that the proxy shows a server's screen with TLS, that QEMU rejects other clients, and that it serves a renewed certificate
// while a console stays open.
func testVNC(t *testing.T, m *Machines, g Guest) {
	ctx, screen := context.Background(), "QEMU ("+g.InstanceName+")"
	nova.CheckScreen(t, m.Nova, g.Server, screen)
	if log := m.PodLogs(t, "vnc"); !strings.Contains(log, "VeNCrypt security handshake accepted") {
		t.Errorf("the proxy connects without TLS:\n%s", log)
	}
	s := m.screenOf(t, g)
	proxies, nodes := m.pair(t, "nova-cell1-vnc-client"), m.pair(t, m.Cloud.Pool().Namespace+"-vnc")
	stranger, err := pki.New("stranger")
	if err != nil {
		t.Fatal(err)
	}
	other, err := stranger.Issue(pki.Subject{User: "nova-cell1-vnc-client", Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason string
		own    *pki.Pair
		in     bool
	}{
		"proxy":    {"It has a certificate of the cell's authority.", &proxies, true},
		"nobody":   {"QEMU requires a certificate.", nil, false},
		"stranger": {"Another authority may issue any name.", &other, false},
		// docs/explanation/remaining-risks.md, N10.
		"node": {"QEMU does not check the purpose of a certificate.", &nodes, true},
	} {
		conn, got, err := s.look(ctx, tc.own)
		if (err == nil) != tc.in || tc.in && got != screen {
			t.Errorf("%s sees %q (%v), want accepted %t\n%s", name, got, err, tc.in, tc.reason)
		}
		if conn != nil {
			_ = conn.Close()
		}
	}
	withoutTLS, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer withoutTLS.Close()
	if got, err := hypervisor.Look(withoutTLS); err == nil {
		t.Errorf("a client without TLS sees %q", got)
	}
	m.renewVNC(t, g, s, &proxies)
}

// renewVNC renews the certificate of the pool's VNC servers.
func (m *Machines) renewVNC(t *testing.T, g Guest, s vncServer, own *pki.Pair) {
	t.Helper()
	const pid = "cat /run/libvirt/libvirtd.pid"
	ctx, pool := context.Background(), m.Cloud.Pool().Namespace
	before := m.inLibvirt(t, g, pid)
	open, _, err := s.look(ctx, own)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	u, err := m.Cloud.Operators.Find("Certificate.cert-manager.io", m.Cloud.Namespace, pool+"-vnc")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Cloud.Operators.Reconcile(ctx, []map[string]any{u.DeepCopy().Object}); err != nil {
		t.Fatal(err)
	}
	if err := m.Cloud.Operators.Copy(ctx, pool, "control-plane-"+pool+"-vnc"); err != nil {
		t.Fatal(err)
	}
	next, began := m.pair(t, pool+"-vnc"), time.Now()
	m.Until(t, "QEMU's renewed certificate", g.Server.ID, func() error {
		conn, _, err := s.look(ctx, own)
		if err != nil {
			return err
		}
		defer conn.Close()
		got := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: conn.ConnectionState().PeerCertificates[0].Raw})
		if string(got) != string(next.Certificate) {
			return errors.New("it serves the previous one")
		}
		return nil
	})
	m.Lap(t, fmt.Sprintf("QEMU has served its renewed certificate after %.0f s", time.Since(began).Seconds()))
	if after := m.inLibvirt(t, g, pid); after != before {
		t.Errorf("libvirt has started again for it: process %s, and then %s", before, after)
	}
	// QEMU sends nothing on an open console without a request.
	if err := open.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := open.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("an open console was closed: %v", err)
	}
	nova.CheckScreen(t, m.Nova, g.Server, "QEMU ("+g.InstanceName+")")
}

// vncServer is the VNC server of a server, with the authority of its certificate.
type vncServer struct {
	address   string
	authority *x509.CertPool
}

// screenOf returns the VNC server of a server.
func (m *Machines) screenOf(t *testing.T, g Guest) vncServer {
	t.Helper()
	display := strings.TrimSpace(m.inLibvirt(t, g, Virsh+"vncdisplay "+g.InstanceName)) // 10.0.0.1:0
	const first = 5900
	number, err := strconv.Atoi(display[strings.LastIndex(display, ":")+1:])
	if err != nil {
		t.Fatalf("%q: %v", display, err)
	}
	data, err := m.Cloud.Operators.Secret(context.Background(), m.Cloud.Namespace, "nova-cell1-vnc-client")
	if err != nil {
		t.Fatal(err)
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(data["ca.crt"]) {
		t.Fatalf("no authority: %s", data["ca.crt"])
	}
	host := m.On(t, m.Place(t, g).Host, "libvirt").Status.HostIP
	return vncServer{net.JoinHostPort(host, strconv.Itoa(first+number)), authority}
}

// look connects with a certificate, or without one, and returns the connection and the name of the screen.
func (s vncServer) look(ctx context.Context, own *pki.Pair) (*tls.Conn, string, error) {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		// As Nova's proxy, it verifies the authority and the purpose, and no name.
		InsecureSkipVerify: true, // VerifyConnection verifies it.
		VerifyConnection: func(state tls.ConnectionState) error {
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: s.authority})
			return err
		},
	}
	if own != nil {
		pair, err := tls.X509KeyPair(own.Certificate, own.Key)
		if err != nil {
			return nil, "", err
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		return nil, "", err
	}
	const timeout = 10 * time.Second
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, "", errors.Join(err, conn.Close())
	}
	secure, name, err := hypervisor.LookTLS(ctx, conn, config)
	if err != nil {
		return nil, "", errors.Join(err, conn.Close())
	}
	return secure, name, conn.SetDeadline(time.Time{})
}

// pair returns a certificate of the control plane with its key.
func (m *Machines) pair(t *testing.T, secret string) pki.Pair {
	t.Helper()
	data, err := m.Cloud.Operators.Secret(context.Background(), m.Cloud.Namespace, secret)
	if err != nil {
		t.Fatal(err)
	}
	return pki.Pair{Certificate: data["tls.crt"], Key: data["tls.key"]}
}

// inLibvirt runs a command in the container of libvirt on the server's node.
func (m *Machines) inLibvirt(t *testing.T, g Guest, command string) string {
	t.Helper()
	p := m.On(t, m.Place(t, g).Host, "libvirt")
	out, err := m.Cloud.Cluster.Exec(context.Background(), p.Namespace, p.Name, "sh", "-c", command)
	if err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	return out
}

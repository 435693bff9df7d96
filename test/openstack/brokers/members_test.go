//go:build openstack && linux

package brokers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// distribution is the port by which members connect to each other.
const distribution = 25672

// TestBrokersMembers checks that three members of a queue form a cluster with TLS, that quorum queues and streams are replicated,
// and that members reject connections without TLS and without a certificate of their own authority.
func TestBrokersMembers(t *testing.T) {
	t.Parallel()
	c := harness.Start(t, harness.Read(t, "members.yaml"), nil)
	host := "rabbitmq-server-0.rabbitmq-nodes." + c.Namespace
	t.Run("Cluster", func(t *testing.T) { testMembers(t, c) })
	t.Run("Replication", func(t *testing.T) { testReplication(t, c) })
	t.Run("WithoutTLS", func(t *testing.T) {
		// The first message of Erlang's handshake without TLS. The response is an alert of TLS, and not the state "sok".
		name := "rabbit@" + host
		message := fmt.Sprintf("N\x00\x00\x00\x0d\x07\xdf\x7f\xbd\x00\x00\x00\x01\x00%c%s", len(name), name)
		conn, err := c.Cluster.Dial(context.Background(), "tcp", fmt.Sprintf("%s:%d", host, distribution))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() // it was read
		if _, err := fmt.Fprintf(conn, "\x00%c%s", len(message), message); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		const alert = 0x15
		if err != nil || len(got) == 0 || got[0] != alert {
			t.Errorf("a member responds with %q (%v) to a handshake without TLS, want an alert", got, err)
		}
	})
	for name, tc := range map[string]struct {
		reason, secret string
		accepted       bool
	}{
		"NoCertificate":      {reason: "Members request one."},
		"AnotherCertificate": {reason: "The authority of the listener signs for other programs, too.", secret: "rabbitmq-tls"},
		"MembersCertificate": {reason: "Members have it.", secret: "rabbitmq-members-tls", accepted: true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := connect(t, c, host, tc.secret); (err == nil) != tc.accepted {
				t.Errorf("%s got %v, want accepted: %t", tc.reason, err, tc.accepted)
			}
		})
	}
}

// testMembers checks by rabbitmqctl that all members run in one cluster, and that each of them uses TLS.
func testMembers(t *testing.T, c *clouds.Cloud) {
	ctl := func(member int, command ...string) string {
		t.Helper()
		pod := fmt.Sprintf("rabbitmq-server-%d", member)
		// Debian's program in /usr/sbin requires a user named rabbitmq.
		program := []string{"/usr/lib/rabbitmq/bin/rabbitmqctl", "--quiet"}
		out, err := c.Cluster.Exec(context.Background(), c.Namespace, pod, append(program, command...)...)
		if err != nil {
			t.Fatalf("%s in %s: %v\n%s", command, pod, err, out)
		}
		return out
	}
	var status struct {
		Running []string `json:"running_nodes"`
	}
	out := ctl(0, "cluster_status", "--formatter", "json")
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var want []string
	for i := range 3 {
		want = append(want, fmt.Sprintf("rabbit@rabbitmq-server-%d.rabbitmq-nodes.%s", i, c.Namespace))
		distribution := "inet_tls"
		if sandbox.IPv6 {
			distribution = "inet6_tls"
		}
		if out := ctl(i, "eval", "init:get_argument(proto_dist)."); !strings.Contains(out, distribution) {
			t.Errorf("member %d has the distribution %s, want %s", i, out, distribution)
		}
	}
	slices.Sort(status.Running)
	if diff := cmp.Diff(want, status.Running); diff != "" {
		t.Errorf("running members (-want +got):\n%s", diff)
	}
}

// testReplication publishes to a quorum queue and to a stream. Each has a connection of its own between members.
func testReplication(t *testing.T, c *clouds.Cloud) {
	certificate, err := c.Operators.Secret(context.Background(), c.Namespace, "rabbitmq-tls")
	if err != nil {
		t.Fatal(err)
	}
	login, err := c.Operators.Secret(context.Background(), c.Namespace, "rabbitmq-default-user")
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, certificate["ca.crt"], 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(harness.Programs.Services[harness.Newest], "bin", "python"), "../testdata/streams.py",
		string(login["host"]), string(login["username"]), string(login["password"]), ca).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "stream confirmed") {
		t.Errorf("a majority does not write messages: %v\n%s", err, out)
	}
}

// connect connects to a member with TLS, with the certificate of a Secret, if any. A member that rejects the certificate sends an alert
// after the handshake of the client; a member that accepts it waits for the first message.
func connect(t *testing.T, c *clouds.Cloud, host, secret string) error {
	t.Helper()
	members, err := c.Operators.Secret(context.Background(), c.Namespace, "rabbitmq-members-tls")
	if err != nil {
		t.Fatal(err)
	}
	conf := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: host, MinVersion: tls.VersionTLS12}
	if !conf.RootCAs.AppendCertsFromPEM(members["ca.crt"]) {
		t.Fatal("the members' Secret has no certificate of an authority")
	}
	if secret != "" {
		own, err := c.Operators.Secret(context.Background(), c.Namespace, secret)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(own["tls.crt"], own["tls.key"])
		if err != nil {
			t.Fatal(err)
		}
		// Also a certificate that the member does not request.
		conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	conn, err := c.Cluster.Dial(context.Background(), "tcp", fmt.Sprintf("%s:%d", host, distribution))
	if err != nil {
		t.Fatal(err)
	}
	secure := tls.Client(conn, conf)
	defer secure.Close() // it was read
	const patience = 5 * time.Second
	if err := secure.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if err := secure.Handshake(); err != nil {
		return err
	}
	if _, err := secure.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the member closes the connection: %w", err)
	}
	return nil
}

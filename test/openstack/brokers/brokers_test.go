//go:build openstack && linux

package brokers

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestBrokersServeClientsByTLS checks that RabbitMQ and Valkey from a claim serve a client with an account, by TLS.
func TestBrokersServeClientsByTLS(t *testing.T) {
	t.Parallel()
	c := harness.Start(t, harness.Read(t, "brokers.yaml"), nil)
	t.Run("RabbitMQ", func(t *testing.T) { testRabbitMQ(t, c) })
	t.Run("Valkey", func(t *testing.T) { testValkey(t, c) })
}

// testRabbitMQ checks that one service can call another, by quorum queues in a virtual host, with a user that has
// permissions only there.
func testRabbitMQ(t *testing.T, c *clouds.Cloud) {
	ctx := context.Background()
	for user, password := range map[string]string{"caller": "p@ss/word", node: nodePassword} {
		if err := c.Operators.SetSecret(ctx, c.Namespace, user+"-rabbitmq", map[string][]byte{
			"username": []byte(user), "password": []byte(password),
		}); err != nil {
			t.Fatal(err)
		}
	}
	broker := map[string]any{"name": "rabbitmq"}
	object := func(kind, name string, spec map[string]any) map[string]any {
		spec["rabbitmqClusterReference"] = broker
		return map[string]any{
			"apiVersion": "rabbitmq.com/v1beta1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": c.Namespace}, "spec": spec,
		}
	}
	all := map[string]any{"configure": ".*", "write": ".*", "read": ".*"}
	if err := c.Operators.Reconcile(ctx, []map[string]any{
		object("Permission", "caller", map[string]any{"vhost": "calls", "userReference": map[string]any{"name": "caller"}, "permissions": all}),
		object("User", "caller", map[string]any{"importCredentialsSecret": map[string]any{"name": "caller-rabbitmq"}}),
		object("Permission", node, map[string]any{"vhost": "calls", "userReference": map[string]any{"name": node}, "permissions": all}),
		object("User", node, map[string]any{"importCredentialsSecret": map[string]any{"name": node + "-rabbitmq"}}),
		object("Vhost", "calls", map[string]any{"name": "calls", "defaultQueueType": "quorum"}),
		object("Vhost", "others", map[string]any{"name": "others"}),
	}); err != nil {
		t.Fatal(err)
	}
	certificate, err := c.Operators.Secret(ctx, c.Namespace, "rabbitmq-tls")
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, certificate["ca.crt"], 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(r release.Release, vhost, want string) {
		t.Helper()
		out, err := exec.Command(filepath.Join(harness.Programs.Services[r], "bin", "python"), "../testdata/rpc.py",
			"rabbitmq."+c.Namespace+".svc", vhost, "caller", "p@ss/word", ca).CombinedOutput()
		if !strings.Contains(string(out), want) {
			t.Errorf("a call of %s in vhost %s: %v, want %s:\n%s", r, vhost, err, want, out)
		}
	}
	for _, r := range release.Releases() {
		call(r, "calls", "42")
	}
	call(harness.Newest, "others", "access to vhost 'others' refused")
	for _, r := range []release.Release{release.Releases()[0], harness.Newest} {
		t.Run(string(r), func(t *testing.T) { testCalls(t, c, r, ca) })
	}
	queues, err := c.Operators.RabbitMQ(ctx, c.Namespace, "rabbitmq", http.MethodGet, "queues/calls", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	if err := json.Unmarshal(queues, &got); err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for _, q := range got {
		types[q.Name] = q.Type
	}
	if types["plain"] != "quorum" {
		t.Errorf("a queue that was declared without a type is of type %q, want quorum: %v", types["plain"], types)
	}
}

// testValkey checks that a client finds the primary through a sentinel, and can write and read there.
func testValkey(t *testing.T, c *clouds.Cloud) {
	binding, err := c.Operators.Secret(context.Background(), c.Namespace, "valkey-binding")
	if err != nil {
		t.Fatal(err)
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(binding["caData"]) {
		t.Fatal("the binding has no certificate of an authority")
	}
	// send sends a command and reads the given number of response lines, after the response to the login.
	send := func(host, port string, answers int, command ...string) string {
		t.Helper()
		conn, err := c.Cluster.Dial(context.Background(), "tcp", host+":"+port)
		if err != nil {
			t.Fatal(err)
		}
		secure := tls.Client(conn, &tls.Config{RootCAs: authority, ServerName: host, MinVersion: tls.VersionTLS12})
		defer secure.Close() // it was read
		fmt.Fprintf(secure, "AUTH %s\r\n%s\r\n", binding["password"], strings.Join(command, " "))
		var lines []string
		for answer := bufio.NewScanner(secure); len(lines) <= answers && answer.Scan(); {
			lines = append(lines, answer.Text())
		}
		return strings.Join(lines, " ")
	}
	primary := send(string(binding["sentinelHost"]), string(binding["sentinelPort"]), 5, "SENTINEL", "get-master-addr-by-name", string(binding["primaryName"]))
	member := fmt.Sprintf("valkey-valkey-node-0.valkey-valkey-headless.%s.svc.cluster.local", c.Namespace)
	if want := fmt.Sprintf("+OK *2 $%d %s $4 6379", len(member), member); primary != want {
		t.Fatalf("the sentinel responds with %q, want %q", primary, want)
	}
	got := []string{
		send(member, "6379", 1, "SET", "lock", "mine"),
		send(string(binding["host"]), string(binding["port"]), 2, "GET", "lock"),
	}
	if diff := cmp.Diff([]string{"+OK +OK", "+OK $4 mine"}, got); diff != "" {
		t.Errorf("write and read (-want +got):\n%s", diff)
	}
}

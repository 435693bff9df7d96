//go:build openstack && linux

package openstack

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
)

// TestBrokers: RabbitMQ and Valkey as a claim orders them serve a client with an account, by TLS.
func TestBrokers(t *testing.T) {
	t.Parallel()
	c := start(t, read(t, "brokers.yaml"), nil)
	t.Run("RabbitMQ", func(t *testing.T) { testRabbitMQ(t, c) })
	t.Run("Valkey", func(t *testing.T) { testValkey(t, c) })
}

// testRabbitMQ: one service calls another, by quorum queues in a vhost, with a user that may do so there and nowhere else.
func testRabbitMQ(t *testing.T, c *Cloud) {
	ctx := context.Background()
	if err := c.Operators.SetSecret(ctx, c.Namespace, "caller-rabbitmq", map[string][]byte{
		"username": []byte("caller"), "password": []byte("p@ss/word"),
	}); err != nil {
		t.Fatal(err)
	}
	broker := map[string]any{"name": "rabbitmq"}
	thing := func(kind, name string, spec map[string]any) map[string]any {
		spec["rabbitmqClusterReference"] = broker
		return map[string]any{
			"apiVersion": "rabbitmq.com/v1beta1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": c.Namespace}, "spec": spec,
		}
	}
	all := map[string]any{"configure": ".*", "write": ".*", "read": ".*"}
	if err := c.Operators.Reconcile(ctx, []map[string]any{
		thing("Permission", "caller", map[string]any{"vhost": "calls", "userReference": map[string]any{"name": "caller"}, "permissions": all}),
		thing("User", "caller", map[string]any{"importCredentialsSecret": map[string]any{"name": "caller-rabbitmq"}}),
		thing("Vhost", "calls", map[string]any{"name": "calls", "defaultQueueType": "quorum"}),
		thing("Vhost", "others", map[string]any{"name": "others"}),
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
	for vhost, want := range map[string]string{"calls": "42", "others": "access to vhost 'others' refused"} {
		at := fmt.Sprintf("rabbit://caller:p%%40ss%%2Fword@rabbitmq.%s.svc:5671/%s", c.Namespace, vhost)
		for _, r := range release.Releases() {
			out, err := exec.Command(filepath.Join(programs.Services[r], "bin", "python"), "testdata/rpc.py", at, ca).CombinedOutput()
			if !strings.Contains(string(out), want) {
				t.Errorf("a call of %s in vhost %s: %v, want %s:\n%s", r, vhost, err, want, out)
			}
			if vhost == "others" {
				break
			}
		}
	}
	queues, err := c.Operators.RabbitMQ(ctx, c.Namespace, "rabbitmq", http.MethodGet, "queues/calls", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []struct{ Name, Type string }
	if err := json.Unmarshal(queues, &got); err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for _, q := range got {
		types[q.Name] = q.Type
	}
	if types["numbers"] != "quorum" {
		t.Errorf("the queue numbers is of type %q, want quorum: %v", types["numbers"], types)
	}
}

// testValkey: a client finds the primary by a sentinel, and writes and reads there.
func testValkey(t *testing.T, c *Cloud) {
	binding, err := c.Operators.Secret(context.Background(), c.Namespace, "valkey-binding")
	if err != nil {
		t.Fatal(err)
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(binding["caData"]) {
		t.Fatal("the binding has no certificate of an authority")
	}
	ask := func(host, port string, words ...string) string {
		t.Helper()
		conn, err := c.Cluster.Dial(context.Background(), "tcp", host+":"+port)
		if err != nil {
			t.Fatal(err)
		}
		secure := tls.Client(conn, &tls.Config{RootCAs: authority, ServerName: host, MinVersion: tls.VersionTLS12})
		defer secure.Close() // it was read
		fmt.Fprintf(secure, "AUTH %s\r\n%s\r\nQUIT\r\n", binding["password"], strings.Join(words, " "))
		var lines []string
		for answer := bufio.NewScanner(secure); answer.Scan(); {
			lines = append(lines, answer.Text())
		}
		return strings.Join(lines, " ")
	}
	primary := ask(string(binding["sentinelHost"]), string(binding["sentinelPort"]), "SENTINEL", "get-master-addr-by-name", string(binding["primaryName"]))
	member := fmt.Sprintf("valkey-valkey-node-0.valkey-valkey-headless.%s.svc.cluster.local", c.Namespace)
	if want := fmt.Sprintf("+OK *2 $%d %s $4 6379 +OK", len(member), member); primary != want {
		t.Fatalf("the sentinel answers %q, want %q", primary, want)
	}
	got := []string{
		ask(member, "6379", "SET", "lock", "mine"),
		ask(string(binding["host"]), string(binding["port"]), "GET", "lock"),
	}
	if diff := cmp.Diff([]string{"+OK +OK +OK", "+OK $4 mine +OK"}, got); diff != "" {
		t.Errorf("write and read (-want +got):\n%s", diff)
	}
}

//go:build openstack && linux

package brokers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// The queue user of hypervisors. Its password has letters, digits and hyphens, as generated ones.
const node, nodePassword = "node", "Secret-1"

// faults are brokers that cannot be used: one refuses connections, and one accepts them and does not respond.
var faults = map[string]func(*testing.T) string{
	"refused": func(t *testing.T) string {
		address, end := listen(t)
		end()
		return address
	},
	"silent": func(t *testing.T) string {
		address, _ := listen(t)
		return address
	},
}

// listen returns the address of a server that accepts connections and does not respond.
func listen(t *testing.T) (address string, end func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String(), func() { _ = l.Close() }
}

// testCalls checks the program by which hypervisors find out whether nova-compute receives calls, against the API that each service of Nova
// has, in a release. The program distinguishes a nova-compute that does not receive calls from a queue that does not work.
func testCalls(t *testing.T, c *clouds.Cloud, r release.Release, ca string) {
	const answers, deaf, killed = 0, 1, 124
	dir, python := t.TempDir(), filepath.Join(harness.Programs.Services[r], "bin", "python")
	host := "node-" + strings.ReplaceAll(string(r), ".", "-")
	text, err := service.QueueOptions(nil, novav1.ServiceName, r).Merge(oslo.Config{"oslo_concurrency": {"lock_path": dir}}).Render()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "nova.conf")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(address string) []string {
		return append(os.Environ(), "OS_NOVA_DISABLE_EVENTLET_PATCHING=1", "NODE_NAME="+host, "TIMEOUT=10", "OS_OSLO_MESSAGING_RABBIT__PROCESSNAME=rpc-ping",
			"OS_OSLO_MESSAGING_RABBIT__HOSTNAME="+host,
			fmt.Sprintf("OS_DEFAULT__TRANSPORT_URL=rabbit://%s:%s@%s/calls?ssl=true&ssl_ca_file=%s", node, nodePassword, address, ca))
	}
	broker := "rabbitmq." + c.Namespace + ".svc:5671"
	ping := func(address, reason string, want int) {
		t.Helper()
		cmd := exec.Command("timeout", "-k", "5", "30", python, "-I", "../../../functions/hypervisor/rpc-ping.py", config)
		cmd.Env = env(address)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: exit code %d, want %d: %s", reason, got, want, out)
		}
	}
	ping(broker, "nova-compute has not started", deaf)
	server := exec.Command(python, "../testdata/receiver.py", config, host)
	server.Env, server.Stderr = append(env(broker), "OS_OSLO_MESSAGING_RABBIT__PROCESSNAME=nova-compute"), os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil {
		t.Fatalf("nova-compute did not start: %v, %q", err, line)
	}
	ping(broker, "nova-compute receives calls", answers)
	ping(broker, "it receives a second call", answers)
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := lines.ReadString('\n'); err != nil {
		t.Fatalf("nova-compute did not stop to receive: %v, %q", err, line)
	}
	ping(broker, "it is connected, and does not receive calls", deaf)
	_ = in.Close()
	_ = server.Wait()
	ping(broker, "its queue has no consumer", deaf)
	for name, fault := range faults {
		ping(fault(t), "the queue is "+name, killed)
	}
	queues, err := c.Operators.RabbitMQ(context.Background(), c.Namespace, "rabbitmq", http.MethodGet, "queues/calls", nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(queues, &all); err != nil {
		t.Fatal(err)
	}
	var replies []string
	for _, q := range all {
		if strings.Contains(q.Name, "rpc-ping") && strings.Contains(q.Name, host) {
			replies = append(replies, q.Name)
		}
	}
	if len(replies) != 1 {
		t.Errorf("calls use %v for replies, want one queue for all calls", replies)
	}
}

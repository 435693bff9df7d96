package workload

import (
	"bytes"
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

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestHealth tests that the startup probe is a request, and that the other probes use the paths of the health endpoint.
func TestHealth(t *testing.T) {
	c := corev1.Container{}
	Health(&c, HTTPS("api", "/healthcheck"))
	type probe struct {
		Scheme corev1.URIScheme
		Port   intstr.IntOrString
		Path   string
	}
	got := map[string]probe{}
	for name, p := range map[string]*corev1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		got[name] = probe{p.HTTPGet.Scheme, p.HTTPGet.Port, p.HTTPGet.Path}
	}
	want := map[string]probe{
		"startup":   {"HTTPS", intstr.FromString("api"), "/healthcheck"},
		"liveness":  {"HTTP", intstr.FromString("health"), "/live"},
		"readiness": {"HTTP", intstr.FromString("health"), "/ready"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a busy server must not fail a probe (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]corev1.ContainerPort{{Name: "health", ContainerPort: 1717}}, c.Ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}

// worker is a worker as uwsgi.workers() shows it, and the bytes that it has moved.
type worker struct {
	Running  bool `json:"running"`
	Loaded   bool `json:"loaded"`
	Busy     bool `json:"busy"`
	Requests int  `json:"requests"`
	Bytes    int  `json:"bytes"`
}

// look is one observation of the workers, at a time in seconds.
type look struct {
	At       int      `json:"at"`
	Draining bool     `json:"draining"`
	Workers  []worker `json:"workers"`
}

// status is the result of the script for one observation.
type status struct {
	Live   bool   `json:"live"`
	Ready  bool   `json:"ready"`
	Reason string `json:"reason"`
	// Killed are the workers that this look ends.
	Killed []int `json:"killed,omitempty"`
}

// evaluate runs the script for a list of observations. A request hangs after 100 s, and a server is broken after 60 s without workers.
const evaluate = `
import json, os, sys
import health
state, out = health.Workers(100, 60, 0), []
for look in json.load(sys.stdin):
    moved = {os.getpid() + i: w["bytes"] for i, w in enumerate(look["workers"])}
    health.moved = moved.get
    health.ended = lambda pid: pid == 0
    killed = []
    health.kill = lambda pid: killed.append(pid - os.getpid() + 1)
    health.print = lambda *_, **__: None
    state.draining = look["draining"]
    running = state.look(look["at"], [{
        "id": i + 1, "pid": os.getpid() + i if w["running"] else 0, "apps": ({},) if w["loaded"] else (),
        "status": b"busy" if w["busy"] else b"idle", "requests": w["requests"],
    } for i, w in enumerate(look["workers"])])
    assert len(running) == sum(w["running"] for w in look["workers"])
    out.append({"live": state.live, "ready": state.ready, "reason": state.reason.split(":")[0], "killed": killed or None})
json.dump(out, sys.stdout)
`

// script returns a command that runs Python with the script as module health, outside uWSGI.
func script(t *testing.T, text string) *exec.Cmd {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{HealthFile: HealthScript, "uwsgi.py": "opt = {}\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("python3", "-c", text)
	c.Env = append(os.Environ(), "PYTHONPATH="+folder, "PYTHONDONTWRITEBYTECODE=1")
	c.Stderr = os.Stderr
	return c
}

// TestLivenessFailsOnlyIfRestartHelps tests that a server fails liveness only if a restart helps, and that a busy server is ready.
func TestLivenessFailsOnlyIfRestartHelps(t *testing.T) {
	idle, busy := worker{Running: true, Loaded: true}, worker{Running: true, Loaded: true, Busy: true}
	loading, stopped := worker{Running: true}, worker{}
	two := func(w worker) []worker { return []worker{w, w} }
	after := func(w worker, requests, bytes int) worker {
		w.Requests, w.Bytes = requests, bytes
		return w
	}
	working, broken := status{Live: true, Ready: true, Reason: "working"}, status{Reason: "broken"}
	ends := func(workers ...int) status {
		return status{Live: true, Ready: true, Reason: "working", Killed: workers}
	}
	for name, tc := range map[string]struct {
		reason       string
		observations []look
		want         []status
	}{
		"idle": {
			"Without requests nothing changes, for however long.",
			[]look{{At: 0, Workers: two(idle)}, {At: 10000, Workers: two(idle)}}, []status{working, working},
		},
		"busy": {
			"All slots are taken, and requests end.",
			[]look{{At: 0, Workers: two(busy)}, {At: 90, Workers: two(after(busy, 1, 0))}, {At: 180, Workers: two(after(busy, 2, 0))}},
			[]status{working, working, working},
		},
		"transfer": {
			"A transfer takes longer than any request, and moves.",
			[]look{{At: 0, Workers: two(busy)}, {At: 90, Workers: two(after(busy, 0, 1))}, {At: 180, Workers: two(after(busy, 0, 2))}},
			[]status{working, working, working},
		},
		"hanging": {
			"One worker hangs. It alone is ended, once, and the master starts another one in its place.",
			[]look{
				{At: 0, Workers: []worker{busy, idle}},
				{At: 100, Workers: []worker{busy, after(idle, 50, 50)}},
				{At: 101, Workers: []worker{busy, after(idle, 51, 51)}},
				{At: 102, Workers: []worker{busy, after(idle, 51, 51)}},
				{At: 103, Workers: []worker{stopped, after(idle, 51, 51)}},
				{At: 300, Workers: []worker{idle, after(idle, 51, 51)}},
			},
			[]status{working, working, ends(1), working, working, working},
		},
		"hanging again": {
			"A new worker that hangs is also killed: the grace period starts again.",
			[]look{
				{At: 0, Workers: two(busy)}, {At: 101, Workers: two(busy)}, {At: 102, Workers: two(stopped)}, {At: 103, Workers: two(busy)},
				{At: 204, Workers: two(busy)}, {At: 234, Workers: two(busy)},
			},
			[]status{working, ends(1, 2), working, working, ends(1, 2), working},
		},
		"stuck": {
			"A worker that waits for the kernel cannot be ended: only a restart helps. If it does end, the server works.",
			[]look{
				{At: 0, Workers: []worker{busy, idle}}, {At: 101, Workers: []worker{busy, idle}}, {At: 131, Workers: []worker{busy, idle}},
				{At: 132, Workers: []worker{busy, idle}}, {At: 133, Workers: []worker{stopped, idle}},
			},
			[]status{working, ends(1), working, broken, working},
		},
		"apart": {
			"Two short requests with a pause between them are no long one.",
			[]look{{At: 0, Workers: two(busy)}, {At: 60, Workers: two(idle)}, {At: 110, Workers: two(busy)}, {At: 210, Workers: two(busy)}},
			[]status{working, working, working, working},
		},
		"killed": {
			"A worker is stopped; the other one takes its requests.",
			[]look{{At: 0, Workers: two(idle)}, {At: 1, Workers: []worker{idle, stopped}}, {At: 200, Workers: []worker{idle, stopped}}},
			[]status{working, working, working},
		},
		"all killed": {
			"The master replaces workers within a minute, or not at all.",
			[]look{{At: 0, Workers: two(idle)}, {At: 60, Workers: two(stopped)}, {At: 61, Workers: two(stopped)}, {At: 62, Workers: []worker{idle, stopped}}},
			[]status{working, working, broken, working},
		},
		"loading": {
			"Workers run, and the application does not load.",
			[]look{{At: 0, Workers: two(loading)}, {At: 60, Workers: two(loading)}, {At: 61, Workers: two(loading)}},
			[]status{working, working, broken},
		},
		"draining": {
			"Requests that outlast a reload are left to end. No new ones are taken meanwhile, for which other pods are ready.",
			[]look{
				{At: 0, Workers: two(busy)}, {At: 50, Draining: true, Workers: two(busy)},
				{At: 150, Draining: true, Workers: []worker{busy, stopped}},
			},
			[]status{working, {Live: true, Ready: true, Reason: "draining"}, {Live: true, Ready: false, Reason: "draining"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := json.Marshal(tc.observations)
			if err != nil {
				t.Fatal(err)
			}
			c := script(t, evaluate)
			c.Stdin = bytes.NewReader(in)
			out, err := c.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got []status
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// serveHealth serves the endpoint at a free port until its standard input ends. Its arguments are the address and the seconds of silence
// after which it gives up a client.
const serveHealth = `
import select, sys
import health
health.SILENCE = float(sys.argv[2])
state = health.Workers(1, 1, 0)
state.live, state.ready, state.reason = True, False, "reason"
endpoint = health.Endpoint(sys.argv[1], state)
print(endpoint.listener.getsockname()[1], flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    endpoint.serve(0.05)
    assert len(endpoint.clients) <= health.CLIENTS
`

// TestHealthEndpoint tests that idle and slow clients, also more than the endpoint keeps, delay no other client.
func TestHealthEndpoint(t *testing.T) {
	for name, listen := range map[string]string{"IPv4": "127.0.0.1:0", "any": ":0", "IPv6": "[::]:0"} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(listen, "[") && !hasIPv6() {
				t.Skip("the kernel has no IPv6")
			}
			testHealthEndpoint(t, listen)
		})
	}
}

func hasIPv6() bool {
	l, err := net.Listen("tcp6", "[::]:0")
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// startHealth starts the endpoint and returns its port. It ends with the test, without an error.
func startHealth(t *testing.T, listen, silence string) int {
	t.Helper()
	c := script(t, serveHealth)
	c.Args = append(c.Args, listen, silence)
	stop, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var port int
	if _, err := fmt.Fscan(out, &port); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stop.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
	return port
}

// TestHealthClosesIncompleteRequests tests that the connection of a client without a complete request is closed.
func TestHealthClosesIncompleteRequests(t *testing.T) {
	address := fmt.Sprintf("127.0.0.1:%d", startHealth(t, "127.0.0.1:0", "0.2"))
	for _, sent := range []string{"", "GET /live HTTP/1.1\r\n"} {
		client, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Write([]byte(sent)); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(client); err != nil || len(answer) > 0 {
			t.Errorf("having sent %q, a client got %q (%v), want the end of the connection", sent, answer, err)
		}
		_ = client.Close()
	}
}

func testHealthEndpoint(t *testing.T, listen string) {
	port := startHealth(t, listen, "1e9")
	address := fmt.Sprintf("127.0.0.1:%d", port) // also of a socket of IPv6, which takes both
	dial := func() net.Conn {
		client, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	for range 200 {
		dial()
	}
	slow := dial()
	if _, err := slow.Write([]byte("GET /live HTTP/1.1\r\nHost: ")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/live": "200 reason\n", "/ready": "503 reason\n", "/": "404 paths: /live, /ready\n", "/metrics": "404 paths: /live, /ready\n",
	} {
		response, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatalf("%s: %s", path, err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if got := fmt.Sprintf("%d %s", response.StatusCode, body); err != nil || got != want {
			t.Errorf("%s: got %q (%v), want %q", path, got, err, want)
		}
	}
	if _, err := slow.Write([]byte("a\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(slow); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 OK\r\n") {
		t.Errorf("a slow client got %q (%v)", answer, err)
	}
	endless := dial()
	if _, err := endless.Write(bytes.Repeat([]byte("x"), 8192)); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(endless); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 404 ") {
		t.Errorf("a request without an end got %q (%v)", answer, err)
	}
}

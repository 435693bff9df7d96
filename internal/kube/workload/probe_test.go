package workload

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestProbe tests that each kind of check has its handler in all three probes, with common timing: a slow start is no failure, and a
// container is restarted only after repeated failures.
func TestProbe(t *testing.T) {
	port := intstr.FromString("api")
	for name, tc := range map[string]struct {
		reason string
		check  Check
		want   corev1.ProbeHandler
	}{
		"https": {
			reason: "The process serves TLS itself.", check: HTTPS("api", "/healthcheck"),
			want: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Scheme: "HTTPS", Path: "/healthcheck", Port: port}},
		},
		"http": {
			reason: "Something before it does.", check: HTTP("api", "/"),
			want: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Scheme: "HTTP", Path: "/", Port: port}},
		},
		"tcp":  {reason: "A server without HTTP.", check: TCP("api"), want: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}},
		"exec": {reason: "It listens nowhere.", check: Exec("ovn-nbctl", "show"), want: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"ovn-nbctl", "show"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := corev1.Container{}
			Probe(&c, tc.check)
			for name, p := range map[string]*corev1.Probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
				if diff := cmp.Diff(tc.want, p.ProbeHandler); diff != "" {
					t.Errorf("%s\n%s (-want +got):\n%s", tc.reason, name, diff)
				}
				if p.TimeoutSeconds > p.PeriodSeconds && p.Exec != nil {
					t.Errorf("%s: commands of %d s are started every %d s and pile up", name, p.TimeoutSeconds, p.PeriodSeconds)
				}
			}
			if e := c.StartupProbe.Exec; e != nil && (e == c.ReadinessProbe.Exec || e == c.LivenessProbe.Exec) {
				t.Error("who gives the startup probe another command gives it to the others, too")
			}
			tolerated := func(p *corev1.Probe) int32 { return p.PeriodSeconds * p.FailureThreshold }
			if tolerated(c.ReadinessProbe) >= tolerated(c.LivenessProbe) || tolerated(c.LivenessProbe) >= tolerated(c.StartupProbe) {
				t.Errorf("%d, %d and %d s of failures are tolerated", tolerated(c.ReadinessProbe), tolerated(c.LivenessProbe), tolerated(c.StartupProbe))
			}
		})
	}
}

// TestAttached tests that the check fails only for a daemon without a connection to a queue that accepts connections.
func TestAttached(t *testing.T) {
	queue, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := int32(queue.Addr().(*net.TCPAddr).Port)
	defer func() { _ = queue.Close() }()
	query := func(t *testing.T) error {
		t.Helper()
		c := corev1.Container{}
		Liveness(&c, Attached("127.0.0.1", port))
		if diff := cmp.Diff(c.StartupProbe.Exec, c.LivenessProbe.Exec); diff != "" || c.ReadinessProbe != nil {
			t.Errorf("the startup probe differs (-startup +liveness):\n%s", diff)
		}
		command := c.LivenessProbe.Exec.Command
		return exec.Command(command[0], command[1:]...).Run()
	}
	if err := query(t); err == nil {
		t.Error("a daemon without a connection is left alone, while the queue takes connections")
	}
	client, err := net.Dial("tcp", queue.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := query(t); err != nil {
		t.Errorf("a daemon that is connected is restarted: %v", err)
	}
	_ = client.Close()
	_ = queue.Close()
	if err := query(t); err != nil {
		t.Errorf("a daemon is restarted while the queue is unavailable: %v", err)
	}
}

// TestConnected tests that only an established connection to the port matches in the kernel's list.
func TestConnected(t *testing.T) {
	c := corev1.Container{}
	Readiness(&c, Connected(5671))
	if c.StartupProbe != nil || c.LivenessProbe != nil {
		t.Error("a container is restarted while a queue is unavailable")
	}
	command := c.ReadinessProbe.Exec.Command
	const other = "   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n"
	for name, tc := range map[string]struct {
		line string
		want bool
	}{
		"established": {"   0: 0500000A:A2C4 0A00000A:1627 01 00000000:00000000\n", true},
		"waiting":     {"   0: 0500000A:A2C4 0A00000A:1627 02 00000000:00000000\n", false},
		"from there":  {"   0: 0500000A:1627 0100000A:A2C4 01 00000000:00000000\n", false},
		"none":        {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "tcp")
			if err := os.WriteFile(file, []byte(other+tc.line), 0o600); err != nil {
				t.Fatal(err)
			}
			err := exec.Command(command[0], command[1], command[2], file).Run()
			if (err == nil) != tc.want {
				t.Errorf("%v: %v", command, err)
			}
		})
	}
}

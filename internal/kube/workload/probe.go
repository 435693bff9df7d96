package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Check is how the kubelet finds out whether a container works.
type Check struct {
	handler corev1.ProbeHandler
	timing  timing
}

// timing of the three probes.
type timing struct{ startup, readiness, liveness pace }

// pace is how often is asked, how long an answer may take (both in seconds), and after how many failures it counts.
type pace struct{ period, timeout, failures int32 }

// A start may be slow; after that a container that does not answer is restarted late, and gets no requests at once. What runs a command
// asks more seldom: each command is a process.
var (
	requests = timing{startup: pace{2, 5, 60}, readiness: pace{5, 5, 2}, liveness: pace{10, 5, 6}}
	commands = timing{startup: pace{10, 10, 30}, readiness: pace{30, 10, 2}, liveness: pace{60, 10, 3}}
	// connections cost no more to look at than requests.
	connections = timing{startup: pace{5, 5, 60}, readiness: pace{10, 5, 3}, liveness: pace{10, 5, 6}}
)

// HTTPS asks a path at a named port. The certificate is not verified.
func HTTPS(port, path string) Check { return get(corev1.URISchemeHTTPS, port, path) }

// HTTP asks a path at a named port without TLS.
func HTTP(port, path string) Check { return get(corev1.URISchemeHTTP, port, path) }

func get(scheme corev1.URIScheme, port, path string) Check {
	return Check{timing: requests, handler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Path: path, Port: intstr.FromString(port), Scheme: scheme,
	}}}
}

// TCP opens a connection to a named port. It says less than any other check: a process that hangs accepts connections, too.
func TCP(port string) Check {
	return Check{timing: requests, handler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(port)}}}
}

// Exec runs a command in the container, which works if the command ends with 0. It is no shell: variables are not replaced.
func Exec(command ...string) Check {
	return Check{timing: commands, handler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}}}
}

// Connected looks for a connection to a port of another host, such as that of a message queue: a daemon that answers nobody itself has one
// while it works. The kernel lists them with ports in hexadecimal digits, and 01 for one that is established
// (https://docs.kernel.org/networking/proc_net_tcp.html).
func Connected(port int32) Check {
	check := Exec("grep", "-q", fmt.Sprintf(":%04X 01 ", port), "/proc/net/tcp", "/proc/net/tcp6")
	check.timing = connections
	return check
}

// Readiness gives a container the one probe that may depend on others: nobody restarts what is not ready, and a roll-out waits for it. A
// process that ends is restarted anyway.
func Readiness(c *corev1.Container, check Check) {
	c.ReadinessProbe = check.probe(check.timing.readiness)
}

func (check Check) probe(p pace) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: check.handler, PeriodSeconds: p.period, TimeoutSeconds: p.timeout, FailureThreshold: p.failures,
	}
}

// Probe gives a container the three probes of a check. None may depend on the database or on another service: restarting a pod does not
// fix those.
func Probe(c *corev1.Container, check Check) {
	c.StartupProbe = check.probe(check.timing.startup)
	c.ReadinessProbe = check.probe(check.timing.readiness)
	c.LivenessProbe = check.probe(check.timing.liveness)
}

// Probes of an API container that serves https at a named port.
func Probes(c *corev1.Container, port, path string) { Probe(c, HTTPS(port, path)) }

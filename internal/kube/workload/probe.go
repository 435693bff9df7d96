package workload

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Check is a probe of a container, with its timing.
type Check struct {
	handler corev1.ProbeHandler
	timing  timing
}

// timing contains the paces of the three probes.
type timing struct{ startup, readiness, liveness pace }

// pace is the period and timeout of a probe (both in seconds), and its failure threshold.
type pace struct{ period, timeout, failures int32 }

// A start may be slow; after that, a container that does not respond gets no requests at once, and is restarted late. Commands
// run less often, because each is a process.
var (
	requests = timing{startup: pace{2, 5, 60}, readiness: pace{5, 5, 2}, liveness: pace{10, 5, 6}}
	commands = timing{startup: pace{10, 10, 30}, readiness: pace{30, 10, 2}, liveness: pace{60, 10, 3}}
	// Reading connections is as cheap as a request.
	lightCommands = timing{startup: pace{5, 5, 60}, readiness: pace{10, 5, 3}, liveness: pace{10, 5, 6}}
	// A client without its queue retries with increasing delays, up to half a minute.
	attached = timing{startup: pace{10, 10, 60}, readiness: pace{30, 10, 2}, liveness: pace{60, 10, 5}}
)

// HTTPS returns a check of a path at a named port. The certificate is not verified.
func HTTPS(port, path string) Check { return get(corev1.URISchemeHTTPS, port, path) }

// HTTP returns a check of a path at a named port without TLS.
func HTTP(port, path string) Check { return get(corev1.URISchemeHTTP, port, path) }

func get(scheme corev1.URIScheme, port, path string) Check {
	return Check{timing: requests, handler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Path: path, Port: intstr.FromString(port), Scheme: scheme,
	}}}
}

// At returns a check by HTTP with a Host header, for servers that accept only that name: the kubelet sends the pod's address.
func (check Check) At(host string) Check {
	get := *check.handler.HTTPGet
	get.HTTPHeaders = []corev1.HTTPHeader{{Name: "Host", Value: host}}
	check.handler.HTTPGet = &get
	return check
}

// TCP returns a check that opens a connection to a named port. It is the weakest check: a process that hangs also accepts connections.
func TCP(port string) Check {
	return Check{timing: requests, handler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(port)}}}
}

// Exec returns a check that runs a command in the container and succeeds if it exits with 0. Without a shell, variables are not replaced.
func Exec(command ...string) Check {
	return Check{timing: commands, handler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}}}
}

// Connected returns a check for a connection to a port of another host, such as a message queue: a daemon without an API has one while it
// works. The kernel lists connections with ports in hexadecimal digits, and 01 for an established one
// (https://docs.kernel.org/networking/proc_net_tcp.html).
func Connected(port int32) Check {
	return LightExec(append([]string{"grep", "-q", connected(port)}, connections...)...)
}

// LightExec returns a check like Exec for a cheap command, which runs more often.
func LightExec(command ...string) Check {
	check := Exec(command...)
	check.timing = lightCommands
	return check
}

// connections lists the kernel's files with connections; connected returns the pattern of a connection to a port.
var connections = []string{"/proc/net/tcp", "/proc/net/tcp6"}

func connected(port int32) string { return fmt.Sprintf(":%04X 01 ", port) }

// Attached returns a check of a daemon's connection to its message queue. It fails only if the queue accepts connections and the daemon has
// none, because a thread has ended that should reconnect, or because the pod still has an old password: a new process fixes both. It
// succeeds while the queue itself is unavailable, because a restart would not help.
func Attached(host string, port int32) Check {
	check := Exec("bash", "-c", fmt.Sprintf("grep -q '%s' %s || ! timeout 5 bash -c '</dev/tcp/%s/%d'",
		connected(port), strings.Join(connections, " "), host, port))
	check.timing = attached
	return check
}

// Readiness sets the one probe that may depend on other services: a container that is not ready is not restarted, and a rollout waits for
// it. A process that exits is restarted anyway.
func Readiness(c *corev1.Container, check Check) {
	c.ReadinessProbe = check.probe(check.timing.readiness)
}

// Liveness sets the startup and liveness probes, after whose failure a container is restarted.
func Liveness(c *corev1.Container, check Check) {
	c.StartupProbe = check.probe(check.timing.startup)
	c.LivenessProbe = check.probe(check.timing.liveness)
}

func (check Check) probe(p pace) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: *check.handler.DeepCopy(), PeriodSeconds: p.period, TimeoutSeconds: p.timeout, FailureThreshold: p.failures,
	}
}

// Probe sets all three probes of a container. They must not depend on the database or on another service, because a restart does
// not fix those.
func Probe(c *corev1.Container, check Check) {
	Readiness(c, check)
	Liveness(c, check)
}

// ServerProbes sets the three probes of a server. The startup probe is a request to the application: the pod is not in its Service yet.
// Later probes use a health endpoint that occupies no request slot, so that a busy server is not removed from its Service or restarted.
// Probes of the socket for requests would cause that, even if they only connect: closed connections fill the queue of a busy server.
func ServerProbes(c *corev1.Container, start, live, ready Check) {
	Readiness(c, ready)
	Liveness(c, live)
	c.StartupProbe = start.probe(start.timing.startup)
}

// Health adds the health endpoint to a uWSGI container, and probes that use it. start is a request to the application.
func Health(c *corev1.Container, start Check) {
	c.Ports = append(c.Ports, corev1.ContainerPort{Name: HealthPortName, ContainerPort: HealthPort})
	ServerProbes(c, start, HTTP(HealthPortName, LivePath), HTTP(HealthPortName, ReadyPath))
}

// Probes sets the probes of an API container that serves https at a named port.
func Probes(c *corev1.Container, port, path string) { Probe(c, HTTPS(port, path)) }

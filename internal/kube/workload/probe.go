package workload

import (
	"fmt"
	"strings"

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
	// Connections cost no more to look at than requests.
	looks = timing{startup: pace{5, 5, 60}, readiness: pace{10, 5, 3}, liveness: pace{10, 5, 6}}
	// A client that lost its queue waits for longer and longer before it tries again, up to half a minute.
	attached = timing{startup: pace{10, 10, 60}, readiness: pace{30, 10, 2}, liveness: pace{60, 10, 5}}
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

// At is a check by HTTP that names a host, for what answers to no other name: the kubelet names a pod's address.
func (check Check) At(host string) Check {
	get := *check.handler.HTTPGet
	get.HTTPHeaders = []corev1.HTTPHeader{{Name: "Host", Value: host}}
	check.handler.HTTPGet = &get
	return check
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
	return LightExec(append([]string{"grep", "-q", connected(port)}, connections...)...)
}

// LightExec is Exec of what costs as little as that, and is done as often.
func LightExec(command ...string) Check {
	check := Exec(command...)
	check.timing = looks
	return check
}

// connections are where the kernel lists them, and connected is what the line of one to a port has.
var connections = []string{"/proc/net/tcp", "/proc/net/tcp6"}

func connected(port int32) string { return fmt.Sprintf(":%04X 01 ", port) }

// Attached finds a daemon to work that is connected to its message queue, and one that could not be: it fails only while the queue takes
// connections and the daemon has none. The first is so when a thread is gone that would connect again, or when the pod still has a password
// of before; a new process helps then. While the queue itself is away, it would not.
func Attached(host string, port int32) Check {
	check := Exec("bash", "-c", fmt.Sprintf("grep -q '%s' %s || ! timeout 5 bash -c '</dev/tcp/%s/%d'",
		connected(port), strings.Join(connections, " "), host, port))
	check.timing = attached
	return check
}

// Readiness gives a container the one probe that may depend on others: nobody restarts what is not ready, and a roll-out waits for it. A
// process that ends is restarted anyway.
func Readiness(c *corev1.Container, check Check) {
	c.ReadinessProbe = check.probe(check.timing.readiness)
}

// Liveness gives a container the two probes after which it is restarted: it has to work once after its start, and from then on.
func Liveness(c *corev1.Container, check Check) {
	c.StartupProbe = check.probe(check.timing.startup)
	c.LivenessProbe = check.probe(check.timing.liveness)
}

func (check Check) probe(p pace) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: *check.handler.DeepCopy(), PeriodSeconds: p.period, TimeoutSeconds: p.timeout, FailureThreshold: p.failures,
	}
}

// Probe gives a container the three probes of a check. None may depend on the database or on another service: restarting a pod does not
// fix those.
func Probe(c *corev1.Container, check Check) {
	Readiness(c, check)
	Liveness(c, check)
}

// ServerProbes gives a container with a server of requests its three probes. The start proves that the application answers, by a request:
// the pod is not in its Service yet. Afterwards probes ask a health endpoint that needs no slot of a request, so that a busy server is
// neither taken out of its Service nor restarted. A probe of the requests' own socket would be, also one that only connects: closed
// connections fill the queue of a busy server.
func ServerProbes(c *corev1.Container, start, live, ready Check) {
	Readiness(c, ready)
	Liveness(c, live)
	c.StartupProbe = start.probe(start.timing.startup)
}

// Health gives a container of uWSGI its health endpoint, and probes that use it. The start is proved by a request.
func Health(c *corev1.Container, start Check) {
	c.Ports = append(c.Ports, corev1.ContainerPort{Name: HealthPortName, ContainerPort: HealthPort})
	ServerProbes(c, start, HTTP(HealthPortName, LivePath), HTTP(HealthPortName, ReadyPath))
}

// Probes of an API container that serves https at a named port.
func Probes(c *corev1.Container, port, path string) { Probe(c, HTTPS(port, path)) }

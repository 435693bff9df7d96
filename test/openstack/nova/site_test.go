//go:build openstack && linux

package nova

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	realclock "k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/c5c3/crossplane-cobaltcore/companion/hypervisorrecovery"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cluster"
)

const (
	// systems is the path of the computer systems of a Redfish service.
	systems = "/redfish/v1/Systems/"
	// agentDownTime is the time after which Neutron reports an agent as dead (agent_down_time), and nodeGracePeriod the one after which the
	// node controller sets a Node without reports to Unknown.
	agentDownTime, nodeGracePeriod = 75 * time.Second, 50 * time.Second
)

// site is everything of the nodes that is not Nova: their power with its management controllers, their networks, kubelets and agents of
// Neutron.
type site struct {
	cluster    *cluster.Cluster
	controller *httptest.Server
	nodes      []*hypervisorNode
	// domains is the folder with the definitions of guests.
	domains string

	mu sync.Mutex
	// powerOffs are the names of nodes in the order in which they were powered off.
	powerOffs []string
}

// hypervisorNode is a node of a site.
type hypervisorNode struct {
	name, probe, uuid string

	mu   *sync.Mutex
	isOn bool
	boot int
	// failedSince and agentSince are the times since which nothing of the node, or only its agent of Neutron, reports; zero: it reports.
	failedSince, agentSince time.Time
}

// set changes a node.
func (n *hypervisorNode) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// fail ends the reports of a node, and its responses to probes. Its power stays on.
func (n *hypervisorNode) fail() {
	n.set(func() { n.failedSince, n.agentSince = time.Now(), time.Now() })
}

// newSite starts the management controllers.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	s.controller = httptest.NewTLSServer(http.HandlerFunc(s.serveRedfish))
	t.Cleanup(s.controller.Close)
	return s
}

// add adds a node.
func (s *site) add(number int, name string) *hypervisorNode {
	n := &hypervisorNode{
		name: name, probe: fmt.Sprintf("198.51.100.%d:22", number+1), uuid: fmt.Sprintf("c0ba17c0-0000-4000-8000-%012d", number+1), mu: &s.mu,
		isOn: true, boot: 1,
	}
	n.set(func() { s.nodes = append(s.nodes, n) })
	return n
}

// secret returns the Secret with the login of the management controllers.
func (s *site) secret(name, namespace string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: "openstack.c5c3.io/redfish",
		Data: map[string][]byte{
			"host": []byte(strings.TrimPrefix(s.controller.URL, "https://")), "username": []byte("operator"), "password": []byte("redfish-password"),
			"ca.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.controller.Certificate().Raw}),
		},
	}
}

// serveRedfish serves the systems. ForceOff ends the processes of a node before its power is off.
func (s *site) serveRedfish(w http.ResponseWriter, r *http.Request) {
	name, action, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, systems), "/")
	i := slices.IndexFunc(s.nodes, func(n *hypervisorNode) bool { return n.name == name })
	user, password, _ := r.BasicAuth()
	switch {
	case i < 0:
		http.NotFound(w, r)
		return
	case user != "operator" || password != "redfish-password":
		http.Error(w, "", http.StatusUnauthorized)
		return
	}
	n := s.nodes[i]
	var reset struct {
		ResetType string `json:"ResetType"`
	}
	switch {
	case r.Method == http.MethodGet && action == "":
		power := "Off"
		n.set(func() {
			if n.isOn {
				power = "On"
			}
		})
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"UUID": %q, "PowerState": %q, "Actions": {"#ComputerSystem.Reset": {"target": %q}}}`, n.uuid, power,
			systems+name+"/Actions/ComputerSystem.Reset")
	case r.Method == http.MethodPost && action == "Actions/ComputerSystem.Reset" &&
		json.NewDecoder(r.Body).Decode(&reset) == nil && reset.ResetType == "ForceOff":
		if err := s.cluster.PowerOff(name); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		n.set(func() {
			n.isOn = false
			if n.failedSince.IsZero() {
				n.failedSince, n.agentSince = time.Now(), time.Now()
			}
			s.powerOffs = append(s.powerOffs, name)
		})
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, "", http.StatusBadRequest)
	}
}

// resets returns the names of the nodes that were powered off.
func (s *site) resets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.powerOffs)
}

// powerOn starts a node again.
func (s *site) powerOn(n *hypervisorNode) {
	s.cluster.PowerOn(n.name)
	n.set(func() { n.isOn, n.failedSince, n.agentSince, n.boot = true, time.Time{}, time.Time{}, n.boot+1 })
}

// listAgents returns the agents of Neutron, as they report.
func (s *site) listAgents() (out []agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		out = append(out, agent{
			ID: n.uuid, Type: "OVN Controller agent", Host: n.name, Alive: n.agentSince.IsZero() || time.Since(n.agentSince) < agentDownTime,
		})
	}
	return out
}

// report writes the Nodes as their kubelets and the node controller do.
func (s *site) report(ctx context.Context) error {
	for i, n := range s.nodes {
		object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}}
		if _, err := controllerutil.CreateOrUpdate(ctx, s.cluster.Client, object, func() error { return nil }); err != nil {
			return err
		}
		ready := corev1.ConditionTrue
		n.set(func() {
			if !n.failedSince.IsZero() && time.Since(n.failedSince) > nodeGracePeriod {
				ready = corev1.ConditionUnknown
			}
			if n.failedSince.IsZero() {
				object.Status.NodeInfo.BootID = n.name + "-" + strconv.Itoa(n.boot)
			}
		})
		object.Status.NodeInfo.SystemUUID = n.uuid
		object.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.0.2.%d", i+1)}}
		object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		if err := s.cluster.Client.Status().Update(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// dial connects to the probe of a node, which is silent after a failure.
func (s *site) dial(ctx context.Context, _, address string) (net.Conn, error) {
	i := slices.IndexFunc(s.nodes, func(n *hypervisorNode) bool { return n.probe == address })
	if i < 0 {
		return nil, fmt.Errorf("no node has the probe %s", address)
	}
	silent := false
	s.nodes[i].set(func() { silent = !s.nodes[i].failedSince.IsZero() })
	if !silent {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	<-ctx.Done()
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
}

// hang suspends nova-compute on a node: its processes exist, and do nothing.
func (s *site) hang(t *testing.T, n *hypervisorNode) { s.signal(t, n, syscall.SIGSTOP) }

// resume ends that.
func (s *site) resume(t *testing.T, n *hypervisorNode) { s.signal(t, n, syscall.SIGCONT) }

// signal sends a signal to nova-compute on a node. Its environment has the name of the host.
func (s *site) signal(t *testing.T, n *hypervisorNode, signal syscall.Signal) {
	t.Helper()
	processes, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, p := range processes {
		id, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		environment, err := os.ReadFile(path.Join("/proc", p.Name(), "environ"))
		if err == nil && slices.Contains(strings.Split(string(environment), "\x00"), "OS_DEFAULT__HOST="+n.name) {
			count++
			if err := syscall.Kill(id, signal); err != nil {
				t.Fatal(err)
			}
		}
	}
	if count == 0 {
		t.Fatalf("no process of nova-compute on %s", n.name)
	}
}

// newReconciler returns the reconciler of a companion that has just started.
func (f *recovery) newReconciler() *hypervisorrecovery.Reconciler {
	r := &hypervisorrecovery.Reconciler{}
	api := f.cluster.Client
	r.Client, r.Reader, r.Dial, r.Events, r.Clock, r.Random = api, api, f.dial, ignored{}, realclock.RealClock{}, rand.Reader
	r.Started = time.Now()
	r.Transport = func(ca []byte) (http.RoundTripper, error) {
		base, err := trusting(ca, f.cluster.Dial)
		return f.nova.over(base), err
	}
	r.Public = func(ca []byte) (http.RoundTripper, error) { return trusting(ca, (&net.Dialer{}).DialContext) }
	return r
}

// trusting returns a transport with a CA.
func trusting(ca []byte, dial func(context.Context, string, string) (net.Conn, error)) (http.RoundTripper, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("no certificate of an authority")
	}
	return &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DialContext: dial, DisableKeepAlives: true,
	}, nil
}

// ignored ignores Events.
type ignored struct{}

func (ignored) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// requests counts the companion's requests to evacuate servers.
type requests struct {
	mu    sync.Mutex
	count map[string]int
	drop  bool
}

// evacuations returns the number of requests, by server.
func (r *requests) evacuations() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.count)
}

// dropResponses determines whether responses to these requests are lost.
func (r *requests) dropResponses(drop bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop = drop
}

// over returns a transport that counts.
func (r *requests) over(base http.RoundTripper) http.RoundTripper {
	return transport(func(request *http.Request) (*http.Response, error) {
		server, isAction := serverOf(request.URL)
		if !isAction || request.Body == nil {
			return base.RoundTrip(request)
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		if !bytes.Contains(body, []byte(`"evacuate"`)) {
			return base.RoundTrip(request)
		}
		response, err := base.RoundTrip(request)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.count[server]++
		if err == nil && r.drop {
			_ = response.Body.Close() // It is lost.
			return nil, io.ErrUnexpectedEOF
		}
		return response, err
	})
}

// serverOf returns the server of a request for an operation.
func serverOf(u *url.URL) (id string, isAction bool) {
	folder, name := path.Split(u.Path)
	return path.Base(folder), name == "action"
}

// transport is a function that sends requests.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

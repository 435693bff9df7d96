package hypervisorrecovery

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute/computetest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
)

const (
	namespace = "team-a-prod-12345"
	pool      = "team-a-pool-54321"
	password  = "correct-horse-battery" // Must never be revealed.
)

var scheme = faultinjection.NewScheme(corev1.AddToScheme, openstackv1.AddToScheme)

// machine is a node with its hardware. A machine that hangs does not respond, but its domains run.
type machine struct {
	name                      string
	powered, hangs            bool
	management, data, control bool
	// unlisted is set if its Node has no condition Ready.
	unlisted bool
	// deleted is set if it has no Node.
	deleted bool
	// mistaken is set if its controller executes no request, and reports Off while another witness shows that the machine runs.
	mistaken bool
	// lying is set if its controller always reports Off, and lied after it has reported it while the machine has power. No witness shows it
	// while the machine is silent.
	lying, lied bool
	// turningOff is the number of ticks until the power is off; 0 if it was not requested.
	turningOff int
	boot       int
	// wasFenced is set if a request has switched it off, and not a fault.
	wasFenced bool
	// booted is set until nova-compute has started after a boot.
	booted bool
	// syncing is the number of ticks until nova-compute compares its servers with the hypervisor after a start; 0 if it has.
	syncing int
	// reported and renewed are the times of the last report to Nova and of the last renewal of the Lease.
	reported, renewed time.Time
	// domains are the servers whose QEMU runs here, and uuid the identity that the controller reports.
	domains map[string]bool
	uuid    string
	// probe is the address in the network of the data.
	probe string
}

// unusedAddress is an address that no machine has, in the network of the data.
const unusedAddress = "198.51.100.250:22"

func uuidOf(name string) string {
	_, number, _ := strings.Cut(name, "-")
	return "00000000-0000-0000-0000-000000000000"[:36-len(number)] + number
}

// runs reports whether the operating system responds to a network.
func (m *machine) runs(network bool) bool { return m.powered && !m.hangs && network }

// simulation is a pool of nodes with management controllers, networks, storage, Nova and an API server.
type simulation struct {
	t        testing.TB
	api      client.WithWatch
	nova     *computetest.Nova
	clock    *clocktesting.FakePassiveClock
	events   *events.FakeRecorder
	machines []*machine
	// lap is the duration of a tick.
	lap time.Duration
	// isolated is set if no probe reaches a machine, and swapped if the controllers of the first two machines are mistaken for each other.
	isolated, swapped bool
	// fenced are the machines that were switched off by a request.
	fenced []string
	// synced are the servers that nova-compute has set to SHUTOFF after a boot of a machine that no request has switched off.
	synced map[string]bool
	// errors are violations of the rules.
	errors []string
	// extra is called before each request of the controller.
	extra func(*http.Request) error
	// mutex is held by a request of the controller.
	mutex sync.Mutex
	// checkEnded is set if the ServiceCheck is not observed anymore.
	checkEnded bool
	// computesDown is set if no nova-compute and no agent reports, although the machines run.
	computesDown bool
	// dials is the number of probes.
	dials int
}

// domain is a server of a test with its properties.
type domain struct {
	compute.Server
	computetest.Details
}

func runs(id string) domain {
	return domain{compute.Server{ID: id, Name: "name of " + id, Status: "ACTIVE"}, computetest.Details{BootsFromVolume: true}}
}

func (g domain) in(status string) domain {
	g.Status = status
	return g
}

func (g domain) wants(key, value string) domain {
	g.Metadata = map[string]string{key: value}
	return g
}

func (g domain) local() domain {
	g.BootsFromVolume = false
	return g
}

// newSimulation returns a pool of healthy nodes. The first one has the domains.
func newSimulation(t testing.TB, count int, domains ...domain) *simulation {
	t.Helper()
	check := &openstackv1.ServiceCheck{
		ObjectMeta: metav1.ObjectMeta{Name: pool, Namespace: namespace}, Spec: openstackv1.ServiceCheckSpec{Service: "compute"},
	}
	check.Spec.CloudCredentialsRef.SecretName, check.Spec.CloudCredentialsRef.CloudName = "clouds", "admin"
	recovery := &openstackv1.HypervisorRecovery{
		ObjectMeta: metav1.ObjectMeta{Name: pool, Namespace: namespace, Generation: 1},
		Spec: openstackv1.HypervisorRecoverySpec{
			Mode: openstackv1.RecoveryRecover, DelaySeconds: 30, MaxFailedPercent: 34, ParallelServers: 8, ServerMetadata: openstackv1.HonorMetadata,
			ImageDisks: openstackv1.ImageDisksLocal, LocalDisks: openstackv1.KeepLocalDisks,
		},
	}
	w := &simulation{
		t: t, nova: computetest.New(identitytest.New(map[string]string{"admin": password})),
		clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)), events: events.NewFakeRecorder(100000), lap: 10 * time.Second, synced: map[string]bool{},
	}
	objects := []client.Object{check, recovery, identitytest.Clouds(namespace, "clouds", password)}
	hosts := []string{}
	var hypervisors []computetest.Hypervisor
	var services []compute.Service
	for i := range count {
		name := fmt.Sprintf("node-%d", i+1)
		m := &machine{name: name, powered: true, management: true, data: true, control: true, domains: map[string]bool{}, uuid: uuidOf(name)}
		m.probe = fmt.Sprintf("198.51.100.%d:22", i+1)
		recovery.Status.VerifiedNodes = append(recovery.Status.VerifiedNodes, openstackv1.VerifiedNode{NodeName: name, Probe: m.probe})
		w.machines = append(w.machines, m)
		hosts = append(hosts, "bmc-"+name)
		check.Status.Nodes = append(check.Status.Nodes, openstackv1.NodeRecord{Name: name})
		recovery.Spec.Nodes = append(recovery.Spec.Nodes, openstackv1.RecoveryNode{
			Name: common.ObjectName(name), Probes: []openstackv1.ProbeAddress{openstackv1.ProbeAddress(m.probe)},
			Redfish: openstackv1.RedfishSystem{URL: "https://bmc-" + name + "/redfish/v1/Systems/1", SecretName: "bmc"},
		})
		h := computetest.Hypervisor{Host: name, Provider: "rp-of-" + name, Details: map[string]computetest.Details{}}
		for _, g := range domains {
			h.Details[g.ID] = g.Details
			if i == 0 {
				h.Servers = append(h.Servers, g.Server)
				m.domains[g.ID] = g.Status == "ACTIVE"
			}
		}
		hypervisors = append(hypervisors, h)
		services = append(services, compute.Service{ID: "id-of-" + name, Binary: compute.Compute, Host: name})
		objects = append(objects, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
				Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.0.2.%d", i+1)}},
				NodeInfo:   corev1.NodeSystemInfo{SystemUUID: uuidOf(name), BootID: "boot-0"},
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	objects = append(objects, login("bmc", secretType, hosts...))
	w.nova.Set(services...)
	w.nova.SetClock(w.clock.Now)
	w.nova.SetHypervisors(hypervisors...)
	w.api = faultinjection.NewServer(scheme, []client.Object{&openstackv1.HypervisorRecovery{}, &corev1.Node{}}, objects...)
	w.report()
	return w
}

// login returns a Secret with the login of management controllers.
func login(name string, kind corev1.SecretType, hosts ...string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Type: kind, Data: map[string][]byte{
		"host": []byte(strings.Join(hosts, "\n")), "username": []byte("root"), "password": []byte(password), "ca.crt": []byte("authority"),
	}}
}

func (w *simulation) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *simulation) machine(name string) *machine {
	for _, m := range w.machines {
		if m.name == name {
			return m
		}
	}
	return nil
}

// report updates the reports of all machines.
func (w *simulation) report() {
	now := w.clock.Now()
	w.observeCheck(now)
	services := w.nova.Services()
	var agents []compute.Agent
	for i, m := range w.machines {
		if m.runs(m.management) {
			m.reported, m.renewed = now, now
		}
		services[i].Up, services[i].ReportedAt = now.Sub(m.reported) <= time.Minute && !w.computesDown, m.reported
		agents = append(agents, compute.Agent{
			ID: m.name, Type: "OVN Controller agent", Host: m.name, Alive: now.Sub(m.reported) <= 75*time.Second && !w.computesDown,
		})
		if m.deleted {
			continue
		}
		node := &corev1.Node{}
		w.must(w.api.Get(context.Background(), client.ObjectKey{Name: m.name}, node))
		ready := map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionUnknown}[now.Sub(m.renewed) <= 40*time.Second]
		boot := node.Status.NodeInfo.BootID
		if m.runs(m.management) {
			boot = fmt.Sprintf("boot-%d", m.boot)
		}
		conditions := []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		if m.unlisted {
			conditions = nil
		}
		if !slices.Equal(node.Status.Conditions, conditions) || node.Status.NodeInfo.BootID != boot {
			node.Status.Conditions, node.Status.NodeInfo.BootID = conditions, boot
			w.must(w.api.Status().Update(context.Background(), node))
		}
	}
	w.nova.Set(services...)
	w.nova.SetAgents(agents...)
}

// observeCheck renews the time of the ServiceCheck, if it exists.
func (w *simulation) observeCheck(now time.Time) {
	check := &openstackv1.ServiceCheck{}
	if w.checkEnded || w.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: pool}, check) != nil {
		return
	}
	if last := check.Status.LastObservationTime; last == nil || now.Sub(last.Time) >= freshness.GuardWriteInterval {
		check.Status.LastObservationTime = &metav1.Time{Time: now}
		w.must(w.api.Update(context.Background(), check))
	}
}

// advance lets the time of a tick pass.
func (w *simulation) advance() {
	w.clock.SetTime(w.clock.Now().Add(w.lap))
	for _, m := range w.machines {
		if m.turningOff > 0 {
			if m.turningOff--; m.turningOff == 0 {
				w.switchOff(m)
				m.wasFenced = true
			}
		}
		if m.booted && m.runs(m.management) {
			w.startCompute(m)
		}
		if m.syncing > 0 && m.runs(m.management) {
			if m.syncing--; m.syncing == 0 {
				w.syncPowerStates(m)
			}
		}
	}
	w.endEvacuations()
	w.report()
	w.check()
}

// switchOff ends everything on a machine.
func (*simulation) switchOff(m *machine) {
	m.powered, m.hangs, m.turningOff, m.booted, m.domains, m.lied = false, false, 0, false, map[string]bool{}, false
	m.wasFenced = false
}

// switchOn starts a machine.
func (w *simulation) switchOn(m *machine) {
	if !m.powered {
		m.powered, m.booted = true, true
		m.boot++
	}
}

// startCompute starts nova-compute after a boot: it deletes evacuated domains, and starts no others (resume_guests_state_on_host_boot).
func (w *simulation) startCompute(m *machine) {
	m.booted, m.syncing = false, 30
	w.nova.CleanUp(m.name)
}

// syncPowerStates sets servers that do not run to SHUTOFF (_sync_power_states of nova/compute/manager.py).
func (w *simulation) syncPowerStates(m *machine) {
	all := w.nova.Hypervisors()
	for i := range all {
		all[i].Servers = slices.Clone(all[i].Servers)
		for j := range all[i].Servers {
			if s := &all[i].Servers[j]; all[i].Host == m.name && s.Status == "ACTIVE" && s.Task == "" && !m.domains[s.ID] {
				s.Status = "SHUTOFF"
				w.synced[s.ID] = !m.wasFenced
			}
		}
	}
	w.nova.SetHypervisors(all...)
}

// endEvacuations ends the evacuations in progress. Nova's scheduler selects a host that is up.
func (w *simulation) endEvacuations() {
	target := ""
	sources := map[string]bool{}
	for _, h := range w.nova.Hypervisors() {
		for _, s := range h.Servers {
			if s.Task == "rebuilding" {
				sources[h.Host] = true
			}
		}
	}
	for _, s := range w.nova.Services() {
		if s.Up && !s.ForcedDown && !sources[s.Host] && w.machine(s.Host).powered {
			target = s.Host
		}
	}
	w.nova.End(target, w.clock.Now().UTC().Format("2006-01-02T15:04:05.000000"))
	for _, h := range w.nova.Hypervisors() {
		for _, s := range h.Servers {
			if s.Status == "SHUTOFF" {
				delete(w.machine(h.Host).domains, s.ID)
			}
		}
	}
	for _, s := range w.nova.TakeStarts() { // A stopped server runs for a moment.
		w.machine(s.Host).domains[s.Server] = true
	}
}

// hostOf returns the host of a server in Nova.
func (w *simulation) hostOf(server string) string {
	for _, h := range w.nova.Hypervisors() {
		for _, s := range h.Servers {
			if s.ID == server {
				return h.Host
			}
		}
	}
	return ""
}

func (w *simulation) violatedf(format string, arguments ...any) {
	if text := fmt.Sprintf(format, arguments...); !slices.Contains(w.errors, text) {
		w.errors = append(w.errors, text)
	}
}

// check verifies that no server runs twice: all machines have access to the storage.
func (w *simulation) check() {
	running := map[string][]string{}
	for _, m := range w.machines {
		for id, is := range m.domains {
			if is && m.powered && !m.lied { // Nothing proves the power then.
				running[id] = append(running[id], m.name)
			}
		}
	}
	for id, on := range running {
		if len(on) > 1 {
			w.violatedf("server %s runs on %v", id, on)
		}
	}
}

// checkFence verifies a request to switch a machine off, by the state of the simulation.
func (w *simulation) checkFence(m *machine) {
	w.fenced = append(w.fenced, m.name)
	now := w.clock.Now()
	if w.recovery().Spec.Mode != openstackv1.RecoveryRecover {
		w.violatedf("%s is switched off by a dry run", m.name)
	}
	openStack, kubelet, network := now.Sub(m.reported) > time.Minute, now.Sub(m.renewed) > 40*time.Second, !m.runs(m.data)
	if !network || !openStack && !kubelet {
		w.violatedf("%s is switched off: OpenStack unreachable %v, kubelet unreachable %v, network unreachable %v", m.name, openStack, kubelet, network)
	}
	unreachable, total := 0, 0
	for _, other := range w.machines {
		if w.isPlanned(other.name) {
			continue
		}
		total++
		if now.Sub(other.renewed) > 40*time.Second || now.Sub(other.reported) > time.Minute {
			unreachable++
		}
	}
	if unreachable*100 > int(w.recovery().Spec.MaxFailedPercent)*total {
		w.violatedf("%s is switched off while %d of %d nodes are unreachable", m.name, unreachable, total)
	}
}

// RoundTrip serves requests of the controller.
func (w *simulation) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.extra != nil {
		if err := w.extra(r); err != nil {
			return nil, err
		}
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if name, ok := strings.CutPrefix(r.URL.Host, "bmc-"); ok {
		if other := map[string]string{"node-1": "node-2", "node-2": "node-1"}[name]; w.swapped && other != "" {
			name = other
		}
		return w.serveController(w.machine(name), r)
	}
	if r.Body != nil && (strings.HasSuffix(r.URL.Path, "/action") || strings.HasSuffix(r.URL.Path, "/force-down")) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		w.checkRequest(r.URL.Path, body)
	}
	return w.nova.RoundTrip(r)
}

// checkRequest verifies that servers are evacuated, and nodes declared failed, only while their power is off.
func (w *simulation) checkRequest(path string, body []byte) {
	var request struct {
		Evacuate *struct{} `json:"evacuate"`
		Host     string    `json:"host"`
		Forced   bool      `json:"forced_down"`
	}
	w.must(json.Unmarshal(body, &request))
	host := request.Host
	if request.Evacuate != nil {
		parts := strings.Split(path, "/")
		id := parts[len(parts)-2]
		host = w.hostOf(id)
		for _, h := range w.nova.Hypervisors() {
			if d, ok := h.Details[id]; ok && h.Host == host && !d.BootsFromVolume && d.Metadata[consentKey] != consent {
				w.violatedf("server %s with a local disk is evacuated", id)
			}
		}
	} else if !request.Forced {
		return
	}
	if host != "" && w.machine(host).powered && !w.machine(host).lied && (request.Forced || w.isDown(host)) {
		w.violatedf("%s is declared failed or evacuated, and its power is on", host)
	}
}

// isDown reports whether Nova regards a host as down. It rejects evacuations from others.
func (w *simulation) isDown(host string) bool {
	return slices.ContainsFunc(w.nova.Services(), func(s compute.Service) bool { return s.Host == host && (!s.Up || s.ForcedDown) })
}

// serveController serves a Redfish service.
func (w *simulation) serveController(m *machine, r *http.Request) (*http.Response, error) {
	if !m.control {
		return nil, context.DeadlineExceeded
	}
	return identitytest.Answer(r, func(out http.ResponseWriter, r *http.Request) {
		user, pass, _ := r.BasicAuth()
		switch {
		case user != "root" || pass != password:
			out.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodPost && r.URL.Path == "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset":
			w.checkFence(m)
			if m.powered && m.turningOff == 0 && !m.mistaken {
				m.turningOff = 2
			}
			out.WriteHeader(http.StatusNoContent)
		case r.Method == http.MethodGet && r.URL.Path == "/redfish/v1/Systems/1":
			power := map[bool]string{true: "On", false: "Off"}[m.powered]
			if m.turningOff > 0 {
				power = "PoweringOff"
			}
			if m.mistaken && w.isResponding(m) || m.lying {
				power = "Off"
				m.lied = m.lied || m.lying && m.powered
			}
			identitytest.Write(out, http.StatusOK, map[string]any{"UUID": m.uuid, "PowerState": power})
		default:
			out.WriteHeader(http.StatusNotFound)
		}
	})
}

// isResponding reports whether the kubelet or the probes show in this tick that a machine runs.
func (w *simulation) isResponding(m *machine) bool {
	return m.runs(m.data) && !w.isolated || m.runs(m.management) && m.renewed.Equal(w.clock.Now()) && !m.unlisted
}

// dial connects to the network of the data of a machine.
func (w *simulation) dial(_ context.Context, _, address string) (net.Conn, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.dials++
	at := slices.IndexFunc(w.machines, func(m *machine) bool { return m.probe == address })
	if w.isolated || at < 0 || !w.machines[at].runs(w.machines[at].data) {
		return nil, &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}
	}
	own, other := net.Pipe()
	_ = other.Close()
	return own, nil
}

func (w *simulation) reconciler(api client.Client, way http.RoundTripper) *Reconciler {
	transport := func([]byte) (http.RoundTripper, error) { return way, nil }
	return &Reconciler{Env: controller.Env{
		Client: api, Reader: api, Events: w.events, Clock: w.clock, Transport: transport, Public: transport, Dial: w.dial,
	}}
}

func (w *simulation) sound() *Reconciler { return w.reconciler(w.api, w) }

func pass(r *Reconciler) (reconcile.Result, error) {
	return r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: pool}})
}

// play makes a pass in each of the given number of ticks.
func (w *simulation) play(r *Reconciler, ticks int) {
	w.t.Helper()
	for range ticks {
		_, err := pass(r)
		w.must(err)
		w.advance()
	}
	if len(w.errors) > 0 {
		w.t.Errorf("violated rules: %s", strings.Join(w.errors, "; "))
	}
}

func (w *simulation) recovery() *openstackv1.HypervisorRecovery {
	o := &openstackv1.HypervisorRecovery{}
	w.must(w.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: pool}, o))
	return o
}

func (w *simulation) edit(change func(*openstackv1.HypervisorRecoverySpec)) {
	o := w.recovery()
	change(&o.Spec)
	o.Generation++
	w.must(w.api.Update(context.Background(), o))
}

// setProbe configures the probe of a machine.
func (w *simulation) setProbe(m *machine, address string) {
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) {
		for i := range s.Nodes {
			if string(s.Nodes[i].Name) == m.name {
				s.Nodes[i].Probes = []openstackv1.ProbeAddress{openstackv1.ProbeAddress(address)}
			}
		}
	})
}

// confirm records that an address of a machine has responded.
func (w *simulation) confirm(m *machine, address string) {
	o := w.recovery()
	for i := range o.Status.VerifiedNodes {
		if o.Status.VerifiedNodes[i].NodeName == m.name {
			o.Status.VerifiedNodes[i].Probe = address
		}
	}
	w.must(w.api.Status().Update(context.Background(), o))
}

// isPlanned reports whether the absence of a node is planned: its Node was cordoned before it failed.
func (w *simulation) isPlanned(name string) bool {
	n := &corev1.Node{}
	w.must(w.api.Get(context.Background(), client.ObjectKey{Name: name}, n))
	return n.Spec.Unschedulable && w.record(name) == nil
}

// cordon changes whether a Node is cordoned.
func (w *simulation) cordon(name string, is bool) {
	n := &corev1.Node{}
	w.must(w.api.Get(context.Background(), client.ObjectKey{Name: name}, n))
	n.Spec.Unschedulable = is
	w.must(w.api.Update(context.Background(), n))
}

// state returns the state of a node; "" if it is not being recovered.
func (w *simulation) state(name string) openstackv1.RecoveryState {
	if r := w.record(name); r != nil {
		return r.State
	}
	return ""
}

func (w *simulation) record(name string) *openstackv1.NodeRecovery {
	o := w.recovery()
	for i := range o.Status.Recoveries {
		if o.Status.Recoveries[i].NodeName == name {
			return &o.Status.Recoveries[i]
		}
	}
	return nil
}

// condition returns a condition as text.
func (w *simulation) condition(kind string) string {
	got := meta.FindStatusCondition(w.recovery().Status.Conditions, kind)
	if got == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", got.Status, got.Reason, got.Message)
}

// running returns the machines on which a server runs.
func (w *simulation) running(id string) (out []string) {
	for _, m := range w.machines {
		if m.powered && m.domains[id] && !m.lied {
			out = append(out, m.name)
		}
	}
	return out
}

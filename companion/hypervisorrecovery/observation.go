package hypervisorrecovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/fence"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
)

const (
	// passTimeout limits the reads of a pass. It is longer than two requests to Nova during which the database of a cell does not respond.
	passTimeout = 4 * time.Minute
	// deviceTimeout limits the reads of probes and management controllers of a pass: some of them may hang. It is longer than two requests to
	// a controller, because a pool can have more failed nodes than requests are sent at the same time.
	deviceTimeout = 2*fence.RequestTimeout + 15*time.Second
	// probeTimeout limits a connection.
	probeTimeout = 2 * time.Second
	// referenceCount is the maximum number of healthy nodes that are probed, to verify that probes reach any node.
	referenceCount = 3
	// addressLimit is the maximum number of recorded addresses of a Node.
	addressLimit = 16
	// noEntry is the reason for which a node without an entry in the spec cannot be powered off.
	noEntry = "spec.nodes has no entry for it"
	// automatic is the prefix of the reason with which nova-compute disables itself, for example without libvirt
	// (DISABLE_PREFIX of nova/virt/libvirt/driver.py). It is no planned absence.
	automatic = "AUTO: "
)

// observation is the state that was read in one pass.
type observation struct {
	recovery *openstackv1.HypervisorRecovery
	memory   *memory
	past     *past
	parallel int
	now      time.Time
	// limited is the remaining rate limit. unavailable is the reason for which the state of the pool is unknown.
	limited     time.Duration
	unavailable condition.State

	nova     *compute.API
	services []compute.Service
	nodes    []*node
	// failedServers are the recorded servers that still do not run on nodes that are not being recovered.
	failedServers []openstackv1.FailedServer
	// stoppedIDs are the IDs of those that are SHUTOFF.
	stoppedIDs map[string]bool
	// total and failedCount are the numbers of nodes that are not in maintenance. busy is the number of unfinished evacuations of the pool.
	total, failedCount, busy int
	// candidate is the name of the node that is verified next.
	candidate string
	// unreadable is the reason for which Nodes cannot be read.
	unreadable string
}

// node is a node of the pool.
type node struct {
	name string
	// record is its entry in the status, and config its entry in the spec; nil if it has no entry.
	record *openstackv1.NodeRecovery
	config *openstackv1.RecoveryNode
	// recordedUUID is the UUID of its system that the kubelet has reported; "" if the Node was never read.
	recordedUUID string
	// removed is set if the pool does not have the node anymore.
	removed bool
	// verified is set if its probes and its management controller were read although it has not failed. problem is the reason for which it
	// could not be powered off, and failures the number of consecutive verifications with one.
	verified bool
	problem  string
	failures int

	service *compute.Service
	node    *corev1.Node
	// agentAlive is set if an agent of Neutron on it reports.
	agentAlive bool
	evidence   evidence
	// unreported is set if the node does not report to a witness, even if no other node does, and its recovery has not started. It is not set
	// for excluded nodes.
	unreported bool
	// network is the result of its probes.
	network sight
	// excluded is the reason for which the node must not be recovered; "" if it may.
	excluded string
	// probeProblem is the reason for which a probe is not used. responded is the address of a probe that responded. unconfirmed is set if
	// the node has reported to OpenStack after its probes did not respond.
	probeProblem string
	responded    string
	unconfirmed  bool

	// device is its management controller with the login, and power the state that it reported. deviceProblem is the reason for which it
	// cannot be used.
	device        fence.Device
	power         fence.Power
	deviceProblem string
	// offPasses and onPasses are the numbers of consecutive passes in which the power was off or on, and steady the time for which the node
	// has been healthy.
	offPasses, onPasses int
	steady              time.Duration
	// readProblem is the reason for which its servers cannot be read.
	readProblem string
	// forcedServers is the number of servers, if another user has set forced_down; -1 if it cannot be read.
	forcedServers int
	// responding is the time since which a probe responds, after the power was off.
	responding time.Duration

	// servers are the servers on the node. restarted are servers that were stopped, were evacuated, and run now. stopsEnded are servers that
	// need no more attention.
	servers evacuations
	// responses are the responses to requests to evacuate them. An operation of the node may add some.
	responses             map[string]response
	restarted, stopsEnded []string
}

// observe reads the state live, without a cache.
func (m *memory) observe(ctx context.Context, env *controller.Env, r *openstackv1.HypervisorRecovery) (*observation, error) {
	obs := &observation{recovery: r, memory: m, past: m.of(r), parallel: m.parallel, now: env.Clock.Now()}
	if obs.limited = env.Limit(client.ObjectKeyFromObject(r), shortestInterval); obs.limited > 0 {
		return obs, nil
	}
	m.start(obs.past, obs.now)
	err := obs.read(ctx, env)
	now := env.Clock.Now()
	m.took(obs.past, now.Sub(obs.now))
	if err != nil || obs.unavailable.Reason != "" {
		obs.past.interrupt()
	} else {
		m.end(obs.past, now)
	}
	return obs, err
}

// read reads the services, the Nodes and the devices.
func (obs *observation) read(ctx context.Context, env *controller.Env) error {
	r := obs.recovery
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	check, err := apireader.Get(ctx, env.Reader, "ServiceCheck", client.ObjectKeyFromObject(r), &openstackv1.ServiceCheck{})
	if err != nil {
		return err
	}
	if check == nil {
		obs.unavailable = condition.False("PoolNotFound", fmt.Sprintf("metadata.name: ServiceCheck %s does not exist; create the "+
			"HypervisorRecovery with the name of the pool's namespace", r.Name))
		return nil
	}
	if observed := check.Status.LastObservationTime; observed == nil || obs.now.Sub(observed.Time) > freshness.GuardLimit {
		obs.unavailable = condition.False("PoolOutdated", fmt.Sprintf("status.nodes of ServiceCheck %s is older than %s: see its condition Ready",
			check.Name, freshness.GuardLimit))
		return nil
	}
	obs.listNodes(check)
	var problem string
	if obs.nova, problem, err = compute.Find(ctx, env.Reader, env.Transport, r.Namespace, check.Spec.CloudCredentialsRef); err != nil {
		return err
	}
	if problem == "" {
		problem = obs.readOpenStack(ctx)
	}
	if problem != "" {
		obs.unavailable = condition.False("ServiceUnavailable", problem)
		return nil
	}
	if err := obs.readKubernetes(ctx, env.Reader); err != nil {
		return err
	}
	obs.weigh()
	obs.readServers(ctx)
	obs.readFailedServers(ctx)
	obs.countForcedServers(ctx)
	if err := obs.inspect(ctx, env); err != nil {
		return err
	}
	obs.remember()
	return nil
}

// listNodes returns the nodes of the pool that are registered in Nova, with their records.
func (obs *observation) listNodes(check *openstackv1.ServiceCheck) {
	for i := range check.Status.Nodes {
		n := &node{name: check.Status.Nodes[i].Name}
		for j := range obs.recovery.Status.Recoveries {
			if r := &obs.recovery.Status.Recoveries[j]; r.NodeName == n.name {
				n.record = r.DeepCopy()
			}
		}
		for j := range obs.recovery.Spec.Nodes {
			if c := &obs.recovery.Spec.Nodes[j]; string(c.Name) == n.name {
				n.config = c
			}
		}
		for _, v := range obs.recovery.Status.VerifiedNodes {
			if v.NodeName == n.name {
				n.recordedUUID = v.SystemUUID
			}
		}
		obs.nodes = append(obs.nodes, n)
	}
	for i := range obs.recovery.Status.Recoveries {
		r := &obs.recovery.Status.Recoveries[i]
		if !slices.ContainsFunc(obs.nodes, func(n *node) bool { return n.name == r.NodeName }) {
			obs.nodes = append(obs.nodes, &node{name: r.NodeName, record: r.DeepCopy(), removed: true})
		}
	}
	slices.SortFunc(obs.nodes, func(a, b *node) int { return strings.Compare(a.name, b.name) })
}

// readKubernetes reads the Nodes of hosts that do not report to OpenStack or have a record, of some others that show whether kubelets
// report, and of the host that is verified in this pass. Other Nodes are not read, because pools are large, and a node that
// reports to OpenStack has not failed.
func (obs *observation) readKubernetes(ctx context.Context, reader client.Reader) (err error) {
	var read, others []*node
	for _, n := range obs.rotated() {
		switch {
		case n.record != nil || n.openStack() != alive:
			read = append(read, n)
		case n.config != nil:
			others = append(others, n)
		}
	}
	count := 1
	if len(read) > 0 {
		count = referenceCount
	}
	others = others[:min(len(others), count)]
	if len(others) > 0 {
		obs.candidate = others[0].name
	}
	for _, n := range slices.Concat(read, others) {
		n.node, err = apireader.Get(ctx, reader, "Node", client.ObjectKey{Name: n.name}, &corev1.Node{})
		if apierrors.IsForbidden(err) {
			obs.unreadable = "the companion may not read Nodes: set virtualization.evictOnCordon in the HypervisorCluster"
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rotated returns all nodes, from the one after the last verified node on.
func (obs *observation) rotated() []*node {
	first := max(slices.IndexFunc(obs.nodes, func(n *node) bool { return n.name > obs.past.verified }), 0)
	return slices.Concat(obs.nodes[first:], obs.nodes[:first])
}

// readOpenStack reads the reports of nova-compute and of Neutron's agents, and returns why they cannot be read.
func (obs *observation) readOpenStack(ctx context.Context) string {
	services, err := obs.nova.Services(ctx, compute.Compute)
	if err != nil {
		return err.Error()
	}
	agents, err := obs.nova.ListAgents(ctx)
	if err != nil {
		return err.Error()
	}
	obs.services = services
	for _, n := range obs.nodes {
		for i := range services {
			if services[i].Host == n.name {
				n.service = &services[i]
			}
		}
		n.agentAlive = slices.ContainsFunc(agents, func(a compute.Agent) bool { return a.Host == n.name && a.Alive })
	}
	return ""
}

// weigh determines the reports of OpenStack and of the kubelet, and which nodes are excluded. A witness to which no other node of the
// pool reports has failed itself, or cannot be distinguished from one that has: nodes that do not report to it are counted, so that an
// operator gets a report.
func (obs *observation) weigh() {
	up, ready := 0, 0
	for _, n := range obs.nodes {
		n.evidence = evidence{openStack: n.openStack(), kubernetes: n.kubernetes(), network: unknown}
		if n.evidence.openStack == alive && n.service.Up {
			up++
		}
		if n.evidence.kubernetes == alive {
			ready++
		}
	}
	for _, n := range obs.nodes {
		obs.count(n)
		if up == 0 && n.evidence.openStack == unreachable {
			n.evidence.openStack = unknown
		}
		if ready == 0 && n.evidence.kubernetes == unreachable {
			n.evidence.kubernetes = unknown
		}
	}
}

// count determines whether a node is excluded, and counts it.
func (obs *observation) count(n *node) {
	n.excluded = n.exclusion()
	if n.excluded != "" && (n.record == nil || n.removed) {
		return
	}
	obs.total++
	isSilent := n.evidence.openStack == unreachable || n.evidence.kubernetes == unreachable
	n.unreported = isSilent && !n.isChanged()
	if isSilent || n.isChanged() {
		obs.failedCount++
	}
}

// openStack returns the report of nova-compute and of Neutron's agents. Nova reports a host with forced_down as down, whether it runs or
// not.
func (n *node) openStack() sight {
	switch {
	case n.service == nil || n.service.Unknown:
		return unknown
	case n.service.Up || n.agentAlive:
		return alive
	case n.service.ForcedDown:
		return unknown
	}
	return unreachable
}

// kubernetes returns the report of the kubelet. The node controller sets the condition Ready to Unknown when the kubelet does not renew its
// Lease; a kubelet that reports False runs.
func (n *node) kubernetes() sight {
	if n.node == nil {
		return unknown
	}
	for _, c := range n.node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown {
			return unreachable
		} else if c.Type == corev1.NodeReady {
			return alive
		}
	}
	return unknown
}

// exclusion returns why a node must not be recovered; "" if it may.
func (n *node) exclusion() string {
	switch s := n.service; {
	case n.removed:
		return "it is not in the pool"
	case s == nil:
		return "Nova has no record of its nova-compute"
	case n.isChanged() || n.record != nil && n.record.FenceTime != nil: // The request may still be executed.
		return ""
	case s.MaintainedBy() != "":
		return "NodeMaintenance " + s.MaintainedBy() + " maintains it"
	case s.Disabled && !strings.HasPrefix(s.Reason, automatic):
		return fmt.Sprintf("its nova-compute is disabled (%q)", s.Reason)
	case n.node != nil && n.node.Spec.Unschedulable:
		return "its Node is cordoned"
	case n.isForcedByOther():
		return "another user has set forced_down"
	}
	return ""
}

// isChanged reports whether this recovery has proven that the power of the node was off.
func (n *node) isChanged() bool {
	return n.record != nil && slices.Contains([]openstackv1.RecoveryState{
		openstackv1.RecoveryEvacuating, openstackv1.RecoveryEvacuated, openstackv1.RecoveryReturning,
	}, n.record.State)
}

// isCrowded reports whether too many nodes have failed.
func (obs *observation) isCrowded() bool {
	const percent = 100
	return obs.failedCount*percent > int(obs.recovery.Spec.MaxFailedPercent)*obs.total
}

// isWatched reports whether only the network of a node is read: no server can be evacuated anymore, and it must not run. Its power is read
// after a response.
func (n *node) isWatched() bool {
	return !n.removed && n.record != nil && n.record.State == openstackv1.RecoveryEvacuated && len(n.servers.pending) == 0 &&
		n.record.PowerOffTime != nil
}

// needsInspection reports whether the network and the management controller of a node have to be read. A node from which no server can be
// evacuated waits for its return, which the kubelet reports.
func (n *node) needsInspection() bool {
	if n.record != nil && (n.record.State == openstackv1.RecoveryEvacuated || n.record.State == openstackv1.RecoveryReturning) &&
		len(n.servers.pending) == 0 {
		return false
	}
	return !n.removed && (n.record != nil || n.excluded == "" && n.evidence.conclude() != healthy)
}

// inspect probes the network of failed nodes, and reads their power, and verifies one healthy node. While too many nodes have failed, only
// nodes with a record are read. Devices are read in parallel: one that hangs must not delay others, because evidence gets old.
func (obs *observation) inspect(ctx context.Context, env *controller.Env) error {
	var read []*node
	for _, n := range obs.nodes {
		if n.needsInspection() && (n.record != nil || !obs.isCrowded()) {
			read = append(read, n)
		}
	}
	// Nodes whose servers are being evacuated are first.
	slices.SortStableFunc(read, func(a, b *node) int { return a.rank() - b.rank() })
	references := obs.references(len(read) > 0)
	all := read
	if len(references) > 0 {
		references[0].verified = true
		all = slices.Concat(read, references[:1])
	}
	for _, n := range all {
		if err := obs.openDevice(ctx, env, n); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, deviceTimeout)
	defer cancel()
	var tasks []func()
	watched := slices.DeleteFunc(slices.Clone(obs.nodes), func(n *node) bool { return !n.isWatched() })
	for _, n := range slices.Concat(read, references, watched) { // They take seconds, and controllers may take longer.
		tasks = append(tasks, func() { n.network = obs.probe(ctx, env, n) })
	}
	for _, n := range all {
		tasks = append(tasks, func() { n.readPower(ctx) })
	}
	inParallel(obs.parallel, tasks)
	valid := slices.ContainsFunc(references, func(n *node) bool { return n.network == alive })
	for _, n := range read {
		obs.weighDevices(n, valid)
	}
	tasks = nil
	for _, n := range watched {
		if n.network != alive { // Its silence is expected.
			continue
		}
		n.evidence.network = alive
		if err := obs.openDevice(ctx, env, n); err != nil {
			return err
		}
		tasks = append(tasks, func() { n.readPower(ctx) })
	}
	inParallel(obs.parallel, tasks)
	if len(references) > 0 {
		obs.verify(references[0])
	} else { // Its kubelet does not report: others are verified meanwhile.
		obs.past.verified = obs.candidate
	}
	return nil
}

// references returns healthy nodes: the one that is verified in this pass and, if nodes have failed, others that show whether probes reach
// any node.
func (obs *observation) references(failed bool) (out []*node) {
	for _, n := range obs.rotated() {
		if n.isHealthy() && (len(out) == 0 || failed && len(out) < referenceCount) {
			out = append(out, n)
		}
	}
	return out
}

// weighDevices determines the reports of the network and of the power of a node. valid is set if a probe of a healthy node responds.
func (obs *observation) weighDevices(n *node, valid bool) {
	n.evidence.network = n.network
	switch {
	case n.network != unreachable:
	case !valid:
		n.evidence.network = unknown
		n.probeProblem = "no probe of a healthy node responds, so that the probes prove nothing"
	case obs.confirmedProbe(n) == "":
		n.evidence.network = unknown
		n.probeProblem = "none of its probes has responded while it was healthy, so that their silence proves nothing"
	}
	n.evidence.powerOff = n.deviceProblem == "" && n.power == fence.Off
}

// reportDelay is longer than the difference between the clocks of the companion and of Nova.
const reportDelay = 30 * time.Second

// verify evaluates the probes and the management controller of a healthy node, so that a wrong configuration is found before a failure. A
// failure is verified again in the next pass, before it is reported. A probe that has responded before is not used anymore if the node
// has reported to OpenStack after its silence: a node that just fails is silent, too, and does not report.
func (obs *observation) verify(n *node) {
	if n.network == alive {
		delete(obs.past.unansweredTimes, n.name)
	} else {
		if _, known := obs.past.unansweredTimes[n.name]; !known {
			obs.past.unansweredTimes[n.name] = obs.now
		}
		n.unconfirmed = n.service != nil && n.service.ReportedAt.After(obs.past.unansweredTimes[n.name].Add(reportDelay))
	}
	n.problem = n.deviceProblem
	if n.problem == "" && n.network != alive && len(n.config.Probes) > 0 {
		n.problem = cmp.Or(n.probeProblem, "none of its probes responds: correct the addresses, or permit the connections")
	}
	if n.problem == "" {
		delete(obs.past.failures, n.name)
	} else {
		obs.past.failures[n.name]++
	}
	if n.failures = obs.past.failures[n.name]; n.failures != 1 && !obs.awaitsReport(n) {
		obs.past.verified = n.name
	}
}

// verifyTimeout is the time for which a silent node is verified in each pass. Nova has another report of it after reportDelay by then.
const verifyTimeout = time.Minute

// awaitsReport reports whether the probe of a silent node is still regarded as confirmed, so that the node is verified again in the next
// pass: a probe that does not work anymore must not be trusted until all other nodes were verified.
func (obs *observation) awaitsReport(n *node) bool {
	return n.network != alive && obs.confirmedProbe(n) != "" && obs.now.Sub(obs.past.unansweredTimes[n.name]) < verifyTimeout
}

// isHealthy reports whether OpenStack and the kubelet report that the node runs.
func (n *node) isHealthy() bool {
	return !n.removed && n.record == nil && n.config != nil && n.evidence.openStack == alive && n.evidence.kubernetes == alive
}

// confirmedProbe returns the address of a probe of the node that has responded while the node was healthy; "" if none has.
func (obs *observation) confirmedProbe(n *node) string {
	if n.responded != "" || n.config == nil {
		return n.responded
	}
	for _, v := range obs.recovery.Status.VerifiedNodes {
		if v.NodeName == n.name && !n.unconfirmed && slices.Contains(n.config.Probes, openstackv1.ProbeAddress(v.Probe)) {
			return v.Probe
		}
	}
	return ""
}

// remember counts the passes in which the power of a node was off, and the time for which nodes with a record are healthy.
func (obs *observation) remember() {
	on, off, since, responding := map[string]int{}, map[string]int{}, map[string]time.Time{}, map[string]time.Time{}
	for _, n := range obs.nodes {
		if n.record != nil && n.record.PowerOffTime != nil && n.evidence.network == alive {
			responding[n.name] = obs.now
			if at, ok := obs.past.respondingSince[n.name]; ok {
				responding[n.name] = at
			}
			n.responding = obs.now.Sub(responding[n.name])
		}
		if n.evidence.powerOff {
			off[n.name] = obs.past.off[n.name] + 1
			n.offPasses = off[n.name]
		}
		if n.deviceProblem == "" && n.power == fence.On {
			on[n.name] = obs.past.on[n.name] + 1
			n.onPasses = on[n.name]
		}
		if n.record != nil && n.evidence.conclude() == healthy && n.evidence.kubernetes == alive {
			since[n.name] = obs.now
			if at, ok := obs.past.healthySince[n.name]; ok {
				since[n.name] = at
			}
			n.steady = obs.now.Sub(since[n.name])
		}
	}
	obs.past.off, obs.past.on, obs.past.healthySince, obs.past.respondingSince = off, on, since, responding
}

// rank orders nodes whose power was off before the others.
func (n *node) rank() int {
	if n.isChanged() {
		return 0
	}
	return 1
}

// probe connects to the addresses of a node. A node that refuses a connection runs.
func (obs *observation) probe(ctx context.Context, env *controller.Env, n *node) sight {
	if n.config == nil || len(n.config.Probes) == 0 {
		n.probeProblem = "it has no probes"
		return unknown
	}
	if n.node == nil {
		n.probeProblem = "its Node cannot be read, so that the probes may be in the network of the kubelet"
		return unknown
	}
	for _, p := range n.config.Probes {
		if n.probeProblem = obs.checkProbe(n, string(p)); n.probeProblem != "" {
			return unknown
		}
	}
	out := unreachable
	for _, p := range n.config.Probes {
		address := string(p)
		switch connect(ctx, env, address) {
		case alive:
			n.responded = address
			return alive
		case unknown:
			out = unknown
			n.probeProblem = "the probe " + address + " cannot be sent"
		case unreachable:
		}
	}
	return out
}

// checkProbe returns why an address proves nothing about a node; "" if it does. An address of the network of the kubelet, or of another
// node, does not show whether the node runs.
func (obs *observation) checkProbe(n *node, address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil || at.Addr().Zone() != "" {
		return fmt.Sprintf("the probe %s must be IP:port", address)
	}
	ip := at.Addr().Unmap()
	if len(n.addresses()) == 0 {
		return "status.addresses of its Node has no IP address, so that the probe may be in the network of the kubelet"
	}
	for i := range obs.recovery.Spec.Nodes {
		c := &obs.recovery.Spec.Nodes[i]
		if string(c.Name) == n.name {
			continue
		}
		for _, p := range c.Probes {
			if other, err := netip.ParseAddrPort(string(p)); err == nil && other.Addr().WithZone("").Unmap() == ip {
				return fmt.Sprintf("the probe %s is also an address of %s in spec.nodes: correct one of them", address, c.Name)
			}
		}
	}
	for _, other := range obs.nodes {
		if slices.Contains(other.addresses(), ip.String()) {
			return fmt.Sprintf("the probe %s is in status.addresses of Node %s: set an address of the node in another network", address, other.name)
		}
	}
	for _, v := range obs.recovery.Status.VerifiedNodes {
		if slices.Contains(v.Addresses, ip.String()) {
			return fmt.Sprintf("the probe %s was in status.addresses of Node %s: set an address of the node in another network", address, v.NodeName)
		}
	}
	return ""
}

// addresses returns the IP addresses of the Node in their usual notation, at most addressLimit of them; none if it was not read.
func (n *node) addresses() (out []string) {
	if n.node == nil {
		return nil
	}
	for _, a := range n.node.Status.Addresses {
		if ip, err := netip.ParseAddr(a.Address); err == nil && len(out) < addressLimit {
			out = append(out, ip.WithZone("").Unmap().String())
		}
	}
	return out
}

// connect reports whether a node accepts or refuses a connection. An error of this host proves nothing.
func connect(ctx context.Context, env *controller.Env, address string) sight {
	dial, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	connection, err := env.Dial(dial, "tcp", address)
	var timeout net.Error
	switch {
	case err == nil:
		_ = connection.Close() // Nothing was sent.
		return alive
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
		return alive
	case ctx.Err() != nil:
		return unknown
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return unreachable
	}
	return unknown
}

// openDevice sets the management controller of a node with its login, or why it has none. An error is from the API server.
func (obs *observation) openDevice(ctx context.Context, env *controller.Env, n *node) (err error) {
	if n.config == nil {
		n.deviceProblem = noEntry
		return nil
	}
	if n.deviceProblem = obs.identityProblem(n); n.deviceProblem == "" {
		n.device, n.deviceProblem, err = openRedfish(ctx, env, obs.recovery.Namespace, &n.config.Redfish)
	}
	return err
}

// readPower reads the power of a node.
func (n *node) readPower(ctx context.Context) {
	if n.deviceProblem != "" {
		return
	}
	state, err := n.device.State(ctx)
	if err == nil {
		err = fence.CheckIdentity(state.SystemUUID, n.systemUUID())
	}
	if err != nil {
		n.deviceProblem = err.Error()
		return
	}
	n.power = state.Power
}

// systemUUID returns the UUID that the management controller of the node must report; "" if it is unknown. It is the one that the kubelet
// reports, or has reported: redfish.systemUUID can have the same mistake as redfish.url, and identifies nothing alone.
func (n *node) systemUUID() string { return cmp.Or(n.uuidOfNode(), n.recordedUUID) }

// uuidOfNode returns the UUID of the system that the kubelet reports; "" if it is unknown.
func (n *node) uuidOfNode() string {
	if n.node == nil {
		return ""
	}
	return condition.Truncate(n.node.Status.NodeInfo.SystemUUID, uuidLimit)
}

// identityProblem returns why the system of a node is not identified by its entry in the spec; "" if it is. Uniqueness is verified here
// because the API server limits the cost of rules: a comparison of each pair of 1,024 entries exceeds it.
func (obs *observation) identityProblem(n *node) string {
	own, typed := n.systemUUID(), n.config.Redfish.SystemUUID
	switch {
	case own == "":
		return "its UUID is unknown, because its Node was never read: the node must be in Kubernetes, and report a systemUUID"
	case typed != "" && !fence.IsSameSystem(own, typed):
		return fmt.Sprintf("redfish.systemUUID is %s, and the Node has %s: correct or remove redfish.systemUUID", typed, own)
	}
	shared := func(uuid, name string) string {
		if name == n.name || uuid == "" || !fence.IsSameSystem(own, uuid) {
			return ""
		}
		return fmt.Sprintf("its UUID %s is also the one of %s: set a unique UUID in the firmware, or correct redfish.systemUUID", own, name)
	}
	problem := ""
	for i := range obs.recovery.Spec.Nodes {
		c := &obs.recovery.Spec.Nodes[i]
		if string(c.Name) != n.name && strings.EqualFold(strings.TrimRight(c.Redfish.URL, "/"), strings.TrimRight(n.config.Redfish.URL, "/")) {
			return fmt.Sprintf("redfish.url is also the address of %s: correct one of them", c.Name)
		}
		problem = cmp.Or(problem, shared(c.Redfish.SystemUUID, string(c.Name)))
	}
	for _, other := range obs.nodes {
		problem = cmp.Or(problem, shared(other.uuidOfNode(), other.name))
	}
	for _, v := range obs.recovery.Status.VerifiedNodes {
		problem = cmp.Or(problem, shared(v.SystemUUID, v.NodeName))
	}
	return problem
}

// secretType is the type of a Secret with a login for management controllers.
const secretType corev1.SecretType = "openstack.c5c3.io/redfish" //nolint:gosec // The type is no secret.

// checkSecret returns why a Secret is not sent to an address; "" if it may be. The companion may read other Secrets, and the user who sets
// the address may not: the creator of the Secret determines the hosts.
func checkSecret(s *corev1.Secret, address string) string {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" {
		return "redfish.url must be an address with https"
	}
	if s.Type != secretType {
		return fmt.Sprintf("Secret %s must have the type %s: create a Secret for the management controllers", s.Name, secretType)
	}
	for _, key := range []string{"host", "username", "password", "ca.crt"} {
		if len(s.Data[key]) == 0 {
			return fmt.Sprintf("Secret %s must have the keys host, username, password and ca.crt: %s is missing", s.Name, key)
		}
	}
	if !slices.ContainsFunc(strings.Fields(string(s.Data["host"])), func(h string) bool { return strings.EqualFold(h, at.Host) }) {
		return fmt.Sprintf("Secret %s is not for %s: add this host to the key host of the Secret, or correct redfish.url", s.Name, at.Host)
	}
	return ""
}

// openRedfish returns a system with its login, or why it has none.
func openRedfish(
	ctx context.Context, env *controller.Env, namespace string, system *openstackv1.RedfishSystem,
) (device fence.Device, problem string, err error) {
	name := string(system.SecretName)
	secret, err := apireader.Get(ctx, env.Reader, "Secret", client.ObjectKey{Namespace: namespace, Name: name}, &corev1.Secret{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("the companion may not read Secret %s: create a Role and a RoleBinding for it", name), nil
	case err != nil:
		return nil, "", err
	case secret == nil:
		return nil, fmt.Sprintf("Secret %s does not exist", name), nil
	}
	if problem := checkSecret(secret, system.URL); problem != "" {
		return nil, problem, nil
	}
	way, err := env.Public(secret.Data["ca.crt"])
	if err != nil {
		return nil, fmt.Sprintf("Secret %s: the key ca.crt has no certificate in PEM format", name), nil //nolint:nilerr // It is reported.
	}
	return &fence.Redfish{
		URL: system.URL, Username: string(secret.Data["username"]), Password: string(secret.Data["password"]), Transport: way,
	}, "", nil
}

// readServers reads the servers of failed nodes. A failure concerns only the node: other nodes may be in other cells.
func (obs *observation) readServers(ctx context.Context) {
	var tasks []func()
	for _, n := range obs.nodes {
		if n.record == nil {
			delete(obs.past.responses, n.name)
		}
		if n.hasServersRead() {
			n.responses = obs.past.responsesOf(n.name)
			tasks = append(tasks, func() { n.readProblem = obs.readServersOf(ctx, n) })
		}
	}
	inParallel(min(obs.parallel, parallelRequests), tasks)
	for _, n := range obs.nodes {
		if n.readProblem != "" { // The state is the recorded one.
			n.servers = evacuations{slots: len(n.record.RequestedServers)}
			for _, s := range obs.recovery.Status.FailedServers {
				if s.NodeName == n.name && n.isChanged() {
					n.servers.failed = append(n.servers.failed, s)
				}
			}
		}
		obs.busy += n.servers.slots
	}
}

// isForcedByOther reports whether the node has forced_down, and this object has not set it.
func (n *node) isForcedByOther() bool {
	return n.service != nil && n.service.ForcedDown && (n.record == nil || !n.record.ForcedDown)
}

// countForcedServers counts the servers of nodes whose forced_down was set by another user.
func (obs *observation) countForcedServers(ctx context.Context) {
	var tasks []func()
	for _, n := range obs.nodes {
		if !n.isForcedByOther() {
			continue
		}
		tasks = append(tasks, func() {
			n.forcedServers = -1
			if servers, err := obs.nova.ListServers(ctx, n.name); err == nil {
				n.forcedServers = len(servers)
			}
		})
	}
	inParallel(min(obs.parallel, parallelRequests), tasks)
}

// isPartial reports whether the servers of a node could not be read.
func (obs *observation) isPartial() bool {
	return slices.ContainsFunc(obs.nodes, func(n *node) bool { return n.readProblem != "" })
}

// hasServersRead reports whether the servers of a node are read in each pass. Those that run are recorded before its power goes off.
func (n *node) hasServersRead() bool { return !n.removed && n.record != nil && n.service != nil }

// readFailedServers keeps the recorded servers that still do not run on nodes that are not being recovered. A server whose status cannot
// be read is kept, too: it must not prevent the recovery of other nodes.
func (obs *observation) readFailedServers(ctx context.Context) {
	servers := map[string][]openstackv1.FailedServer{}
	for _, s := range obs.recovery.Status.FailedServers {
		servers[s.NodeName] = append(servers[s.NodeName], s)
	}
	for _, n := range obs.nodes {
		if n.hasServersRead() && n.isChanged() { // Its servers are listed again.
			delete(servers, n.name)
		}
	}
	hosts := slices.Sorted(maps.Keys(servers))
	still, stoppedIDs := make([][]openstackv1.FailedServer, len(hosts)), make([][]string, len(hosts))
	var tasks []func()
	for i, host := range hosts {
		tasks = append(tasks, func() { still[i], stoppedIDs[i] = obs.stillFailed(ctx, host, servers[host]) })
	}
	inParallel(min(obs.parallel, parallelRequests), tasks)
	obs.failedServers = slices.Concat(still...)
	obs.stoppedIDs = map[string]bool{}
	for _, id := range slices.Concat(stoppedIDs...) {
		obs.stoppedIDs[id] = true
	}
}

// stillFailed returns the servers on a host that still do not run, and the IDs of those that are SHUTOFF.
func (obs *observation) stillFailed(
	ctx context.Context, host string, recorded []openstackv1.FailedServer,
) (out []openstackv1.FailedServer, stoppedIDs []string) {
	i := slices.IndexFunc(obs.services, func(s compute.Service) bool { return s.Host == host })
	if i < 0 { // Nova deletes only nova-computes without servers.
		return nil, nil
	}
	if obs.services[i].Unknown {
		return recorded, nil
	}
	servers, err := obs.nova.ListServers(ctx, host)
	if err != nil {
		return recorded, nil
	}
	for _, r := range recorded {
		s, err := obs.findServer(ctx, host, servers, r.ID)
		if err != nil {
			out = append(out, r)
			continue
		}
		if s == nil {
			continue
		}
		status := s.Status
		switch {
		case r.ReturnTime == nil && (status == inError || strings.HasPrefix(s.Task, rebuilding)):
			out = append(out, r)
		case r.ReturnTime != nil && status == stopped:
			out, stoppedIDs = append(out, r), append(stoppedIDs, r.ID)
		case r.ReturnTime != nil && status == running && obs.now.Sub(r.ReturnTime.Time) < syncTimeout:
			out = append(out, r)
		}
	}
	return out, stoppedIDs
}

// findServer returns a server on a host, from the list or, because lists can be incomplete, with a request; nil if it is not there anymore.
func (obs *observation) findServer(ctx context.Context, host string, list []compute.Server, id string) (*compute.Server, error) {
	if i := slices.IndexFunc(list, func(s compute.Server) bool { return s.ID == id }); i >= 0 {
		return &list[i], nil
	}
	s, on, err := obs.nova.FindServer(ctx, id)
	if err != nil || on != host {
		return nil, err
	}
	return s, nil
}

// checkList returns why the list of the servers on a node is incomplete; "" if it is not. Nova leaves out a cell whose database does not
// respond in time, with HTTP 200, even if another process of nova-api has just read the services of this cell. Therefore, recorded servers
// that the list does not have are read directly: Nova returns an error then. readStopped reads those of the record of stopped servers.
func (obs *observation) checkList(ctx context.Context, n *node, servers []compute.ServerDetails) string {
	listed := map[string]bool{}
	for i := range servers {
		listed[servers[i].ID] = true
	}
	for _, id := range n.recordedServers(obs.recovery.Status.FailedServers) {
		if listed[id] {
			continue
		}
		listed[id] = true // It is read once.
		_, host, err := obs.nova.FindServer(ctx, id)
		switch {
		case err != nil:
			return err.Error()
		case host == n.name:
			return incompleteList(id)
		}
	}
	return ""
}

// incompleteList returns the problem with a list that does not have a server.
func incompleteList(id string) string {
	return "Nova's list is incomplete: it does not have server " + id
}

// recordedServers returns the IDs of the servers that were on the node at the last pass, as far as the status has them.
func (n *node) recordedServers(failed []openstackv1.FailedServer) []string {
	out := slices.Clone(n.record.RunningServers)
	for _, r := range n.record.RequestedServers {
		out = append(out, r.ID)
	}
	for _, r := range n.record.RemainingServers {
		out = append(out, r.ID)
	}
	for _, r := range failed {
		if r.NodeName == n.name {
			out = append(out, r.ID)
		}
	}
	return out
}

// readServersOf reads the servers of a node, and returns why they cannot be read.
func (obs *observation) readServersOf(ctx context.Context, n *node) string {
	if n.service.Unknown {
		return "the database of the cell of " + n.name + " does not respond"
	}
	servers, err := obs.nova.ListServerDetails(ctx, n.name)
	if err != nil {
		return err.Error()
	}
	if problem := obs.checkList(ctx, n, servers); problem != "" {
		return problem
	}
	migrations, err := obs.nova.ListMigrations(ctx, n.name)
	if err != nil {
		return err.Error()
	}
	is := known{record: n.record, responses: n.responses, failed: obs.recovery.Status.FailedServers, down: map[string]bool{}}
	for i := range obs.services {
		s := &obs.services[i]
		is.down[s.Host] = !s.Unknown && (!s.Up || s.ForcedDown)
	}
	n.servers = sortServers(&obs.recovery.Spec, is, servers, migrations, obs.now)
	if n.isChanged() {
		n.servers.failed = n.failedServers(servers, obs.recovery.Status.FailedServers)
	}
	if err := obs.readStopped(ctx, n, servers); err != nil {
		return err.Error()
	}
	return ""
}

// readStopped reads the state of servers that were stopped, and have left the node. Nova starts a server that it evacuates after a failed
// attempt, because the failure replaced its state.
func (obs *observation) readStopped(ctx context.Context, n *node, servers []compute.ServerDetails) error {
	for _, id := range n.record.StoppedServers {
		if n.servers.busy[id] || slices.ContainsFunc(servers, func(s compute.ServerDetails) bool { return s.ID == id }) {
			continue
		}
		s, host, err := obs.nova.FindServer(ctx, id)
		switch {
		case err != nil:
			return err
		case host == n.name:
			return errors.New(incompleteList(id))
		case s == nil || s.Task == "" && s.Status != "ACTIVE":
			n.stopsEnded = append(n.stopsEnded, id)
		case s.Task == "":
			n.restarted = append(n.restarted, id)
		}
	}
	return nil
}

package hypervisorrecovery

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	// stoppedIDs are the IDs of the failed servers that are SHUTOFF.
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

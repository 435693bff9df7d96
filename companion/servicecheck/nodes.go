package servicecheck

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/daemonset"
)

// nodeLimit is the maximum number of nodes in the status, and agentLimit of agents per node.
const (
	nodeLimit  = 2048
	agentLimit = 16
)

// nodes are the nodes that run hypervisors.
type nodes struct {
	// ownHosts have a pod of this check, otherHosts a pod of another check of the namespace.
	ownHosts, otherHosts map[string]bool
	// pods are the nodes of ownHosts with the revisions of their pods.
	pods map[string]daemonset.Node
	// evicted are the nodes of this check that are drained when they are cordoned. evictsOthers is set if this applies to recorded
	// nodes without a pod, too.
	evicted      map[string]bool
	evictsOthers bool
	// allReported is set if each DaemonSet has a pod for each of its nodes, so that a node without one has been removed.
	allReported bool
}

// isRemoved reports whether a former hypervisor has been removed.
func (n nodes) isRemoved(node string) bool {
	return n.allReported && !n.ownHosts[node] && !n.otherHosts[node]
}

// look finds the nodes by their pods. Other checks are included, because a node can move from one pool to another.
func (obs *observation) look(ctx context.Context, reader client.Reader) (nodes, error) {
	out := nodes{
		ownHosts: map[string]bool{}, otherHosts: map[string]bool{}, pods: map[string]daemonset.Node{}, evicted: map[string]bool{},
		allReported: true,
	}
	if err := obs.readChecks(ctx, reader, obs.check.Namespace); err != nil {
		return out, err
	}
	checks := maps.Clone(obs.checks)
	checks[obs.check.Name] = obs.check.Spec.Nodes
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		own := name == obs.check.Name
		for _, s := range checks[name] {
			found := obs.nodesOf(ctx, reader, client.ObjectKey{Namespace: string(s.Namespace), Name: string(s.DaemonSet)})
			if found.err != nil && (own || !apierrors.IsForbidden(found.err)) { // The permission for a pool is created and deleted with it.
				return out, found.err
			}
			out.allReported = out.allReported && found.complete
			out.evictsOthers = out.evictsOthers || own && s.EvictOnCordon
			for _, node := range found.nodes {
				out.add(node, own, own && s.EvictOnCordon)
			}
		}
	}
	return out, nil
}

// add adds a node with a pod of this check (own) or of another one.
func (n nodes) add(node daemonset.Node, own, evicted bool) {
	n.evicted[node.Name] = n.evicted[node.Name] || evicted
	if !own {
		n.otherHosts[node.Name] = true
		return
	}
	n.ownHosts[node.Name] = true
	n.pods[node.Name] = node
}

// leftovers are the records of a node that has been removed.
type leftovers struct {
	node string
	// service of nova-compute (nil if removed), resource providers, and agents.
	service   *compute.Service
	providers []compute.Provider
	agents    []compute.Agent
	// servers on the node, and the number of unfinished migrations from or to it.
	servers    []compute.Server
	migrations int
	// isPartial is set if Nova cannot list the records of all cells. It then cannot delete the service.
	isPartial bool
}

// fetchNodes reads the location of pods, after the records of nodes: a node that returns later registers again.
func (obs *observation) fetchNodes(ctx context.Context, env *controller.Env) (err error) {
	if obs.nodes, err = obs.look(ctx, env.Reader); err != nil {
		return err
	}
	obs.records = obs.nodesToRecord()
	var former []openstackv1.NodeRecord
	for _, r := range obs.records {
		if obs.nodes.isRemoved(r.Name) {
			former = append(former, r)
		}
	}
	remaining := make([]leftovers, len(former))
	if err := inParallel(obs.parallel, len(former), func(i int) (err error) {
		remaining[i], err = obs.fetchRemovedNode(ctx, former[i])
		return err
	}); err != nil {
		return obs.failed(err)
	}
	cleared := map[string]bool{}
	for _, r := range remaining {
		if cleared[r.node] = r.isEmpty(); !cleared[r.node] {
			obs.leftovers = append(obs.leftovers, r)
		}
	}
	obs.records = slices.DeleteFunc(obs.records, func(r openstackv1.NodeRecord) bool { return cleared[r.Name] })
	if err := obs.fetchHypervisors(ctx); err != nil {
		return obs.failed(err)
	}
	if err := obs.fetchEvictions(ctx, env); err != nil || obs.errorMessage != "" {
		return err
	}
	return obs.fetchCapacity(ctx)
}

// failed converts an error of a service into errorMessage: it is reported, and the request is retried.
func (obs *observation) failed(err error) error {
	obs.errorMessage = err.Error()
	return nil
}

// fetchRemovedNode reads the records of a removed node.
func (obs *observation) fetchRemovedNode(ctx context.Context, r openstackv1.NodeRecord) (leftovers, error) {
	out := leftovers{node: r.Name, service: obs.compute(r.Name), isPartial: !obs.areListed}
	if out.service != nil && out.service.Unknown {
		return out, nil
	}
	for _, a := range obs.agents {
		if a.Host == r.Name || slices.Contains(r.Agents, a.ID) {
			out.agents = append(out.agents, a)
		}
	}
	var err error
	if r.Provider != "" {
		if out.providers, err = obs.nova.Tree(ctx, r.Provider); err != nil {
			return out, err
		}
	}
	if out.servers, err = obs.nova.ListServers(ctx, r.Name); err != nil {
		return out, err
	}
	all, err := obs.nova.ListMigrations(ctx, r.Name)
	for _, m := range all {
		if !m.IsFinished() {
			out.migrations++
		}
	}
	return out, err
}

// isEmpty reports whether no records are left.
func (r leftovers) isEmpty() bool {
	return r.service == nil && len(r.providers)+len(r.agents)+len(r.servers) == 0
}

// absent returns the recorded nodes without a pod, while it is unknown whether they have been removed.
func (obs *observation) absent() (out []string) {
	for _, r := range obs.records {
		if !obs.nodes.ownHosts[r.Name] && !obs.nodes.allReported {
			out = append(out, r.Name)
		}
	}
	return out
}

// compute returns the record of nova-compute on a node, or nil.
func (obs *observation) compute(node string) *compute.Service { return obs.computes[node] }

// nodesToRecord returns the nodes for the status: nodes with a pod that are registered in Nova, and previously recorded nodes
// that no other check has now. IDs that are no longer returned are retained: they are needed once the node has been removed.
func (obs *observation) nodesToRecord() []openstackv1.NodeRecord {
	all := map[string]openstackv1.NodeRecord{}
	for _, r := range obs.check.Status.Nodes {
		if obs.nodes.ownHosts[r.Name] || !obs.nodes.otherHosts[r.Name] {
			all[r.Name] = *r.DeepCopy()
		}
	}
	for _, node := range slices.Sorted(maps.Keys(obs.nodes.ownHosts)) {
		if _, known := all[node]; known || obs.compute(node) == nil {
			continue
		}
		if len(all) >= nodeLimit {
			obs.unrecorded = append(obs.unrecorded, node)
			continue
		}
		all[node] = openstackv1.NodeRecord{Name: node}
	}
	var out []openstackv1.NodeRecord
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		if id := obs.hypervisors[name].Provider; id != "" {
			r.Provider = id
		}
		// When a removed node is cleaned up, the first removal hides the host of the others.
		if ids := obs.agentIDs[name]; obs.nodes.ownHosts[name] && len(ids) > 0 || len(r.Agents) == 0 {
			r.Agents = slices.Clone(ids[:min(len(ids), agentLimit)])
		}
		out = append(out, r)
	}
	return out
}

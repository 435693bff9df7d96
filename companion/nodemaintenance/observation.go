package nodemaintenance

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
)

// passTimeout limits the reads of a pass. It is longer than two requests to Nova during which the database of a cell does not respond.
const passTimeout = 4 * time.Minute

// observation is the state that was read in one pass.
type observation struct {
	order *openstackv1.NodeMaintenance
	now   time.Time
	// limited is the remaining rate limit. unavailable is the reason for which the state of the node is unknown; removed is set if the node
	// does not belong to the pool.
	limited     time.Duration
	unavailable condition.State
	removed     bool

	nova    *compute.API
	service *compute.Service
	// candidates are the servers on the node, and targets the hosts to which servers are migrating, by server.
	candidates []candidate
	targets    map[string]string
	migrations []compute.Migration
	// failures are the failed migrations of servers on the node since the start.
	failures map[string]failures

	// others are the started orders of other nodes of the pool, which have not ended.
	others []openstackv1.NodeMaintenance
	// node is the Node; nil if it does not exist. nodeProblem is the reason for which it cannot be read.
	node        *corev1.Node
	nodeProblem string
	// agents are Neutron's agents on the node, while it returns. consumers have allocations on the node, if only stopped servers are left.
	agents    []compute.Agent
	consumers []string
}

// failures are the failed migrations of a server.
type failures struct {
	count int
	// last is the start of the last one, and message its reason.
	last    time.Time
	message string
}

// observe reads the state live, without a cache.
func observe(ctx context.Context, env *controller.Env, o *openstackv1.NodeMaintenance) (*observation, error) {
	obs := &observation{order: o, now: env.Clock.Now(), targets: map[string]string{}, failures: map[string]failures{}}
	if obs.limited = env.Limit(client.ObjectKeyFromObject(o), shortestInterval); obs.limited > 0 || obs.ended() {
		return obs, nil
	}
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	key := client.ObjectKey{Namespace: o.Namespace, Name: string(o.Spec.ServiceCheckName)}
	check, err := apireader.Get(ctx, env.Reader, "ServiceCheck", key, &openstackv1.ServiceCheck{})
	if err != nil {
		return nil, err
	}
	record, reason := recordOf(o, check)
	if reason.Reason != "" {
		obs.unavailable, obs.removed = reason, true
		return obs, nil
	}
	if o.Spec.Mode != openstackv1.MaintenancePlan || obs.started() {
		if err := obs.readCluster(ctx, env.Reader); err != nil {
			return nil, err
		}
	}
	var problem string
	if obs.nova, problem, err = compute.Find(ctx, env.Reader, env.Transport, o.Namespace, check.Spec.CloudCredentialsRef); err != nil {
		return nil, err
	}
	if problem == "" {
		problem = obs.readNode(ctx, record)
	}
	if problem != "" {
		obs.unavailable = condition.False("ServiceUnavailable", problem)
	}
	return obs, nil
}

// started reports whether the draining has started.
func (obs *observation) started() bool { return obs.order.Status.StartTime != nil }

// recordOf returns the record of the node in its pool, or why it does not belong to the pool. The ServiceCheck records the nodes of a pool
// that are registered in Nova.
func recordOf(o *openstackv1.NodeMaintenance, check *openstackv1.ServiceCheck) (openstackv1.NodeRecord, condition.State) {
	if check == nil {
		return openstackv1.NodeRecord{}, condition.False("PoolNotFound", fmt.Sprintf("spec.serviceCheckName: ServiceCheck %s does not exist; "+
			"the name is the namespace of the pool", o.Spec.ServiceCheckName))
	}
	for _, n := range check.Status.Nodes {
		if n.Name == string(o.Spec.NodeName) {
			return n, condition.State{}
		}
	}
	return openstackv1.NodeRecord{}, condition.False("NodeNotFound", fmt.Sprintf("spec.nodeName: node %s is not in status.nodes of "+
		"ServiceCheck %s; it must run nova-compute of the pool", o.Spec.NodeName, check.Name))
}

// readCluster reads the Node, and the other started orders of the pool.
func (obs *observation) readCluster(ctx context.Context, reader client.Reader) (err error) {
	o := obs.order
	obs.node, err = apireader.Get(ctx, reader, "Node", client.ObjectKey{Name: string(o.Spec.NodeName)}, &corev1.Node{})
	switch {
	case apierrors.IsForbidden(err):
		obs.nodeProblem = "the companion may not read Nodes: set virtualization.evictOnCordon in the HypervisorCluster"
	case err != nil:
		return err
	}
	all := &openstackv1.NodeMaintenanceList{}
	if err := reader.List(ctx, all, client.InNamespace(o.Namespace)); err != nil {
		return fmt.Errorf("cannot list the NodeMaintenances: %w", err)
	}
	for i := range all.Items {
		other := &all.Items[i]
		if other.Name != o.Name && other.Spec.ServiceCheckName == o.Spec.ServiceCheckName && other.Status.StartTime != nil &&
			other.Status.State != openstackv1.MaintenanceInService {
			obs.others = append(obs.others, *other)
		}
	}
	return nil
}

// readNode reads the records of the node, and returns why they are incomplete; "" if they are complete.
func (obs *observation) readNode(ctx context.Context, record openstackv1.NodeRecord) string {
	host := string(obs.order.Spec.NodeName)
	var err error
	switch obs.service, err = obs.nova.HostService(ctx, host); {
	case err != nil:
		return err.Error()
	case obs.service == nil:
		return "Nova has no record of nova-compute on " + host
	case obs.service.Unknown:
		return "the database of the cell of " + host + " does not respond"
	}
	servers, err := obs.nova.ListServerDetails(ctx, host)
	if err != nil {
		return err.Error()
	}
	if obs.migrations, err = obs.nova.ListMigrations(ctx, host); err != nil {
		return err.Error()
	}
	for _, read := range []func() error{
		func() error { return obs.readCandidates(ctx, servers) },
		func() error { return obs.readFailures(ctx) },
		func() error { return obs.readConsumers(ctx, record.Provider) },
		func() error { return obs.readAgents(ctx) },
	} {
		if err := read(); err != nil {
			return err.Error()
		}
	}
	return ""
}

// readCandidates reads the ports of servers, and the policies of groups that have more than one server on the node.
func (obs *observation) readCandidates(ctx context.Context, servers []compute.ServerDetails) error {
	if len(servers) == 0 {
		return nil
	}
	vnics, err := obs.nova.ListVNICTypes(ctx, string(obs.order.Spec.NodeName))
	if err != nil {
		return err
	}
	members := map[string]int{}
	for _, s := range servers {
		if s.Group != "" {
			members[s.Group]++
		}
	}
	for group, n := range members {
		policy := ""
		if n > 1 {
			if policy, err = obs.nova.GroupPolicy(ctx, group); err != nil {
				return err
			}
		}
		if policy != "affinity" {
			members[group] = 1
		}
	}
	for _, s := range servers {
		c := candidate{ServerDetails: s, vnics: vnics[s.ID], affine: max(members[s.Group]-1, 0)}
		if obs.order.Spec.ServerMetadata != openstackv1.IgnoreMetadata {
			c.requested = strings.ToLower(strings.TrimSpace(s.Metadata[metadataKey]))
		}
		if slices.Contains(obs.order.Status.StoppedServers, s.ID) && s.Status == "SHUTOFF" {
			c.requested = stopOnly // It is started on this node.
		}
		obs.candidates = append(obs.candidates, c)
	}
	slices.SortFunc(obs.candidates, func(a, b candidate) int { return strings.Compare(a.ID, b.ID) })
	return nil
}

// readFailures counts the failed migrations of servers on the node since the start, and reads the reasons of the first ones.
func (obs *observation) readFailures(ctx context.Context) error {
	host := string(obs.order.Spec.NodeName)
	for _, m := range obs.migrations {
		if m.Source == host && !m.IsFinished() {
			obs.targets[m.Server] = m.Target
		}
		if obs.started() && m.Source == host && m.FailedAfter(obs.order.Status.StartTime.Time) {
			f := obs.failures[m.Server]
			f.count++
			if at := m.StartedAt(); at.After(f.last) {
				f.last = at
			}
			obs.failures[m.Server] = f
		}
	}
	read := 0
	for i := range obs.candidates {
		id := obs.candidates[i].ID
		f, failed := obs.failures[id]
		if !failed || read == shownMessages {
			continue
		}
		var err error
		if f.message, err = obs.nova.MoveFailure(ctx, id); err != nil {
			return err
		}
		obs.failures[id] = f
		read++
	}
	return nil
}

// readConsumers reads the allocations on the node if all of its servers stay: Nova allocates resources before nova-compute has a record
// of a server, and until the server has left. See fetchEviction of package servicecheck for the order of Nova's steps.
func (obs *observation) readConsumers(ctx context.Context, provider string) (err error) {
	if !obs.started() || provider == "" || len(obs.remaining()) > 0 {
		return nil
	}
	obs.consumers, err = obs.nova.Consumers(ctx, provider)
	return err
}

// readAgents reads Neutron's agents while the node returns.
func (obs *observation) readAgents(ctx context.Context) error {
	if obs.order.Status.ReturnTime == nil {
		return nil
	}
	all, err := obs.nova.ListAgents(ctx)
	if err != nil {
		return err
	}
	for _, a := range all {
		if a.Host == string(obs.order.Spec.NodeName) {
			obs.agents = append(obs.agents, a)
		}
	}
	return nil
}

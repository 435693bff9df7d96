package nodemaintenance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
)

// passTimeout limits the reads of a pass. It is longer than two requests to Nova during which the database of a cell does not respond.
const passTimeout = 4 * time.Minute

// observation is the state that was read in one pass.
type observation struct {
	order *openstackv1.NodeMaintenance
	now   time.Time
	// limited is the remaining rate limit. unavailable is the reason for which the state of the node is unknown.
	limited     time.Duration
	unavailable condition.State

	nova    *compute.API
	service *compute.Service
	// candidates are the servers on the node, and targets the hosts to which servers are migrating, by server.
	candidates []candidate
	targets    map[string]string
	migrations []compute.Migration
}

// observe reads the state live, without a cache.
func observe(ctx context.Context, env *controller.Env, o *openstackv1.NodeMaintenance) (*observation, error) {
	obs := &observation{order: o, now: env.Clock.Now(), targets: map[string]string{}}
	if obs.limited = env.Limit(client.ObjectKeyFromObject(o), shortestInterval); obs.limited > 0 {
		return obs, nil
	}
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	name := string(o.Spec.ServiceCheckName)
	check, err := live.Get(ctx, env.Reader, "ServiceCheck", client.ObjectKey{Namespace: o.Namespace, Name: name}, &openstackv1.ServiceCheck{})
	if err != nil {
		return nil, err
	}
	if obs.unavailable = unknownNode(o, check); obs.unavailable.Reason != "" {
		return obs, nil
	}
	var problem string
	if obs.nova, problem, err = compute.Find(ctx, env.Reader, env.Transport, o.Namespace, check.Spec.CloudCredentialsRef); err != nil {
		return nil, err
	}
	if problem == "" {
		problem = obs.readNode(ctx)
	}
	if problem != "" {
		obs.unavailable = condition.False("ServiceUnavailable", problem)
	}
	return obs, nil
}

// unknownNode returns why the node does not belong to the pool. The ServiceCheck records the nodes of a pool that are registered in Nova.
func unknownNode(o *openstackv1.NodeMaintenance, check *openstackv1.ServiceCheck) condition.State {
	if check == nil {
		return condition.False("PoolNotFound", fmt.Sprintf("spec.serviceCheckName: ServiceCheck %s does not exist; the name is the namespace of "+
			"the pool", o.Spec.ServiceCheckName))
	}
	for _, n := range check.Status.Nodes {
		if n.Name == string(o.Spec.NodeName) {
			return condition.State{}
		}
	}
	return condition.False("NodeNotFound", fmt.Sprintf("spec.nodeName: node %s is not in status.nodes of ServiceCheck %s; it must run "+
		"nova-compute of the pool", o.Spec.NodeName, check.Name))
}

// readNode reads the records of the node, and returns why they are incomplete; "" if they are complete.
func (obs *observation) readNode(ctx context.Context) string {
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
	for _, m := range obs.migrations {
		if m.Source == host && !m.IsFinished() {
			obs.targets[m.Server] = m.Target
		}
	}
	if err := obs.readCandidates(ctx, servers); err != nil {
		return err.Error()
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
		obs.candidates = append(obs.candidates, c)
	}
	slices.SortFunc(obs.candidates, func(a, b candidate) int { return strings.Compare(a.ID, b.ID) })
	return nil
}

package hypervisorrecovery

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

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

// hasServersRead reports whether the servers of a node are read in each pass. Running servers are recorded before its power goes off.
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

// stillFailed returns the servers on a host that still do not run, and the IDs of the servers that are SHUTOFF.
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

// checkList returns why the list of the servers on a node is incomplete; "" if it is not. Nova omits a cell whose database does not
// respond in time, with HTTP 200, even if another process of nova-api has just read the services of this cell. Therefore, recorded servers
// that the list does not have are read directly: Nova returns an error then. readStopped reads the recorded stopped servers.
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

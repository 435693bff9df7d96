package servicecheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// disabledReasonPrefix is the prefix of the reason with which nova-compute is disabled, followed by the time.
const disabledReasonPrefix = compute.CordonReason

// attempts is the number of failed migrations after which a server is not migrated again.
const attempts = 3

// disabledSince returns when this controller disabled the service; false if it did not.
func disabledSince(s *compute.Service) (time.Time, bool) {
	text, ok := strings.CutPrefix(s.Reason, disabledReasonPrefix)
	at, err := time.Parse(time.RFC3339, text)
	return at, ok && s.Disabled && err == nil
}

// eviction is the state of a cordoned node.
type eviction struct {
	// node is its name. service is the record of its nova-compute; nil if Nova has none.
	node    string
	service *compute.Service
	servers []compute.Server
	// failed is the number of failed migrations of each server since the eviction started.
	failed map[string]int
	// notEmptyReason explains that a node without listed servers may have some, or get some; "" if it cannot.
	notEmptyReason string
}

// fetchEvictions reads which nodes are cordoned, and their servers. It includes recorded nodes without a pod, because servers
// keep running without it.
func (obs *observation) fetchEvictions(ctx context.Context, env *controller.Env) error {
	nodes := maps.Clone(obs.nodes.ownHosts)
	for _, r := range obs.records {
		nodes[r.Name] = true
		obs.nodes.evicted[r.Name] = obs.nodes.evicted[r.Name] || obs.nodes.evictsOthers && !obs.nodes.ownHosts[r.Name]
	}
	sorted := slices.Sorted(maps.Keys(nodes))
	cordoned := make([]bool, len(sorted))
	if err := inParallel(obs.parallel, len(sorted), func(i int) (err error) {
		cordoned[i], err = obs.cordoned(ctx, env.Reader, sorted[i])
		return err
	}); err != nil {
		return err
	}
	var evicted []string
	for i, node := range sorted {
		service := obs.compute(node)
		switch {
		case cordoned[i]:
			evicted = append(evicted, node)
		case service == nil:
		default:
			if _, did := disabledSince(service); did {
				obs.open = append(obs.open, *service)
			}
		}
	}
	obs.evictions = make([]eviction, len(evicted))
	if err := inParallel(obs.parallel, len(evicted), func(i int) (err error) {
		obs.evictions[i], err = obs.fetchEviction(ctx, evicted[i])
		return err
	}); err != nil {
		return obs.failed(err)
	}
	return nil
}

// cordoned reports whether a node must be drained. The Node is read only if the check can evict it, because reading requires
// a permission.
func (obs *observation) cordoned(ctx context.Context, reader client.Reader, node string) (bool, error) {
	if !obs.nodes.evicted[node] {
		return false, nil
	}
	n, err := apireader.Get(ctx, reader, "Node", client.ObjectKey{Name: node}, &corev1.Node{})
	if err != nil || n == nil {
		return false, err
	}
	return n.Spec.Unschedulable, nil
}

// fetchEviction reads the servers of a cordoned node, and whether it can get more. Nova's lists of servers and migrations lack
// the rows of a cell that stopped to respond during the pass; its hypervisors and Placement do not.
//
// Nova's lists wait for a database that does not respond, so that a pass with many cordoned nodes would not end. They are then read only
// for nodes with servers. The other nodes have no servers in the database of their cell, and allocationsReason proves from Placement that
// none can arrive: Nova allocates resources on a node before it decides that a server moves there, and until the server has left it.
//
//   - Create, unshelve, evacuate: the scheduler allocates for the server before nova-compute gets the request
//     (_schedule of nova/scheduler/manager.py). Shelving and deletion release it after the guest is destroyed
//     (_shelve_offload_instance of nova/compute/manager.py). A node from which servers were evacuated has their allocations until its
//     nova-compute has deleted their data (_destroy_evacuated_instances).
//   - Live migration, cold migration, resize: the allocations on the source become those of the migration
//     (replace_allocation_with_migration of nova/conductor/tasks/migrate.py) before the server gets allocations on the target; a migration
//     records its target after that (_execute of live_migrate.py). The source keeps them until the migration has ended or the resize is
//     confirmed (_delete_allocation_after_move). After a failure or for a revert, one request to Placement gives them to the server, and
//     releases the target (_revert_allocation): the server is on the source then.
func (obs *observation) fetchEviction(ctx context.Context, node string) (eviction, error) {
	e := eviction{node: node, service: obs.compute(node), failed: map[string]int{}}
	h, listed := obs.hypervisors[node]
	switch {
	case e.service == nil:
		e.notEmptyReason = "Nova has no record of its nova-compute"
	case e.service.Unknown:
		e.notEmptyReason = obs.unresponsiveCells([]string{node})
	case !listed:
		e.notEmptyReason = "Nova lists no hypervisor for it"
	}
	if e.notEmptyReason != "" {
		return e, nil
	}
	incoming := 0
	if obs.areListed || h.Servers > 0 {
		var err error
		if incoming, err = obs.fetchServers(ctx, &e); err != nil {
			return e, err
		}
	}
	var err error
	switch {
	case len(e.servers) > 0:
	case !e.service.Disabled:
		e.notEmptyReason = "its nova-compute accepts new servers"
	case incoming > 0:
		e.notEmptyReason = fmt.Sprintf("%d servers are migrating to it", incoming)
	case h.Servers > 0:
		e.notEmptyReason = fmt.Sprintf("its hypervisor has %d servers", h.Servers)
	default:
		e.notEmptyReason, err = obs.allocationsReason(ctx, h.Provider)
	}
	return e, err
}

// fetchServers reads the servers on a node with their failed migrations, and returns the number of migrations to it.
func (obs *observation) fetchServers(ctx context.Context, e *eviction) (incoming int, err error) {
	if e.servers, err = obs.nova.ListServers(ctx, e.node); err != nil {
		return 0, err
	}
	all, err := obs.nova.ListMigrations(ctx, e.node)
	if err != nil {
		return 0, err
	}
	began, did := disabledSince(e.service)
	for _, m := range all {
		switch {
		case m.Source != e.node && !m.IsFinished():
			incoming++
		case m.Source == e.node && did && m.FailedAfter(began):
			e.failed[m.Server]++
		}
	}
	return incoming, nil
}

// allocationsReason returns whether Placement has allocations on a node. They include servers that are being created on it:
// Nova's scheduler allocates resources before nova-compute has a record of the server.
func (obs *observation) allocationsReason(ctx context.Context, provider string) (string, error) {
	tree, err := obs.nova.Tree(ctx, provider)
	if err != nil {
		return "", err
	}
	for _, p := range tree {
		if p.Consumers > 0 {
			return fmt.Sprintf("Placement has allocations of %d servers on it, such as servers that are being created or resized: see openstack "+
				"resource provider show --allocations %s", p.Consumers, p.ID), nil
		}
	}
	return "", nil
}

// notMigratedReason returns why a server is not migrated; "" if it is.
func (e *eviction) notMigratedReason(s compute.Server) string {
	switch n := e.failed[s.ID]; {
	case s.Task != "":
		return ""
	case s.Status != "ACTIVE" && s.Status != "PAUSED":
		return "it is " + s.Status + ", and only running servers can be live-migrated: start it, migrate it manually, or delete it"
	case n >= attempts:
		return fmt.Sprintf("%d migrations failed; see openstack server event list --long %s", n, s.ID)
	}
	return ""
}

// migrating returns the server that is being migrated; nil if none exists.
func (e *eviction) migrating() *compute.Server {
	if i := slices.IndexFunc(e.servers, func(s compute.Server) bool { return s.Task == "migrating" }); i >= 0 {
		return &e.servers[i]
	}
	return nil
}

// migratable returns the servers that can be migrated, ordered by the number of failed migrations.
func (e *eviction) migratable() []compute.Server {
	out := slices.DeleteFunc(slices.Clone(e.servers), func(s compute.Server) bool { return s.Task != "" || e.notMigratedReason(s) != "" })
	slices.SortStableFunc(out, func(a, b compute.Server) int { return e.failed[a.ID] - e.failed[b.ID] })
	return out
}

// evict returns the actions for cordoned and uncordoned nodes, with their descriptions.
func (obs *observation) evict() (summary []string, do []controller.Action) {
	for _, s := range obs.open {
		summary = append(summary, "enabled nova-compute on "+s.Host)
		do = append(do, func(ctx context.Context, _ *controller.Env) error { return obs.nova.Enable(ctx, s) })
	}
	for _, e := range obs.evictions {
		if e.service == nil || e.service.Unknown {
			continue
		}
		_, did := disabledSince(e.service)
		switch {
		case !e.service.Disabled:
			summary = append(summary, "disabled nova-compute on "+e.node)
			reason := disabledReasonPrefix + obs.now.UTC().Format(time.RFC3339)
			do = append(do, func(ctx context.Context, _ *controller.Env) error { return obs.nova.Disable(ctx, *e.service, reason) })
		case did && e.service.Up && e.migrating() == nil && len(e.migratable()) > 0:
			summary = append(summary, "started a live migration from "+e.node)
			do = append(do, func(ctx context.Context, _ *controller.Env) error { return obs.migrateNext(ctx, e.migratable()) })
		}
	}
	return summary, do
}

// migrateNext migrates the first of the servers that Nova accepts.
func (obs *observation) migrateNext(ctx context.Context, from []compute.Server) error {
	var errs []error
	for _, s := range from {
		err := obs.nova.Move(ctx, s)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
		if !compute.Rejected(err) {
			break
		}
	}
	return errors.Join(errs...)
}

// all executes all actions, even if some fail.
func all(do []controller.Action) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		var errs []string
		for _, d := range do {
			if err := d(ctx, env); err != nil {
				errs = append(errs, strings.ReplaceAll(err.Error(), "\n", "; "))
			}
		}
		if len(errs) > 0 {
			return &controller.TerminalError{Reason: "RejectedByService", Message: strings.Join(errs, "; ")}
		}
		return nil
	}
}

// evicting reports whether a migration is in progress, or a node without servers may get some.
func (obs *observation) evicting() bool {
	return slices.ContainsFunc(obs.evictions, func(e eviction) bool { return e.migrating() != nil || e.notEmptyReason != "" })
}

// evictionCondition returns the condition of cordoned nodes.
func (obs *observation) evictionCondition() condition.State {
	var stuck, busy, empty []string
	for i := range obs.evictions {
		e := &obs.evictions[i]
		host := e.node
		if e.notEmptyReason != "" {
			busy = append(busy, host+" may have servers: "+e.notEmptyReason)
			continue
		}
		_, did := disabledSince(e.service)
		var stay []string
		for _, s := range e.servers {
			if why := e.notMigratedReason(s); why != "" {
				stay = append(stay, fmt.Sprintf("%s (%s): %s", s.Name, s.ID, why))
			}
		}
		switch moving := e.migrating(); {
		case len(e.servers) == 0:
			empty = append(empty, host)
		case e.service.MaintainedBy() != "":
			busy = append(busy, fmt.Sprintf("%s has %d servers, and NodeMaintenance %s maintains it", host, len(e.servers),
				e.service.MaintainedBy()))
		case e.service.Disabled && !did:
			stuck = append(stuck, fmt.Sprintf("%s has %d servers and was disabled by another user (%q): migrate them manually, or "+
				"enable the host to have them migrated", host, len(e.servers), e.service.Reason))
		case !e.service.Up:
			stuck = append(stuck, fmt.Sprintf("%s has %d servers, and its nova-compute does not report: they cannot be migrated",
				host, len(e.servers)))
		case moving != nil:
			busy = append(busy, fmt.Sprintf("%s has %d servers; migrating %s", host, len(e.servers), moving.Name))
		case len(stay) == len(e.servers):
			const most = 5
			stuck = append(stuck, fmt.Sprintf("%s has %d servers that cannot be migrated: %s", host, len(stay), strings.Join(stay[:min(len(stay),
				most)], "; ")))
		default:
			busy = append(busy, fmt.Sprintf("%s has %d servers", host, len(e.servers)))
		}
	}
	switch {
	case len(stuck) > 0:
		return condition.False("Stuck", strings.Join(append(stuck, busy...), "; "))
	case len(busy) > 0:
		return condition.False("Evicting", strings.Join(busy, "; "))
	case len(empty) > 0:
		return condition.True("NodesEmpty", "no servers are on "+condition.JoinNames(empty))
	}
	return condition.True("NoNodesCordoned", "no node is cordoned")
}

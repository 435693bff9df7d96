package servicecheck

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/blockstorage"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/daemonset"
)

const (
	// parallelRequests is the maximum number of concurrent requests of a pass. Nova's API has at least as many workers in a fleet.
	parallelRequests = 8
	// passTimeout limits the reads of a pass. It is longer than two requests to Nova during which the database of a cell does not respond.
	passTimeout = 4 * time.Minute
	// longestInterval is the maximum interval of a check, after which no check uses records.
	longestInterval = time.Hour
)

// collector reads the records of a control plane's services once for all of its ServiceChecks. Their passes run one after the other.
type collector struct {
	// parallel is the maximum number of concurrent requests; 0: one.
	parallel int
	last     map[source]*collection
}

// source identifies the records that checks share.
type source struct {
	service     string
	credentials common.CloudCredentialsReference
}

// collection contains the records of one read. Checks share it, and do not change it except for its caches.
type collection struct {
	// startedAt is the time before the first request. finishedAt is the time after the last one; zero after a change of records.
	startedAt, finishedAt time.Time
	// isDetailed is set if the records of nodes or the pools of backends were read, too.
	isDetailed bool
	// problem is the reason why a service cannot be queried. No records are set then: a partial response is a failure.
	problem string

	nova *compute.API
	// services are all records of processes, and computes the records of nova-compute by host.
	services []compute.Service
	computes map[string]*compute.Service
	// hypervisors is the list of Nova, by host. Without areListed, they are read one by one when a check needs them.
	hypervisors map[string]compute.Hypervisor
	areListed   bool
	// agents are all agents of Neutron, and agentIDs their sorted IDs by host.
	agents   []compute.Agent
	agentIDs map[string][]string
	// capacities are the capacities of resource providers, if they have been read.
	capacities map[string]compute.Capacity

	volumeServices []blockstorage.Service
	volumePools    []blockstorage.Pool

	// cells are the names of cells by host. They are read only if the database of one does not respond.
	cells map[string]string
	// checks are the nodes of all checks of the namespace, and daemonSets the nodes that have a pod. They are read after the records.
	checks     map[string][]openstackv1.CheckedNodes
	daemonSets map[client.ObjectKey]daemonSetNodes
}

// daemonSetNodes are the nodes with a pod of a DaemonSet.
type daemonSetNodes struct {
	nodes    []daemonset.Node
	complete bool
	err      error
}

// collect returns records that were read at most maxAge ago. It reads them if the last check did not. A failure is shared, too:
// otherwise each check would wait for the timeout of a service that does not respond.
func (c *collector) collect(
	ctx context.Context, env *controller.Env, check *openstackv1.ServiceCheck, maxAge time.Duration,
) (*collection, error) {
	key := source{check.Spec.Service, check.Spec.CloudCredentialsRef}
	detailed, now := len(check.Spec.Nodes)+len(check.Spec.Backends) > 0, env.Clock.Now()
	if last := c.last[key]; last != nil && (last.isDetailed || !detailed) {
		if last.problem != "" {
			maxAge = min(maxAge, shortRequeueInterval/2) //nolint:mnd // Each pass of one check sends requests.
		}
		// Checks that have waited for a slow service share its response, too.
		if now.Sub(last.finishedAt) <= maxAge {
			return last, nil
		}
	}
	out := &collection{startedAt: now, isDetailed: detailed}
	read := out.readCompute
	if check.Spec.Service == blockStorage {
		read = out.readVolumes
	}
	if err := read(ctx, env, check, c.parallel); err != nil {
		return nil, err
	}
	out.finishedAt = env.Clock.Now()
	if c.last == nil {
		c.last = map[source]*collection{}
	}
	// Rotated credentials have another name.
	maps.DeleteFunc(c.last, func(_ source, o *collection) bool { return out.finishedAt.Sub(o.finishedAt) > longestInterval })
	c.last[key] = out
	return out, nil
}

// readCompute reads the records of Nova, and of Placement and Neutron for a check of nodes.
func (c *collection) readCompute(ctx context.Context, env *controller.Env, check *openstackv1.ServiceCheck, parallel int) (err error) {
	c.nova, c.problem, err = compute.Find(ctx, env.Reader, env.Transport, check.Namespace, check.Spec.CloudCredentialsRef)
	if err != nil || c.problem != "" {
		return err
	}
	if c.services, err = c.nova.Services(ctx, ""); err != nil {
		c.fail(err)
		return nil
	}
	if c.isDetailed {
		lists := []func() error{
			func() (err error) { c.agents, err = c.nova.ListAgents(ctx); return err },
			func() (err error) { c.capacities, err = c.nova.ListCapacities(ctx); return err },
			func() error { return c.listHypervisors(ctx) },
		}
		if err := inParallel(parallel, len(lists), func(i int) error { return lists[i]() }); err != nil {
			c.fail(err)
			return nil
		}
	}
	if c.isPartial() {
		if err := c.readCells(ctx, env.Reader, check.Namespace); err != nil {
			return err
		}
	}
	c.computes, c.agentIDs = map[string]*compute.Service{}, map[string][]string{}
	for i := range c.services {
		if s := &c.services[i]; s.Binary == compute.Compute && c.computes[s.Host] == nil {
			c.computes[s.Host] = s
		}
	}
	for _, a := range c.agents {
		c.agentIDs[a.Host] = append(c.agentIDs[a.Host], a.ID)
	}
	for _, ids := range c.agentIDs {
		slices.Sort(ids)
	}
	return nil
}

// fail replaces all records by the reason why they cannot be read.
func (c *collection) fail(err error) {
	*c = collection{startedAt: c.startedAt, isDetailed: c.isDetailed, problem: err.Error()}
}

// isPartial reports whether the database of a cell with hypervisors does not respond.
func (c *collection) isPartial() bool {
	return slices.ContainsFunc(c.services, func(s compute.Service) bool { return s.Unknown })
}

// listHypervisors lists all hypervisors. It sends no request if Nova has just reported that the database of a cell does not respond: the
// request would occupy a worker of Nova's API until the timeout of the database, and fail. It also fails for a cell without hypervisors,
// which Nova does not report.
func (c *collection) listHypervisors(ctx context.Context) error {
	c.hypervisors = map[string]compute.Hypervisor{}
	if c.isPartial() {
		return nil
	}
	all, err := c.nova.ListHypervisors(ctx)
	if err == nil {
		c.hypervisors, c.areListed = all, true
	} else if compute.Rejected(err) {
		return err
	}
	return nil
}

// readCells reads the cells of hosts.
func (c *collection) readCells(ctx context.Context, reader client.Reader, namespace string) error {
	all := &openstackv1.CellMappingList{}
	if err := reader.List(ctx, all, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("cannot list the CellMappings: %w", err)
	}
	c.cells = map[string]string{}
	for i := range all.Items {
		for _, host := range all.Items[i].Status.Hosts {
			c.cells[host] = all.Items[i].Spec.Cell
		}
	}
	return nil
}

// unresponsiveCells returns why the state of hosts is unknown, whose cells have a database that does not respond.
func (c *collection) unresponsiveCells(hosts []string) string {
	var cells, others []string
	for _, host := range hosts {
		if cell := c.cells[host]; cell == "" {
			others = append(others, host)
		} else if !slices.Contains(cells, cell) {
			cells = append(cells, cell)
		}
	}
	slices.Sort(cells)
	for i, cell := range cells {
		cells[i] = "the database of cell " + cell + " does not respond"
	}
	if len(others) > 0 {
		cells = append(cells, "the database of the cell of "+condition.JoinNames(others)+" does not respond")
	}
	return strings.Join(cells, ", and ") + ": the state of " + condition.JoinNames(hosts) + " is unknown"
}

// readVolumes reads the records of Cinder. Its API cannot remove them.
func (c *collection) readVolumes(ctx context.Context, env *controller.Env, check *openstackv1.ServiceCheck, parallel int) error {
	api, problem, err := blockstorage.Find(ctx, env.Reader, env.Transport, check.Namespace, check.Spec.CloudCredentialsRef)
	if err != nil || problem != "" {
		c.problem = problem
		return err
	}
	lists := []func() error{func() (err error) { c.volumeServices, err = api.Services(ctx); return err }}
	if c.isDetailed {
		lists = append(lists, func() (err error) { c.volumePools, err = api.Pools(ctx); return err })
	}
	if err := inParallel(parallel, len(lists), func(i int) error { return lists[i]() }); err != nil {
		c.problem = err.Error()
		return nil //nolint:nilerr // Returned as problem.
	}
	for _, s := range c.volumeServices {
		c.services = append(c.services, compute.Service{Binary: s.Binary, Host: s.Host, Up: s.Up})
	}
	return nil
}

// readChecks reads which nodes the checks of a namespace have. A check that is created later is found with the next records: records of
// nodes are removed only after a read in the same pass.
func (c *collection) readChecks(ctx context.Context, reader client.Reader, namespace string) error {
	if c.checks != nil {
		return nil
	}
	all := &openstackv1.ServiceCheckList{}
	if err := reader.List(ctx, all, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("cannot list the ServiceChecks: %w", err)
	}
	c.checks, c.daemonSets = map[string][]openstackv1.CheckedNodes{}, map[client.ObjectKey]daemonSetNodes{}
	for i := range all.Items {
		c.checks[all.Items[i].Name] = all.Items[i].Spec.Nodes
	}
	return nil
}

// nodesOf returns the nodes with a pod of a DaemonSet.
func (c *collection) nodesOf(ctx context.Context, reader client.Reader, key client.ObjectKey) daemonSetNodes {
	out, known := c.daemonSets[key]
	if known {
		return out
	}
	out.nodes, out.complete, out.err = daemonset.Nodes(ctx, reader, key)
	if out.err == nil || apierrors.IsForbidden(out.err) {
		c.daemonSets[key] = out
	}
	return out
}

// inParallel calls do for 0 to n-1, with at most limit calls at a time, and starts no more after an error. It returns the error of the
// smallest index, so that the message does not depend on the order of responses.
func inParallel(limit, n int, do func(int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	work := func() {
		for !failed.Load() {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if errs[i] = do(i); errs[i] != nil {
				failed.Store(true)
			}
		}
	}
	var group sync.WaitGroup
	for range min(max(limit, 1), n) - 1 {
		group.Go(work)
	}
	work()
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

package guards

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/log"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
)

// TestMain tries a few histories in make test, and many in make test-long.
func TestMain(m *testing.M) {
	if err := effort.Histories(60, 20000); err != nil {
		panic(err)
	}
	function.TuneMemory()
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

const (
	noVirtualMachines      = "NoVirtualMachines"
	cordonedNodesEvacuated = "CordonedNodesEvacuated"
	// clockInterval is the interval of the clock that functions read.
	clockInterval = 10 * time.Minute
)

// scenario is the state of a history. It is the clock of all processes, too.
type scenario struct {
	t       *rapid.T
	now     time.Time
	pools   []*pool
	cloud   *cloud
	cluster *cluster
	// leader runs passes. rival believes that it is the leader during a pass of the leader.
	leader, rival *companion
	// guards are the conditions of the claims by pool, as their last call set them.
	guards []map[string]guard
	// interruptions are the requests of the current pass that are interrupted, and requests is the number of requests so far.
	interruptions map[int]bool
	requests      int
	// names is the number of nodes so far.
	names int
}

// Now returns the time.
func (w *scenario) Now() time.Time { return w.now }

// Since returns the time that has passed.
func (w *scenario) Since(t time.Time) time.Duration { return w.now.Sub(t) }

// counts are of all histories. openPartial are the open guards with a status that was observed while the database of a cell did not
// respond.
var counts struct{ histories, passes, calls, openEmpty, openEvicted, openPartial atomic.Int64 }

func newScenario(t *rapid.T) *scenario {
	w := &scenario{t: t, now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), pools: pools}
	if rapid.Bool().Draw(t, "control plane in another cluster") {
		w.pools = remotePools
	}
	w.cloud = newCloud(w.Now, func(n int) int { return w.draw("host", n) })
	w.cluster = &cluster{now: w.Now, nodes: map[string]*kubeNode{}, cloud: w.cloud}
	for _, p := range w.pools {
		w.cluster.checks = append(w.cluster.checks, []*openstackv1.ServiceCheck{p.check})
		w.guards = append(w.guards, map[string]guard{})
		w.cluster.recorded = append(w.cluster.recorded, map[string]bool{})
	}
	w.cloud.deleted = func(host string) {
		for _, recorded := range w.cluster.recorded {
			delete(recorded, host)
		}
	}
	w.leader = w.start()
	for range rapid.IntRange(1, 3).Draw(t, "nodes") {
		w.addNode()
	}
	return w
}

// draw returns a number below n.
func (w *scenario) draw(label string, n int) int {
	if n <= 1 {
		return 0
	}
	return rapid.IntRange(0, n-1).Draw(w.t, label)
}

// TestGuardIsClosedForSeparateCluster verifies that the guard of a pool is closed if its nodes are in another cluster than the control
// plane, so that the companion cannot count its servers.
func TestGuardIsClosedForSeparateCluster(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	if separatePool.check != nil {
		t.Error("the pool has a ServiceCheck")
	}
	if g := separatePool.run(nil, now, now)[noVirtualMachines]; g.open || g.reason != "CountUnknown" {
		t.Errorf("the guard is %+v", g)
	}
}

// TestGuardsAreClosedWhileServersExist searches for a history in which a guard is open while a server is on a node, or can still arrive
// there. The companion and the function of pools are the real ones.
//
// Servers that Nova schedules after the last observation are the window that freshness permits: a guard describes the state at the time
// status.lastObservationTime of the ServiceCheck. In exact terms, as long as a guard is open:
//
//   - NoVirtualMachines: no server that was scheduled to a node of the pool before that time is on the node, or can still arrive there.
//     While the services of all nodes are disabled, no server can exist at all.
//   - CordonedNodesEvacuated: if the node that it names has been cordoned since before that time, and no user has enabled its nova-compute since,
//     the service is disabled, no server is on the node, and none can arrive there.
//   - Both: when the function sets the condition, that time is at most the limit and an interval of the clock ago.
//
// At the end of each history all services work and the servers are deleted: the guards open.
func TestGuardsAreClosedWhileServersExist(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newScenario(t)
		counts.histories.Add(1)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			w.step()
			w.verify()
		}
		w.rest()
	})
	t.Logf("%d histories, %d passes, %d calls of the function; the guard of a pool was open in %d, that of a node in %d calls; %d of these "+
		"guards were observed while the database of a cell did not respond", counts.histories.Load(), counts.passes.Load(), counts.calls.Load(),
		counts.openEmpty.Load(), counts.openEvicted.Load(), counts.openPartial.Load())
	const many = 1000 // A guard is open during an outage of a cell in one of twenty histories.
	isOpen := counts.openPartial.Load() > 0 || counts.histories.Load() < many
	if counts.openEmpty.Load() == 0 || counts.openEvicted.Load() == 0 || !isOpen {
		t.Error("no guard was ever open")
	}
}

// step is a step of the history.
func (w *scenario) step() {
	switch w.draw("step", 9) {
	case 0, 1:
		w.event()
	case 2:
		w.advance()
	case 3:
		w.observe(w.draw("pool", len(w.pools)))
	case 4:
		w.call(w.draw("pool", len(w.pools)))
	case 5:
		w.now = w.now.Add(time.Minute)
		w.observe(0)
		w.observe(1)
		w.call(0)
		w.call(1)
	case 6:
		w.now = w.now.Add(time.Minute)
		pool := w.draw("pool", len(w.pools))
		w.observe(pool)
		w.call(pool)
	case 7:
		w.leader = w.start()
	case 8:
		w.cordon()
	}
}

// cordon cordons a node, and lets the companion evict it.
func (w *scenario) cordon() {
	n := w.node()
	if n == nil || !n.exists || n.pod < 0 {
		return
	}
	pool := n.pod
	if w.now = w.now.Add(time.Second); !n.cordoned {
		n.cordoned, n.cordonedAt = true, w.now
	}
	for range 2 {
		w.now = w.now.Add(time.Minute)
		w.observe(pool)
	}
	w.call(pool)
}

// advance lets time pass without a companion.
func (w *scenario) advance() {
	durations := []time.Duration{time.Second, 15 * time.Second, 4 * time.Minute, 6 * time.Minute, 16 * time.Minute, 24 * time.Hour}
	w.now = w.now.Add(durations[w.draw("duration", len(durations))])
}

// observe runs a pass of the leader, which events, faults and a rival interrupt.
func (w *scenario) observe(pool int) {
	counts.passes.Add(1)
	w.requests, w.interruptions = 0, map[int]bool{}
	for range w.draw("interruptions", 4) {
		const longest = 20
		w.interruptions[w.draw("request", longest)] = true
	}
	w.leader.pass(pool)
	if w.leader.dead {
		w.leader = w.start()
	}
	w.interruptions = nil
}

// interrupt is called before each request of a companion.
func (w *scenario) interrupt(p *companion) fault {
	w.requests++
	if p == w.rival || !w.interruptions[w.requests-1] {
		return noFault
	}
	switch w.draw("interruption", 6) {
	case 0: // Another leader completes a pass, while this one is delayed.
		w.rival = w.start()
		requests := w.requests
		if w.draw("delay", 2) == 1 {
			w.event()
			w.advance()
		}
		w.rival.pass(w.draw("pool", len(w.pools)))
		w.requests, w.rival = requests, nil
		w.event()
	case 1:
		return fault(1 + w.draw("fault", int(crashedAfter)))
	case 2:
		w.call(w.draw("pool", len(w.pools)))
	default:
		for range 1 + w.draw("more events", 2) {
			w.event()
		}
	}
	w.verify()
	return noFault
}

// call lets Crossplane call the function of a pool, possibly with an old status or an old time.
func (w *scenario) call(pool int) {
	counts.calls.Add(1)
	versions := w.cluster.checks[pool]
	const oldest = 3
	age := w.draw("age of the status", min(len(versions), oldest))
	if w.draw("lag", 4) != 0 { // Usually, it is the newest.
		age = 0
	}
	check := versions[len(versions)-1-age]
	g := w.pools[pool].run(check, w.now.Truncate(clockInterval), w.now)
	w.guards[pool] = g
	for name, count := range map[string]*atomic.Int64{noVirtualMachines: &counts.openEmpty, cordonedNodesEvacuated: &counts.openEvicted} {
		if g := g[name]; g.open && g.reason != "NoNodesCordoned" {
			count.Add(1)
			if w.cloud.isAnyCellDown() && g.observed.After(w.cloud.cellDownAt) {
				counts.openPartial.Add(1)
			}
		}
	}
	w.verify()
}

// event is a change that no companion makes. Its time is later than all earlier ones.
func (w *scenario) event() {
	w.now = w.now.Add(time.Second)
	switch w.draw("event", 12) {
	case 0:
		w.cloud.boot()
	case 1, 2:
		if s := w.server(); s != nil {
			w.cloud.proceed(s, w.draw("success", 4) != 0)
		}
	case 3:
		if s := w.server(); s != nil {
			w.cloud.migrate(s, w.draw("resize", 2) == 1)
		}
	case 4:
		if s := w.server(); s != nil && !w.cloud.isCellDown(s.host) {
			delete(w.cloud.servers, s.id)
		}
	case 5:
		cell := w.draw("cell", cells)
		w.cloud.cellDown[cell] = !w.cloud.cellDown[cell]
		w.cloud.cellDownAt = w.now
	case 6:
		down := []*bool{&w.cloud.novaDown, &w.cloud.placementDown}[w.draw("service", 2)]
		*down = !*down
	case 7:
		if n := w.node(); n != nil && n.exists {
			n.cordoned, n.cordonedAt = !n.cordoned, w.now
		}
	case 8:
		w.moveNode()
	case 9:
		if s := w.service(); s != nil && !w.cloud.cellDown[s.cell] {
			if s.disabled = !s.disabled; s.disabled {
				s.reason = "by a user"
			} else {
				s.reason, s.enabledAt = "", w.now
			}
		}
	case 10:
		if n := w.node(); n != nil {
			w.cluster.runControllers(n)
		}
	case 11:
		if n := w.node(); n != nil {
			n.powered = !n.powered
		}
	}
}

// addNode adds a node to a pool.
func (w *scenario) addNode() {
	w.names++
	n := &kubeNode{
		name: fmt.Sprintf("node-%d", w.names), cell: w.draw("cell", cells), exists: true, powered: true, pool: w.draw("pool", len(w.pools)), pod: -1,
		cordonedAt: w.now,
	}
	w.cluster.nodes[n.name] = n
	w.cluster.runControllers(n)
}

// moveNode adds, removes, or renames a node, or changes its pool.
func (w *scenario) moveNode() {
	n := w.node()
	switch w.draw("move", 4) {
	case 0:
		if len(w.cluster.nodes) < 5 {
			w.addNode()
		}
	case 1:
		n.exists, n.cordoned, n.cordonedAt = !n.exists, false, w.now
	case 2:
		n.pool = w.draw("pool", len(w.pools)+1) - 1
	case 3: // It is installed again with another name.
		n.exists, n.powered, n.cordoned, n.cordonedAt = false, false, false, w.now
		w.cluster.runControllers(n)
		if len(w.cluster.nodes) < 5 {
			w.addNode()
		}
	}
}

// pickOne returns an item by its sorted name; the zero value if the map is empty.
func pickOne[T any](w *scenario, label string, m map[string]T) (out T) {
	if len(m) == 0 {
		return out
	}
	names := slices.Sorted(maps.Keys(m))
	return m[names[w.draw(label, len(names))]]
}

func (w *scenario) server() *server          { return pickOne(w, "server", w.cloud.servers) }
func (w *scenario) node() *kubeNode          { return pickOne(w, "node", w.cluster.nodes) }
func (w *scenario) service() *computeService { return pickOne(w, "service", w.cloud.computes) }

// verify fails if a guard is open and must not be.
func (w *scenario) verify() {
	for pool, guards := range w.guards {
		if g := guards[noVirtualMachines]; g.open {
			w.verifyPool(pool, g)
		}
		if g := guards[cordonedNodesEvacuated]; g.open {
			w.verifyNodes(pool, g)
		}
	}
}

// verifyPool verifies the guard of a pool.
func (w *scenario) verifyPool(pool int, g guard) {
	if g.reason == "NoNodes" {
		w.t.Fatalf("the guard of pool %d is open without a count: %s", pool, g.message)
	}
	if age := g.ran.Sub(g.observed); age > freshness.GuardLimit+clockInterval {
		w.t.Fatalf("the guard of pool %d is open with a status that is %s old", pool, age)
	}
	for _, s := range w.cloud.servers {
		for _, host := range s.hosts() {
			n := w.cluster.nodes[host]
			isNode := n.pod == pool && !n.joined.After(g.observed) || n.pod < 0 && w.cluster.recorded[pool][host]
			if isNode && !s.scheduled[host].After(g.observed) {
				w.t.Fatalf("the guard of pool %d is open (%s) with the state at %s, while server %+v is on %s, or can arrive there",
					pool, g.message, g.observed.Format(time.TimeOnly), *s, host)
			}
		}
	}
}

// verifyNodes verifies the guard of the nodes of a pool.
func (w *scenario) verifyNodes(pool int, g guard) {
	if age := g.ran.Sub(g.observed); age > freshness.GuardLimit+clockInterval {
		w.t.Fatalf("the guard of nodes of pool %d is open with a status that is %s old", pool, age)
	}
	for _, n := range w.cluster.nodes {
		if !g.names(n.name) || !n.exists || !n.cordoned || n.cordonedAt.After(g.observed) {
			continue
		}
		s := w.cloud.computes[n.name]
		if s != nil && s.enabledAt.After(g.observed) {
			continue
		}
		if s != nil && !s.disabled {
			w.t.Fatalf("the guard of %s is open, while its nova-compute is enabled", n.name)
		}
		for _, o := range w.cloud.servers {
			if slices.Contains(o.hosts(), n.name) {
				w.t.Fatalf("the guard of %s is open, while server %+v is on it, or can arrive there", n.name, *o)
			}
		}
	}
}

// rest ends all disturbances, deletes the servers, and expects that the guards open.
func (w *scenario) rest() {
	w.cloud.novaDown, w.cloud.placementDown, w.cloud.cellDown, w.cloud.servers = false, false, map[int]bool{}, map[string]*server{}
	for range 4 {
		for _, name := range slices.Sorted(maps.Keys(w.cluster.nodes)) {
			n := w.cluster.nodes[name]
			n.powered = n.exists && n.pool >= 0
			w.cluster.runControllers(n)
		}
		for pool := range w.pools {
			w.now = w.now.Add(time.Minute)
			w.leader.pass(pool)
			w.verify()
		}
	}
	for pool := range w.pools {
		w.guards[pool] = w.pools[pool].run(w.last(pool), w.now.Truncate(clockInterval), w.now)
	}
	w.verify()
	for pool, guards := range w.guards {
		if g := guards[noVirtualMachines]; !g.open {
			w.t.Fatalf("the guard of pool %d does not open: %s", pool, g.message)
		}
		if g := guards[cordonedNodesEvacuated]; !g.open {
			w.t.Fatalf("the guard of nodes of pool %d does not open: %s", pool, g.message)
		}
		for _, n := range w.cluster.nodes {
			if g := guards[cordonedNodesEvacuated]; n.pod == pool && n.exists && n.cordoned && !g.names(n.name) {
				w.t.Fatalf("the guard of %s does not open: %s", n.name, g.message)
			}
		}
	}
}

// last returns the newest version of the check of a pool.
func (w *scenario) last(pool int) *openstackv1.ServiceCheck {
	versions := w.cluster.checks[pool]
	return versions[len(versions)-1]
}

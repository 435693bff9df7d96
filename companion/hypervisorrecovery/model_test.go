package hypervisorrecovery

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// stride selects runs, to limit the duration of make test; make test-long has more runs, and 1 all of them. Writes are the most important
// ones.
var stride = flag.Int("crash.every", effort.Of(97, 7), "make every n-th run of TestRecoversFromFaultAtAnyCall")

// faults are the events of a history, each about a machine.
var faults = map[string]func(*simulation, *machine){
	"power lost":          func(w *simulation, m *machine) { w.switchOff(m) },
	"power on":            func(w *simulation, m *machine) { w.switchOn(m) },
	"hangs":               func(_ *simulation, m *machine) { m.hangs = m.powered },
	"management cut":      func(_ *simulation, m *machine) { m.management = false },
	"management repaired": func(_ *simulation, m *machine) { m.management = true },
	"data cut":            func(_ *simulation, m *machine) { m.data = false },
	"data repaired":       func(_ *simulation, m *machine) { m.data = true },
	"controller hangs":    func(_ *simulation, m *machine) { m.control = false },
	"controller repaired": func(_ *simulation, m *machine) { m.control = true },
	"controller mistaken": func(_ *simulation, m *machine) { m.mistaken = true },
	"controller right":    func(_ *simulation, m *machine) { m.mistaken = false },
	"controller lies":     func(_ *simulation, m *machine) { m.lying = true },
	"controller honest":   func(_ *simulation, m *machine) { m.lying = false },
	"resumes":             func(_ *simulation, m *machine) { m.hangs = false },
	"cordoned":            func(w *simulation, m *machine) { w.cordon(m.name, true) },
	"uncordoned":          func(w *simulation, m *machine) { w.cordon(m.name, false) },
	"controllers swapped": func(w *simulation, _ *machine) { w.swapped = true },
	"controllers right":   func(w *simulation, _ *machine) { w.swapped = false },
	"probes fail":         func(w *simulation, _ *machine) { w.isolated = true },
	"probes repaired":     func(w *simulation, _ *machine) { w.isolated = false },
	"probe misconfigured": func(w *simulation, m *machine) { w.setProbe(m, unusedAddress) },
	"probe corrected":     func(w *simulation, m *machine) { w.setProbe(m, m.probe) },
	"cell fails":          func(w *simulation, m *machine) { w.nova.SetCellDown(m.name) },
	"cell repaired":       func(w *simulation, _ *machine) { w.nova.SetCellDown() },
	"lists incomplete":    func(w *simulation, m *machine) { w.nova.SetIncomplete(m.name) },
	"lists complete":      func(w *simulation, _ *machine) { w.nova.SetIncomplete() },
	"node unknown":        func(_ *simulation, m *machine) { m.unlisted = true },
	"node known":          func(_ *simulation, m *machine) { m.unlisted = false },
	"nova fails":          func(w *simulation, _ *machine) { w.nova.SetDown(true) },
	"nova repaired":       func(w *simulation, _ *machine) { w.nova.SetDown(false) },
	"requests stall":      func(w *simulation, _ *machine) { w.nova.SetStalled(true) },
	"requests executed":   func(w *simulation, _ *machine) { w.nova.SetStalled(false) },
	"starts fail":         func(w *simulation, _ *machine) { w.nova.FailStarts("b", true) },
	"starts succeed":      func(w *simulation, _ *machine) { w.nova.FailStarts("b", false) },
	"claims fail":         func(w *simulation, _ *machine) { w.nova.FailClaims("b", true) },
	"claims succeed":      func(w *simulation, _ *machine) { w.nova.FailClaims("b", false) },
	"no host for servers": func(w *simulation, _ *machine) { w.nova.FailMoves("a", "No valid host was found.") },
	"hosts for servers":   func(w *simulation, _ *machine) { w.nova.FailMoves("a", "") },
}

// rareFaults are events of TestHistories only: Nova itself starts a guest twice after some of their combinations with others.
var rareFaults = map[string]func(*simulation, *machine){
	"live migration interrupted": func(w *simulation, m *machine) { w.interruptMigration("b", m, w.machine("node-2")) },
}

// history is a drawn sequence of faults, with one fault at a call of the controller.
type history struct {
	events []event
	// lap is the duration of a tick; 0: ten seconds.
	lap   time.Duration
	point faultinjection.Point
}

type event struct {
	tick          int
	fault, target string
}

func drawHistory(t *rapid.T) history {
	names := []string{}
	for name := range faults {
		names = append(names, name)
	}
	slices.Sort(names)
	var h history
	// A few kinds of faults in each history, so that their combinations are likely.
	kinds := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 5, rapid.ID[string]).Draw(t, "kinds")
	nodes := rapid.IntRange(1, 3).Draw(t, "nodes")
	for range rapid.IntRange(1, 10).Draw(t, "count") {
		h.events = append(h.events, event{
			tick: rapid.IntRange(0, 60).Draw(t, "tick"), fault: rapid.SampledFrom(kinds).Draw(t, "fault"),
			target: fmt.Sprintf("node-%d", rapid.IntRange(1, nodes).Draw(t, "node")),
		})
	}
	if rapid.Bool().Draw(t, "failure") { // Most histories of single faults recover nothing.
		h.events = append(h.events, event{tick: rapid.IntRange(0, 20).Draw(t, "failure at"), fault: "hangs", target: "node-1"})
	}
	h.point = faultinjection.Point{
		Call: rapid.IntRange(0, 1200).Draw(t, "call"), Stale: rapid.Bool().Draw(t, "stale"),
		Fault: rapid.SampledFrom([]faultinjection.Fault{
			faultinjection.FailBeforeWrite, faultinjection.FailAfterWrite, faultinjection.Conflict, faultinjection.ConcurrentWriter,
		}).Draw(t, "crash"),
	}
	return h
}

// playHistory executes a history, and then lets the simulation settle.
func playHistory(t testing.TB, h history) *simulation {
	t.Helper()
	w := newSimulation(t, 4, runs("a"), runs("b"), runs("stopped").in("SHUTOFF"), runs("local").local(), runs("never").wants(priorityKey, "never"))
	w.lap = cmp.Or(h.lap, w.lap)
	api := faultinjection.New(w.api, h.point)
	api.Written = w.check
	r := w.reconciler(api.Client(), api.HTTP(w))
	api.OnConcurrentWrite = func() {
		other := w.sound()
		other.memory = *r.memory.clone() // It has observed the pool for as long.
		for range 1 + h.point.Call%4 {
			_, _ = pass(other) // Its errors are faults of the history.
			w.advance()
		}
	}
	tick := func() {
		_, _ = pass(r) // as above
		api.ReconcileDone()
		w.advance()
	}
	for i := range 61 {
		for _, e := range h.events {
			if e.tick == i {
				do := faults[e.fault]
				if do == nil {
					do = rareFaults[e.fault]
				}
				do(w, w.machine(e.target))
			}
		}
		tick()
	}
	w.isolated, w.swapped = false, false
	w.nova.SetDown(false)
	w.nova.SetStalled(false)
	w.nova.FailStarts("b", false)
	w.nova.FailClaims("b", false)
	w.nova.SetCellDown()
	w.nova.SetIncomplete()
	w.nova.FailMoves("a", "")
	for _, m := range w.machines {
		m.control, m.management, m.data, m.unlisted = true, true, true, false
		m.mistaken, m.lying = false, false
		w.cordon(m.name, false)
		w.setProbe(m, m.probe)
	}
	w.lap *= 2
	for range 60 { // Longer than the interval between attempts.
		tick()
	}
	return w
}

// clone returns a copy.
func (m *memory) clone() *memory {
	out := &memory{pools: map[string]*past{}}
	for key, p := range m.pools {
		c := *p
		c.responses = nil // Another process has none.
		c.failures, c.unansweredTimes, c.off, c.healthySince = maps.Clone(p.failures), maps.Clone(p.unansweredTimes), maps.Clone(p.off), maps.Clone(p.healthySince)
		out.pools[key] = &c
	}
	return out
}

// unexplained returns the servers that neither run, nor have a reason for it.
func (w *simulation) unexplained() (problems []string) {
	status := w.recovery().Status
	for _, id := range []string{"a", "b", "local", "never"} {
		isHidden := func(m *machine) bool { return m.lied && m.powered && m.domains[id] } // See unreported.
		if len(w.running(id)) == 1 || slices.ContainsFunc(w.machines, isHidden) {
			continue
		}
		host := w.hostOf(id)
		record := w.record(host)
		isFailed := func(s openstackv1.FailedServer) bool { return s.ID == id && s.NodeName == host }
		// A node that starts again before its servers are evacuated keeps them.
		explained := w.synced[id] || slices.ContainsFunc(status.FailedServers, isFailed) && strings.Contains(w.condition(conditionUnblocked), "("+id+")") ||
			record != nil && slices.ContainsFunc(record.RemainingServers, func(s openstackv1.RemainingServer) bool { return s.ID == id }) ||
			w.isCrowdedOut(host) ||
			strings.Contains(w.condition(conditionUnblocked), host+" does not report, and its network may have failed") &&
				strings.Contains(w.condition(conditionUnblocked), "none of its probes has responded while it was healthy")
		if !explained {
			problems = append(problems, fmt.Sprintf("%s runs on %v, its host is %s: %+v, %s", id, w.running(id), host, status.Recoveries,
				w.condition(conditionUnblocked)))
		}
	}
	if len(w.running("stopped")) > 0 {
		problems = append(problems, fmt.Sprintf("the stopped server runs on %v", w.running("stopped")))
	}
	problems = append(problems, w.unreported()...)
	for _, m := range w.machines {
		if service := w.nova.Services()[m.name[len(m.name)-1]-'1']; m.runs(true) && !m.lied && service.ForcedDown {
			problems = append(problems, fmt.Sprintf("%s runs, and is forced down: %s", m.name, w.condition(conditionUnblocked)))
		}
	}
	return problems
}

// isCrowdedOut reports whether the condition has a node that is not recovered because too many nodes have failed.
func (w *simulation) isCrowdedOut(host string) bool {
	_, names, found := strings.Cut(w.condition(conditionUnblocked), "maxFailedPercent is 34: not recovered are ")
	names, _, _ = strings.Cut(names, ";")
	return found && slices.Contains(strings.Split(names, ", "), host)
}

// unreported returns the servers that run twice without a report, on a machine whose kubelet reports and whose controller has reported Off.
func (w *simulation) unreported() (problems []string) {
	for _, m := range w.machines {
		for id, is := range m.domains {
			if is && m.lied && m.runs(m.management) && len(w.running(id)) > 0 &&
				!strings.Contains(w.condition(conditionUnblocked), m.name+" runs, although its controller has reported that its power is off") {
				problems = append(problems, fmt.Sprintf("%s runs on %s and on %v: %s", id, m.name, w.running(id), w.condition(conditionUnblocked)))
			}
		}
	}
	return problems
}

// TestModel verifies the rules in drawn histories of a simulation with nodes, networks, management controllers, storage, Nova and two
// leaders: no server runs twice, no node is switched off by the report of one witness or one network, and in the end each server runs or
// has a reason.
func TestModel(t *testing.T) {
	counts := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := playHistory(t, drawHistory(rt))
		counts["histories"]++
		counts["fenced"] += len(w.fenced)
		for _, action := range w.nova.Actions() {
			counts[strings.Fields(action)[0]]++
		}
		if problems := append(slices.Clone(w.errors), w.unexplained()...); len(problems) > 0 {
			rt.Errorf("%s", strings.Join(problems, "\n"))
		}
	})
	t.Log(counts)
	if counts["evacuate"] == 0 || counts["fenced"] == 0 {
		t.Errorf("the histories have no recovery: %v", counts)
	}
}

// TestHistories verifies the rules in histories that are rarely drawn, with each time of the last event.
func TestHistories(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		events []event
		last   []string
	}{
		"MisconfiguredProbe": {
			"The silence of a wrong address is no failure.", []event{{0, "probe misconfigured", "node-1"}}, []string{"management cut"},
		},
		"MistakenController": {
			"A node that runs is not evacuated.", []event{{0, "controller mistaken", "node-1"}, {0, "hangs", "node-1"}}, []string{"management cut", "resumes"},
		},
		"MistakenControllerAndBoot": {
			"A node that starts keeps its servers.", []event{{0, "hangs", "node-1"}}, []string{"controller mistaken", "power on"},
		},
		"FailedEvacuationAndReturn": {
			"A server in ERROR is reported.", []event{{0, "hangs", "node-1"}, {0, "no host for servers", "node-1"}}, []string{"power on"},
		},
		"LyingController": {
			"A node that was never off is reported.", []event{{0, "controller lies", "node-1"}, {0, "hangs", "node-1"}}, []string{"resumes"},
		},
		"IncompleteList": {
			"A request that Nova has not executed yet is not repeated.", []event{
				{0, "hangs", "node-1"}, {0, "requests stall", "node-1"}, {26, "lists complete", "node-1"}, {30, "requests executed", "node-1"},
			}, []string{"lists incomplete"},
		},
		"InterruptedLiveMigration": {
			"A server that runs on the target of a live migration is not evacuated from the source.",
			[]event{{0, "live migration interrupted", "node-1"}, {40, "hangs", "node-1"}}, []string{"power on"},
		},
		"CordonOfFailedNode": {"It is recovered after the cordon ends.", []event{{0, "hangs", "node-1"}}, []string{"cordoned"}},
	} {
		t.Run(name, func(t *testing.T) {
			for tick := 1; tick < 25; tick += effort.Of(3, 1) {
				events := slices.Clone(tc.events)
				for _, fault := range tc.last {
					events = append(events, event{tick, fault, "node-1"})
				}
				w := playHistory(t, history{events: events, point: faultinjection.NoFault})
				if problems := append(slices.Clone(w.errors), w.unexplained()...); len(problems) > 0 {
					t.Errorf("%s at tick %d: %s", tc.reason, tick, strings.Join(problems, "\n"))
				}
			}
		})
	}
}

// TestRecoversFromFaultAtAnyCall repeats the recovery of a node for each call to Kubernetes, Nova and the management controllers, and each fault.
func TestRecoversFromFaultAtAnyCall(t *testing.T) {
	// The node returns after a request without a response is repeated.
	const lap = 20 * time.Second
	hang := []event{{tick: 2, fault: "hangs", target: "node-1"}, {tick: 50, fault: "power on", target: "node-1"}}
	full := recordCalls(t, hang, lap)
	points := faultinjection.Sample(full.Points(), *stride, func(p faultinjection.Point) bool { return full.Writes[p.Call] != "" })
	faultinjection.Run(t, points, func(t *testing.T, p faultinjection.Point) {
		w := playHistory(t, history{events: hang, lap: lap, point: p})
		if problems := append(slices.Clone(w.errors), w.unexplained()...); len(problems) > 0 {
			t.Error(strings.Join(problems, "\n"))
		}
		for _, id := range []string{"a", "b"} {
			if got := w.running(id); len(got) != 1 || got[0] == "node-1" {
				t.Errorf("%s runs on %v", id, got)
			}
		}
		if got := w.state("node-1"); got != "" {
			t.Errorf("node-1 is %s: %s", got, w.condition(conditionUnblocked))
		}
	})
	t.Logf("%d calls, %d of them writes; %d runs", full.Calls, len(full.Writes), len(points))
}

// recordCalls counts the calls of the controller until the node has returned.
func recordCalls(t *testing.T, events []event, lap time.Duration) *faultinjection.API {
	w := newSimulation(t, 4, runs("a"), runs("b"), runs("stopped").in("SHUTOFF"), runs("local").local(), runs("never").wants(priorityKey, "never"))
	w.lap = lap
	api := faultinjection.New(w.api, faultinjection.NoFault)
	r := w.reconciler(api.Client(), api.HTTP(w))
	for i := range 61 {
		for _, e := range events {
			if e.tick == i {
				faults[e.fault](w, w.machine(e.target))
			}
		}
		_, err := pass(r)
		w.must(err)
		w.advance()
	}
	return api
}

package hypervisorrecovery

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

// playUntil makes passes until a node has a state.
func (w *simulation) playUntil(r *Reconciler, name string, state openstackv1.RecoveryState) {
	w.t.Helper()
	for i := 0; w.state(name) != state && i < 60; i++ {
		w.play(r, 1)
	}
	if got := w.state(name); got != state {
		w.t.Fatalf("%s is %q instead of %q: %s", name, got, state, w.condition(conditionUnblocked))
	}
}

// evacuationsOf returns the number of requests to evacuate a server that Nova has executed.
func (w *simulation) evacuationsOf(id string) (count int) {
	for _, a := range w.nova.Actions() {
		if a == "evacuate "+id {
			count++
		}
	}
	return count
}

// TestStalledRequest: Nova may execute a request after its response was lost, and starts a server twice after two requests.
func TestStalledRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		wait   int
		change func(w *simulation, r **Reconciler)
	}{
		"SameLeader": {"The next pass must not repeat it.", 12, func(*simulation, **Reconciler) {}},
		"NewLeader":  {"The status has the request.", 12, func(w *simulation, r **Reconciler) { *r = w.sound() }},
		"NearTheEnd": {"Nova takes minutes.", 50, func(w *simulation, r **Reconciler) { *r = w.sound() }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 4, runs("a"))
			r := w.sound()
			w.machine("node-1").hangs = true
			w.nova.SetStalled(true)
			w.playUntil(r, "node-1", openstackv1.RecoveryEvacuating)
			w.play(r, 2)
			tc.change(w, &r)
			w.play(r, tc.wait)
			if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, "False EvacuationSlow: Nova has no result of the request to evacuate server a: ") {
				t.Errorf("%s %s", tc.reason, got)
			}
			w.nova.SetStalled(false)
			w.play(r, 70)
			if got := w.running("a"); len(got) != 1 || w.evacuationsOf("a") != 1 {
				t.Errorf("%s a runs on %v, actions %v", tc.reason, got, w.nova.Actions())
			}
			if got := w.state("node-1"); got != openstackv1.RecoveryEvacuated {
				t.Errorf("%s: %s", got, w.condition(conditionUnblocked))
			}
		})
	}
}

// TestLostRequest: a request that Nova never executes is sent again after ten minutes.
func TestLostRequest(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	w.machine("node-1").hangs = true
	var sent []time.Time
	w.extra = func(q *http.Request) error {
		if strings.HasSuffix(q.URL.Path, "/servers/a/action") {
			if sent = append(sent, w.clock.Now()); len(sent) == 1 {
				return context.DeadlineExceeded
			}
		}
		return nil
	}
	w.play(r, 20)
	if got := w.record("node-1"); got == nil || len(got.RequestedServers) != 1 || got.RequestedServers[0].ID != "a" || got.ServerCount != 1 {
		t.Fatalf("%+v: %s", got, w.condition(conditionUnblocked))
	}
	w.play(r, 70)
	if len(sent) != 2 || sent[1].Sub(sent[0]) < requestTimeout || len(w.running("a")) != 1 {
		t.Errorf("sent at %v, a runs on %v: %s", sent, w.running("a"), w.condition(conditionUnblocked))
	}
	if got := w.record("node-1"); len(got.RequestedServers) > 0 || w.condition(conditionUnblocked) != "True NothingBlocks: nothing prevents a recovery" {
		t.Errorf("%+v: %s", got, w.condition(conditionUnblocked))
	}
}

// TestRequestsOfStuckEvacuations: evacuations that do not end take no place in the record of requests.
func TestRequestsOfStuckEvacuations(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	w.nova.HangMoves("a", true)
	r := w.sound()
	w.machine("node-1").hangs = true
	w.playUntil(r, "node-1", openstackv1.RecoveryEvacuating)
	w.play(r, 5)
	if got := w.record("node-1"); w.evacuationsOf("a") != 1 || len(got.RequestedServers) > 0 || got.ServerCount != 1 {
		t.Errorf("actions %v: %+v", w.nova.Actions(), got)
	}
	w.play(r, 80)
	if got := w.evacuationsOf("a"); got != 1 {
		t.Errorf("%d evacuations", got)
	}
}

// TestEvacuationReread: a server whose state changes between the observation and the request is not evacuated.
func TestEvacuationReread(t *testing.T) {
	move := func(w *simulation, change func(from, to *compute.Server)) {
		all := w.nova.Hypervisors()
		all[0].Servers, all[1].Servers = slices.Clone(all[0].Servers), append(slices.Clone(all[1].Servers), all[0].Servers[0])
		change(&all[0].Servers[0], &all[1].Servers[0])
		w.nova.SetHypervisors(all...)
	}
	for name, tc := range map[string]struct {
		reason, want string
		change       func(*simulation)
	}{
		"Task": {"An operator evacuates it.", "server a is not evacuated: it has the task rebuilding", func(w *simulation) {
			all := w.nova.Hypervisors()
			all[0].Servers = slices.Clone(all[0].Servers)
			all[0].Servers[0].Task = "rebuilding"
			w.nova.SetHypervisors(all...)
		}},
		"Status": {"An operator has evacuated it, which failed after the start.", "server a is not evacuated: its status is ERROR now", func(w *simulation) {
			w.setStatus("a", "ERROR")
		}},
		"Moved": {"An operator has evacuated it.", `server a is not evacuated: its host is "node-2"`, func(w *simulation) {
			move(w, func(from, _ *compute.Server) { from.ID = "x" })
		}},
		"Deleted": {"Its owner has deleted it.", "server a is not evacuated: it does not exist anymore", func(w *simulation) {
			all := w.nova.Hypervisors()
			all[0].Servers = nil
			w.nova.SetHypervisors(all...)
		}},
		"Edit": {"Another leader has continued.", "server a is not evacuated: the HypervisorRecovery was changed", func(w *simulation) {
			w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.ParallelServers = 1 })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 3, runs("a"))
			r := w.sound()
			w.machine("node-1").hangs = true
			reads := 0
			w.extra = func(q *http.Request) error {
				if q.URL.Host == "bmc-node-1" && w.state("node-1") == openstackv1.RecoveryEvacuating && w.nova.Services()[0].ForcedDown {
					if reads++; reads == 2 { // The first read is part of the observation.
						tc.change(w)
					}
				}
				return nil
			}
			for i := 0; reads < 2 && i < 40; i++ {
				_, err := pass(r)
				if reads < 2 {
					w.must(err)
					w.advance()
				}
			}
			if got := w.nova.Actions(); reads != 2 || len(got) > 0 {
				t.Errorf("%s %d reads, actions %v", tc.reason, reads, got)
			}
			if name == "Edit" { // The status cannot be written.
				return
			}
			if got := w.condition(conditionUnblocked); !strings.Contains(got, tc.want) {
				t.Errorf("%s %s", tc.reason, got)
			}
		})
	}
}

// TestRequestIsRecordedFirst: another leader does not repeat a request of a leader that died after it.
func TestRequestIsRecordedFirst(t *testing.T) {
	w := newSimulation(t, 4, runs("a"))
	r := w.sound()
	w.machine("node-1").hangs = true
	w.nova.SetStalled(true)
	w.extra = func(q *http.Request) error {
		if strings.HasSuffix(q.URL.Path, "/servers/a/action") {
			if got := w.record("node-1"); len(got.RequestedServers) != 1 {
				t.Errorf("it is not recorded: %+v", got)
			}
		}
		return nil
	}
	w.playUntil(r, "node-1", openstackv1.RecoveryEvacuating)
	w.play(r, 3)
	other := w.reconciler(faultinjection.New(w.api, faultinjection.NoFault).Client(), w)
	w.nova.SetStalled(false) // Nova executes it before the other leader observes.
	w.play(other, 20)
	if got := w.evacuationsOf("a"); got != 1 || len(w.running("a")) != 1 {
		t.Errorf("%d evacuations, a runs on %v", got, w.running("a"))
	}
}

// TestStalledRequestAndIncompleteList: Nova leaves out the servers of a cell whose database does not respond. A server that a list does
// not have is not evacuated a second time when another list has it.
func TestStalledRequestAndIncompleteList(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, want string
		start, end   func(*simulation)
	}{
		"OtherProcess": {
			"Another process of nova-api has read the services.", "False ServersUnreadable: the servers of node-1 cannot be read: Nova's list is " +
				"incomplete: it does not have server a",
			func(w *simulation) { w.nova.SetIncomplete("node-1") }, func(w *simulation) { w.nova.SetIncomplete() },
		},
		"SameProcess": {
			"The server cannot be read, either.", "False ServersUnreadable: the servers of node-1 cannot be read: cannot read server a: ",
			func(w *simulation) {
				w.nova.SetIncomplete("node-1")
				w.extra = func(q *http.Request) error {
					if strings.HasSuffix(q.URL.Path, "/servers/a") {
						return http.ErrServerClosed
					}
					return nil
				}
			},
			func(w *simulation) {
				w.nova.SetIncomplete()
				w.extra = nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 4, runs("a"), runs("stopped").in("SHUTOFF"), runs("local").local())
			w.nova.SetStalled(true)
			r := w.sound()
			w.machine("node-1").hangs = true
			w.playUntil(r, "node-1", openstackv1.RecoveryEvacuating)
			w.play(r, 2)
			before := w.record("node-1")
			tc.start(w)
			w.play(r, 2)
			if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, tc.want) {
				t.Errorf("%s %s", tc.reason, got)
			}
			if diff := cmp.Diff(before, w.record("node-1")); diff != "" || len(before.RequestedServers) != 2 {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			tc.end(w)
			w.play(r, 4)
			w.nova.SetStalled(false)
			w.play(r, 70)
			if got := w.running("a"); len(got) != 1 || w.evacuationsOf("a") != 1 || w.evacuationsOf("stopped") != 1 {
				t.Errorf("%s a runs on %v, actions %v", tc.reason, got, w.nova.Actions())
			}
		})
	}
}

// TestMissingServers: servers that lists do not have are read directly, and forgotten only if they are not on the node anymore.
func TestMissingServers(t *testing.T) {
	remove := func(w *simulation, to string) {
		all := w.nova.Hypervisors()
		for i := range all {
			j := slices.IndexFunc(all[i].Servers, func(s compute.Server) bool { return s.ID == "local" })
			if j < 0 {
				continue
			}
			moved := all[i].Servers[j]
			all[i].Servers = slices.Delete(slices.Clone(all[i].Servers), j, j+1)
			for k := range all {
				if all[k].Host == to {
					all[k].Servers = append(slices.Clone(all[k].Servers), moved)
				}
			}
			break
		}
		w.nova.SetHypervisors(all...)
	}
	for name, tc := range map[string]struct {
		reason string
		change func(*simulation)
		want   []string
		text   string
	}{
		"Incomplete": {
			"It is on the node.", func(w *simulation) { w.nova.SetIncomplete("node-1") }, []string{"local"}, "ServersUnreadable",
		},
		"Deleted": {"Nova does not have it.", func(w *simulation) { remove(w, "") }, nil, "NothingBlocks"},
		"Moved":   {"It is on another node.", func(w *simulation) { remove(w, "node-2") }, nil, "NothingBlocks"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 3, runs("a"), runs("local").local())
			r := w.sound()
			w.machine("node-1").hangs = true
			w.playUntil(r, "node-1", openstackv1.RecoveryEvacuated)
			tc.change(w)
			w.play(r, 3)
			got := w.record("node-1")
			if diff := cmp.Diff(tc.want, got.RunningServers); diff != "" || len(got.RemainingServers) != len(tc.want) {
				t.Errorf("%s %v (-want +got):\n%s", tc.reason, got.RemainingServers, diff)
			}
			if got := w.condition(conditionUnblocked); !strings.Contains(got, tc.text) {
				t.Errorf("%s %s", tc.reason, got)
			}
		})
	}
}

// TestFailedServersAndIncompleteList: a server in ERROR is reported while lists do not have it.
func TestFailedServersAndIncompleteList(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	w.nova.FailMoves("a", "No valid host was found.")
	w.machine("node-1").hangs = true
	w.play(r, 30)
	for _, state := range []string{"while its node is down", "after the return of its node"} {
		before := w.recovery().Status.FailedServers
		for name, change := range map[string]func(){
			"lists are incomplete": func() { w.nova.SetIncomplete("node-1") }, "the cell does not respond": func() { w.nova.SetCellDown("node-1") },
		} {
			change()
			w.play(r, 2)
			if diff := cmp.Diff(before, w.recovery().Status.FailedServers); diff != "" || len(before) != 1 {
				t.Errorf("%s, %s (-want +got):\n%s", state, name, diff)
			}
			w.nova.SetIncomplete()
			w.nova.SetCellDown()
		}
		w.switchOn(w.machine("node-1"))
		w.play(r, 40)
	}
}

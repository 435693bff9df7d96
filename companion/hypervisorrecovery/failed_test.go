package hypervisorrecovery

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// setStatus sets the status of a server.
func (w *simulation) setStatus(id, status string) {
	all := w.nova.Hypervisors()
	for i := range all {
		all[i].Servers = slices.Clone(all[i].Servers)
		for j := range all[i].Servers {
			if s := &all[i].Servers[j]; s.ID == id {
				s.Status = status
			}
		}
	}
	w.nova.SetHypervisors(all...)
}

// TestFailedServers: a server whose evacuation failed, and whose node returns, does not run, and is reported until it has another status.
func TestFailedServers(t *testing.T) {
	w := newSimulation(t, 3, runs("a"), runs("b"), runs("stopped").in("SHUTOFF"), runs("broken").in("ERROR"))
	r := w.sound()
	w.nova.FailMoves("a", "No valid host was found.")
	w.nova.FailMoves("stopped", "No valid host was found.")
	w.machine("node-1").hangs = true
	w.play(r, 30)
	w.switchOn(w.machine("node-1"))
	w.play(r, 30)
	if got := w.state("node-1"); got != "" || w.nova.Services()[0].ForcedDown {
		t.Fatalf("%s: %s", got, w.condition(conditionUnblocked))
	}
	const prefix = "evacuations failed: 3, and Nova starts no server in ERROR when its node returns: "
	failed := []openstackv1.FailedServer{
		{ID: "a", Name: "name of a", NodeName: "node-1", Reason: prefix + "run openstack server reboot --hard a then"},
		{ID: "stopped", Name: "name of stopped", NodeName: "node-1", Reason: prefix +
			"it was stopped, so run openstack server set --state active stopped and openstack server stop stopped then"},
	}
	expect := func(reason string, want []openstackv1.FailedServer, condition string) {
		t.Helper()
		if diff := cmp.Diff(want, w.recovery().Status.FailedServers, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
		if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, condition) {
			t.Errorf("%s %s", reason, got)
		}
	}
	expect("Its status had no reason.", failed, "False ServersInError: 2 servers do not run after their evacuations: name of a (a) on node-1: "+prefix)
	w.nova.SetCellDown("node-1")
	w.play(r, 2)
	expect("Their status is unknown.", failed, "False ServersInError: ")
	w.nova.SetCellDown()
	w.setStatus("a", "ACTIVE")
	w.play(r, 2)
	expect("It runs.", failed[1:], "False ServersInError: 1 servers do not run after their evacuations: name of stopped (stopped) on node-1: ")
	w.machine("node-1").hangs = true
	w.nova.FailMoves("a", "")
	w.nova.FailMoves("stopped", "")
	w.play(r, 30)
	expect("It was in ERROR before another failure.", failed[1:], "False ServersRemain: 2 servers stay on node-1: name of broken (broken): ")
	w.switchOn(w.machine("node-1"))
	w.play(r, 30)
	expect("It does not run after another return.", failed[1:], "False ServersInError: 1 servers do not run after their evacuations: name of stopped (stopped) on node-1: ")
	w.setStatus("stopped", "SHUTOFF")
	w.play(r, 2)
	expect("It was repaired.", nil, "True NothingBlocks: nothing prevents a recovery")
}

// TestFailedServersOfRemovedNode: the servers of a node that Nova does not have anymore are not reported.
func TestFailedServersOfRemovedNode(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	o := w.recovery()
	o.Status.FailedServers = []openstackv1.FailedServer{{ID: "x", NodeName: "node-9", Reason: "It was there."}, {ID: "y", NodeName: "node-1", Reason: "as x"}}
	w.must(w.api.Status().Update(t.Context(), o))
	w.play(w.sound(), 2)
	if got := w.recovery().Status.FailedServers; len(got) > 0 || w.condition(conditionUnblocked) != "True NothingBlocks: nothing prevents a recovery" {
		t.Errorf("%v: %s", got, w.condition(conditionUnblocked))
	}
}

// TestFailedStart: an evacuation that failed after the start of the guest is not repeated before an operator has verified the target.
func TestFailedStart(t *testing.T) {
	w := newSimulation(t, 4, runs("a"), runs("claim"))
	r := w.sound()
	w.nova.FailStarts("a", true)
	w.nova.FailClaims("claim", true)
	w.machine("node-1").hangs = true
	w.playUntil(r, "node-1", openstackv1.RecoveryEvacuating)
	w.play(r, 20)
	w.nova.FailStarts("a", false)
	w.nova.FailClaims("claim", false)
	w.play(r, 150)
	target := w.running("a")
	if w.evacuationsOf("a") != 1 || len(target) != 1 || len(w.running("claim")) != 1 || w.evacuationsOf("claim") < 2 {
		t.Fatalf("a runs on %v, claim on %v, actions %v", target, w.running("claim"), w.nova.Actions())
	}
	why := "its evacuation to " + target[0] + " failed" + verification + "; "
	if got := w.condition(conditionUnblocked); got != "False ServersRemain: 1 servers stay on node-1: name of a (a): "+why+
		"then run openstack server set --state active a" {
		t.Error(got)
	}
	failed := []openstackv1.FailedServer{{
		ID: "a", Name: "name of a", NodeName: "node-1", Reason: why + "after the return of its node, run openstack server reboot --hard a",
	}}
	if diff := cmp.Diff(failed, w.recovery().Status.FailedServers); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.switchOn(w.machine("node-1"))
	w.play(r, 30)
	if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, "False ServersInError: 1 servers do not run after their evacuations: name of a (a) on node-1: "+why) {
		t.Errorf("after the return: %s", got)
	}
	w.machine("node-1").hangs = true // The reason is kept.
	w.play(r, 60)
	if got := w.record("node-1").RemainingServers; len(got) != 1 || got[0].Reason != failed[0].Reason || w.evacuationsOf("a") != 1 {
		t.Errorf("%+v, actions %v", got, w.nova.Actions())
	}
	w.machine(target[0]).domains = map[string]bool{} // An operator destroys the guest.
	w.setStatus("a", "ACTIVE")
	w.play(r, 10)
	if got := w.running("a"); len(got) != 1 || w.evacuationsOf("a") != 2 {
		t.Errorf("a runs on %v: %s", got, w.condition(conditionUnblocked))
	}
}

// TestReturnBeforeProof: servers that a power off has stopped are reported if the node returns before its power was proven to be off, or
// before Nova has forced_down.
func TestReturnBeforeProof(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		state  openstackv1.RecoveryState
		change func(*simulation, *Reconciler)
		ticks  int
	}{
		"Fencing": {"Nova fails meanwhile.", openstackv1.RecoveryFencing, func(w *simulation, _ *Reconciler) {
			w.nova.SetDown(true)
			w.wait(3)
			w.switchOn(w.machine("node-1"))
			w.nova.SetDown(false)
		}, 25},
		"FencingLong": {"nova-compute has compared its servers before.", openstackv1.RecoveryFencing, func(w *simulation, _ *Reconciler) {
			w.wait(3)
			w.switchOn(w.machine("node-1"))
			w.wait(40)
		}, 25},
		"Unreadable": {"The servers cannot be read at its return.", openstackv1.RecoveryFencing, func(w *simulation, r *Reconciler) {
			w.nova.SetDown(true)
			w.wait(3)
			w.switchOn(w.machine("node-1"))
			w.nova.SetDown(false)
			w.extra = func(q *http.Request) error {
				if strings.HasSuffix(q.URL.Path, "/servers/detail") {
					return http.ErrServerClosed
				}
				return nil
			}
			w.play(r, 40)
			w.extra = nil
		}, 5},
		"Proven": {"The power is on before forced_down.", openstackv1.RecoveryEvacuating, func(w *simulation, _ *Reconciler) {
			w.switchOn(w.machine("node-1"))
		}, 25},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 3, runs("a"), runs("stopped").in("SHUTOFF"))
			r := w.sound()
			w.machine("node-1").hangs = true
			w.playUntil(r, "node-1", tc.state)
			tc.change(w, r)
			w.play(r, tc.ticks)
			if w.state("node-1") != "" || w.hostOf("a") != "node-1" {
				t.Fatalf("%s %s, a is on %s: %s", tc.reason, w.state("node-1"), w.hostOf("a"), w.condition(conditionUnblocked))
			}
			w.play(r, 40)
			const want = "False ServersStopped: 1 servers do not run: name of a (a) on node-1: "
			if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, want) {
				t.Errorf("%s %s", tc.reason, got)
			}
		})
	}
}

// TestLostPowerOff: the servers of a node that was not off run, and are not recorded.
func TestLostPowerOff(t *testing.T) {
	w := newSimulation(t, 3, runs("a"))
	r := w.sound()
	first := w.machine("node-1")
	first.hangs, first.mistaken = true, true // The controller executes no request.
	w.playUntil(r, "node-1", openstackv1.RecoveryFencing)
	first.hangs, first.mistaken = false, false
	for i := 0; w.state("node-1") != "" && i < 40; i++ {
		w.play(r, 1)
	}
	if got := w.recovery().Status.FailedServers; w.state("node-1") != "" || len(got) > 0 {
		t.Errorf("%s: %+v", w.state("node-1"), got)
	}
}

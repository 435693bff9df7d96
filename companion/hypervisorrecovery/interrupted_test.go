package hypervisorrecovery

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

// playOn makes passes, and returns the violated rules.
func (w *simulation) playOn(r *Reconciler, ticks int) []string {
	for range ticks {
		_, err := pass(r)
		w.must(err)
		w.advance()
	}
	return w.errors
}

// interruptMigration lets the source of a live migration fail after the guest has moved, and before Nova has recorded it.
func (w *simulation) interruptMigration(id string, source, target *machine) {
	source.domains[id], target.domains[id] = false, true
	w.nova.InterruptMigration(id, target.name)
	source.hangs = true
}

// evacuateByHand requests an evacuation as an operator.
func (w *simulation) evacuateByHand(id string) {
	w.t.Helper()
	check := &openstackv1.ServiceCheck{}
	w.must(w.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: pool}, check))
	transport := func([]byte) (http.RoundTripper, error) { return w, nil }
	nova, problem, err := compute.Find(context.Background(), w.api, transport, namespace, check.Spec.CloudCredentialsRef)
	if problem != "" {
		w.t.Fatal(problem)
	}
	w.must(err)
	w.must(nova.Evacuate(context.Background(), id))
}

// TestQueuedStart: a server that its owner starts while its node does not run is not evacuated. Its node starts it, also if it runs on
// another one then, unless the queue is deleted.
func TestQueuedStart(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		change    func(*simulation)
		want      func(on []string) bool
		violation string
	}{
		"Left": {"Its node starts it.", func(*simulation) {}, func(on []string) bool { return slices.Equal(on, []string{"node-1"}) }, ""},
		"DeletedQueue": {"It is evacuated.", func(w *simulation) {
			w.nova.DeleteQueue("node-1")
			w.setTask("stopped", "")
			w.setStatus("stopped", "ACTIVE")
		}, func(on []string) bool { return len(on) == 1 && on[0] != "node-1" }, ""},
		"KeptQueue": {"Its task was reset, and the request is executed.", func(w *simulation) {
			w.setTask("stopped", "")
			w.setStatus("stopped", "ACTIVE")
		}, func(on []string) bool { return len(on) == 2 }, "server stopped runs on [node-1 "},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 3, runs("a"), runs("stopped").in("SHUTOFF"))
			r := w.sound()
			w.machine("node-1").hangs = true
			w.playUntil(r, "node-1", openstackv1.RecoverySuspected)
			w.nova.QueueStart("stopped")
			w.playUntil(r, "node-1", openstackv1.RecoveryEvacuated)
			w.play(r, 2)
			const want = "False ServersRemain: 1 servers stay on node-1: name of stopped (stopped): it has the task powering-on, and its node "
			if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, want) || w.evacuationsOf("stopped") != 0 {
				t.Errorf("%s %s", tc.reason, got)
			}
			tc.change(w)
			w.play(r, 10)
			w.switchOn(w.machine("node-1"))
			violated := w.playOn(r, 40)
			if got := w.running("stopped"); !tc.want(got) || w.state("node-1") != "" {
				t.Errorf("%s stopped runs on %v, node-1 is %q: %s", tc.reason, got, w.state("node-1"), w.condition(conditionUnblocked))
			}
			if (tc.violation == "") != (len(violated) == 0) || !strings.HasPrefix(strings.Join(violated, ""), tc.violation) {
				t.Errorf("%s violated rules: %v", tc.reason, violated)
			}
		})
	}
}

// TestInterruptedLiveMigration: a server that runs on the target of a live migration, and whose host is the failed source, is not evacuated
// before an operator has verified the target.
func TestInterruptedLiveMigration(t *testing.T) {
	const why = "its live-migration to node-2 was interrupted" + verificationText
	fails := func(t *testing.T) (*simulation, *Reconciler) {
		t.Helper()
		w := newSimulation(t, 4, runs("a"), runs("live"))
		r := w.sound()
		w.play(r, 1)
		w.interruptMigration("live", w.machine("node-1"), w.machine("node-2"))
		w.playUntil(r, "node-1", openstackv1.RecoveryEvacuated)
		w.play(r, 10)
		return w, r
	}
	expect := func(t *testing.T, w *simulation, reason, want string, running ...string) {
		t.Helper()
		if got := w.condition(conditionUnblocked); !strings.HasPrefix(got, want) || !slices.Equal(w.running("live"), running) ||
			w.evacuationsOf("live") != 0 {
			t.Errorf("%s live runs on %v, actions %v: %s", reason, w.running("live"), w.nova.Actions(), got)
		}
	}
	const stays = "False ServersRemain: 1 servers stay on node-1: name of live (live): " + why + queuesText +
		"; then run openstack server evacuate live"
	t.Run("Evacuated", func(t *testing.T) {
		w, r := fails(t)
		expect(t, w, "It has a task.", stays, "node-2")
		w.setTask("live", "")
		w.play(r, 20)
		expect(t, w, "Its task was reset.", stays, "node-2")
		delete(w.machine("node-2").domains, "live")
		w.evacuateByHand("live")
		w.play(r, 10)
		if got := w.running("live"); len(got) != 1 || w.evacuationsOf("live") != 1 || w.condition(conditionUnblocked) !=
			"True NothingBlocks: nothing prevents a recovery" {
			t.Errorf("live runs on %v, actions %v: %s", got, w.nova.Actions(), w.condition(conditionUnblocked))
		}
	})
	t.Run("Return", func(t *testing.T) {
		w, r := fails(t)
		w.switchOn(w.machine("node-1"))
		w.play(r, 60)
		const stopped = "False ServersStopped: 1 servers do not run: name of live (live) on node-1: " + why +
			"; then run openstack server start live"
		expect(t, w, "Its node is back.", stopped, "node-2")
		w.machine("node-1").hangs = true
		w.play(r, 60)
		expect(t, w, "Its node failed again.", stays, "node-2")
	})
	t.Run("SecondFailure", func(t *testing.T) {
		w, r := fails(t)
		w.switchOn(w.machine("node-1"))
		w.play(r, 5)
		if got := w.state("node-1"); got != openstackv1.RecoveryReturning {
			t.Fatal(got)
		}
		w.machine("node-1").hangs = true
		w.play(r, 60)
		w.switchOff(w.machine("node-1"))
		w.play(r, 20)
		expect(t, w, "Its node failed again before its return ended.", stays, "node-2")
	})
}

package hypervisorrecovery

import (
	"slices"
	"strings"
	"testing"
	"time"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// setTask sets the task of a server.
func (w *simulation) setTask(id, task string) {
	all := w.nova.Hypervisors()
	for i := range all {
		all[i].Servers = slices.Clone(all[i].Servers)
		for j := range all[i].Servers {
			if s := &all[i].Servers[j]; s.ID == id {
				s.Task = task
			}
		}
	}
	w.nova.SetHypervisors(all...)
}

// TestRebuildOfOwner: servers that their owners rebuild prevent no evacuation, and are reported.
func TestRebuildOfOwner(t *testing.T) {
	w := newSimulation(t, 3, runs("a"), runs("rebuilt"))
	w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.ParallelServers = 1 })
	w.setTask("rebuilt", "rebuild_spawning")
	r := w.sound()
	w.machine("node-1").hangs = true
	w.play(r, 30)
	if got := w.condition(conditionUnblocked); w.state("node-1") != openstackv1.RecoveryEvacuated || len(w.running("a")) != 1 || got !=
		"False ServersRemain: 1 servers stay on node-1: name of rebuilt (rebuilt): it has the task rebuild_spawning: if openstack server "+
			"migration list --server rebuilt has no unfinished evacuation, run openstack server set --state active rebuilt" {
		t.Errorf("%s, a runs on %v: %s", w.state("node-1"), w.running("a"), got)
	}
}

// TestStuckEvacuation: an evacuation that does not end prevents neither others nor the return of its node, and is reported. When the node
// starts, its nova-compute completes the migration, and the server keeps its task until another start.
func TestStuckEvacuation(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, want string
		change       func(w *simulation, target string)
		ticks        int
	}{
		"Timeout":    {"It hangs.", "the evacuation of server a runs for more than 30m0s", func(*simulation, string) {}, 200},
		"TargetDown": {"Its target failed.", " does not end, because its target ", func(w *simulation, target string) { w.machine(target).hangs = true }, 20},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSimulation(t, 4, runs("a"), runs("b"))
			w.edit(func(s *openstackv1.HypervisorRecoverySpec) { s.ParallelServers = 1 })
			w.nova.HangMoves("a", true)
			r := w.sound()
			w.machine("node-1").hangs = true
			w.playUntil(r, "node-1", openstackv1.RecoveryEvacuating)
			w.play(r, 5)
			if got := w.condition(conditionRecovered); got != "False Recovering: node-1 is Evacuating, and 1 of its servers wait for the end of "+
				"other "+
				"evacuations (parallelServers)" {
				t.Error(got)
			}
			target := ""
			for _, m := range w.nova.Hypervisors()[0].Migrations {
				target = m.Target
			}
			if target == "" {
				t.Fatal("the evacuation has no target")
			}
			tc.change(w, target)
			w.play(r, tc.ticks)
			if got := w.condition(conditionUnblocked); len(w.running("b")) != 1 || !strings.HasPrefix(got, "False ") || !strings.Contains(got, tc.want) {
				t.Errorf("%s b runs on %v: %s", tc.reason, w.running("b"), got)
			}
			w.switchOn(w.machine("node-1"))
			w.play(r, int(4*stabilizationTime/time.Second/10))
			if got := w.nova.Services()[0].ForcedDown; got || w.evacuationsOf("a") != 1 {
				t.Errorf("%s forced_down %v, %s, actions %v: %s", tc.reason, got, w.state("node-1"), w.nova.Actions(), w.condition(conditionUnblocked))
			}
			want := "False ServersInError: 1 servers do not run after their evacuations: name of a (a) on node-1: its evacuation to " + target +
				" does not end" + verification + "; then run openstack server set --state active a and openstack server reboot --hard a"
			w.play(r, int(syncTimeout/time.Second/10)+10) // Nova sets no server with a task to SHUTOFF.
			if got := w.condition(conditionUnblocked); w.state("node-1") != "" || got != want {
				t.Errorf("%s after the return: %s: %s", tc.reason, w.state("node-1"), got)
			}
			w.nova.CleanUp("node-1")
			w.play(r, 2)
			if got := w.condition(conditionUnblocked); got != want {
				t.Errorf("%s after another start: %s", tc.reason, got)
			}
			w.setStatus("a", "ACTIVE") // An operator repairs it.
			w.play(r, 2)
			if got := w.condition(conditionUnblocked); tc.ticks > 100 && got != "True NothingBlocks: nothing prevents a recovery" {
				t.Errorf("%s after its repair: %s", tc.reason, got)
			}
		})
	}
}

package hypervisorrecovery

import (
	"net/http"
	"strings"
	"testing"
	"time"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// TestPassesOfOtherPools: passes of other pools are no pause of the observation of a pool.
func TestPassesOfOtherPools(t *testing.T) {
	start := time.Unix(1e9, 0)
	m := &memory{}
	a, b := &past{}, &past{}
	at := start
	pass := func(p *past, d time.Duration) {
		m.start(p, at)
		at = at.Add(d)
		m.took(p, d)
		m.end(p, at)
	}
	for range 3 {
		pass(a, time.Second)
		pass(b, 4*time.Minute)
	}
	if !a.unbroken.Equal(start) || !b.unbroken.Equal(start.Add(time.Second)) {
		t.Errorf("unbroken since %s and %s", a.unbroken.Sub(start), b.unbroken.Sub(start))
	}
	at = at.Add(pauseLimit + time.Second) // The process had no processor.
	pass(a, time.Second)
	if a.unbroken.Equal(start) {
		t.Error("a pause is regarded as continuous")
	}
}

// TestUnreadableServers: servers of a node that cannot be read prevent the recovery of no other node, and its record is kept.
func TestUnreadableServers(t *testing.T) {
	w := newSimulation(t, 6, runs("a"), runs("local").local())
	all := w.nova.Hypervisors()
	all[1].Servers = append(all[1].Servers, runs("b").Server)
	for i := range all {
		all[i].Details["b"] = runs("b").Details
	}
	w.nova.SetHypervisors(all...)
	r := w.sound()
	w.machine("node-1").hangs = true
	w.playUntil(r, "node-1", openstackv1.RecoveryEvacuated)
	before := w.record("node-1")
	w.extra = func(q *http.Request) error {
		if strings.HasSuffix(q.URL.Path, "/servers/detail") && q.URL.Query().Get("host") == "node-1" {
			return http.ErrServerClosed
		}
		return nil
	}
	w.machine("node-2").hangs = true
	w.play(r, 40)
	if got := w.state("node-2"); got != openstackv1.RecoveryEvacuated || len(w.running("b")) != 1 {
		t.Errorf("%s, b runs on %v: %s", got, w.running("b"), w.condition(conditionUnblocked))
	}
	after := w.record("node-1")
	if got := w.condition(conditionUnblocked); !strings.Contains(got, "the servers of node-1 cannot be read: ") || after == nil ||
		after.State != before.State || len(after.RemainingServers) != 1 || after.ServerCount != 1 {
		t.Errorf("%+v: %s", after, got)
	}
}

package ovnsync

import (
	"context"
	"flag"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/crash"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// stride leaves runs out, so that make test keeps its budget; make test-long makes more runs, and 1 all of them.
var stride = flag.Int("crash.every", effort.Of(23, 7), "make every n-th run of TestCrash")

// life asks for a look, loses its Job while that runs, then asks for a repair, changes the image in the middle of it, and looks again.
func life(t *testing.T, at crash.Point) (*cluster, *crash.API) {
	t.Helper()
	c := newCluster(t, object(), secret())
	c.lost = 3
	a := crash.New(c.api, at)
	c.onPass = a.ReconcileDone
	a.OnConcurrentWrite = func() {
		other := c.sound()
		for range 3 + at.Call%29 { // The controller goes on at any moment of that.
			c.pass(other)
		}
		if at.Call%3 == 0 { // Jobs that have ended are cleared away.
			c.clock.SetTime(c.clock.Now().Add(25 * time.Hour))
			c.tick()
		}
	}
	r := c.reconciler(a.Client())
	c.reconcileUntil(r, "a run", func() bool { return len(c.pods()) > 0 || c.isAnswered() })
	c.must(c.api.DeleteAllOf(context.Background(), &batchv1.Job{}))
	c.reconcileUntil(r, "the first answer", c.isAnswered)
	c.ask("first", common.OVNSyncRepair)
	for range 3 {
		c.pass(r)
	}
	c.edit(func(o *openstackv1.OVNSync) { o.Spec.Template.Spec.Containers[0].Image = "neutron:2026.1" })
	c.reconcileUntil(r, "the repair", c.isAnswered)
	c.ask("last", common.OVNSyncLog)
	c.reconcileUntil(r, "the last answer", c.isAnswered)
	c.reconcileUntil(c.sound(), "rest", c.isAnswered)
	return c, a
}

// verify: the last answer is that all is repaired, one ran at a time, and nothing was repaired that was not asked for.
func verify(t *testing.T, c *cluster) {
	t.Helper()
	c.verified()
	a := c.object().Status.Answer
	if a.Request != "last" || a.Differences != 0 || c.lost != 0 {
		t.Errorf("%+v, %d lost", a, c.lost)
	}
	repairs := 0
	for _, mode := range c.modes {
		if mode == "repair" {
			repairs++
		}
	}
	// One that was lost is repeated, once: each life has one fault.
	if repairs == 0 || repairs > 2 || len(c.modes) > 6 {
		t.Errorf("runs: %v", c.modes)
	}
	if t.Failed() {
		t.Log(c.told())
	}
}

// TestCrash lives once for every call to Kubernetes, and every way in which that can go wrong.
func TestCrash(t *testing.T) {
	c, full := life(t, crash.NoFault)
	verify(t, c)
	all := full.Points()
	points := crash.Sample(all, *stride, nil)
	crash.Run(t, points, func(t *testing.T, p crash.Point) {
		c, _ := life(t, p)
		verify(t, c)
	})
	t.Logf("%d calls, %d of them writes, %d commands; %d of %d runs", full.Calls, len(full.Writes), len(c.modes), len(points), len(all))
}

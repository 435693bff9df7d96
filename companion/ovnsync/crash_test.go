package ovnsync

import (
	"context"
	"flag"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// stride selects runs, to limit the duration of make test; make test-long has more runs, and 1 all of them.
var stride = flag.Int("crash.every", effort.Of(23, 7), "make every n-th run of TestRecoversFromFaultAtAnyCall")

// life requests a comparison, loses its Job while that runs, then requests a repair, changes the image during that, and
// compares again.
func life(t *testing.T, at faultinjection.Point) (*cluster, *faultinjection.API) {
	t.Helper()
	c := newCluster(t, object(), secret())
	c.missingPorts = 3
	a := faultinjection.New(c.API, at)
	c.onPass = a.ReconcileDone
	a.OnConcurrentWrite = func() {
		other := c.sound()
		for range 3 + at.Call%29 { // The controller continues at any point.
			c.pass(other)
		}
		if at.Call%3 == 0 { // Finished Jobs are deleted.
			c.Clock.SetTime(c.Clock.Now().Add(25 * time.Hour))
			c.Tick()
		}
	}
	r := c.reconciler(a.Client())
	c.reconcileUntil(r, "a run", func() bool { return len(c.Pods(nil)) > 0 || c.isAnswered() })
	c.Must(c.API.DeleteAllOf(context.Background(), &batchv1.Job{}))
	c.reconcileUntil(r, "the first answer", c.isAnswered)
	c.setRequest("first", common.OVNSyncRepair)
	for range 3 {
		c.pass(r)
	}
	c.edit(func(o *openstackv1.OVNSync) { o.Spec.Template.Spec.Containers[0].Image = "neutron:2026.1" })
	c.reconcileUntil(r, "the repair", c.isAnswered)
	c.setRequest("last", common.OVNSyncLog)
	c.reconcileUntil(r, "the last answer", c.isAnswered)
	c.reconcileUntil(c.sound(), "rest", c.isAnswered)
	return c, a
}

// verify checks that the last answer has no differences, that one Job ran at a time, and that only requested repairs ran.
func verify(t *testing.T, c *cluster) {
	t.Helper()
	c.Verify()
	a := c.object().Status.Answer
	if a.Request != "last" || a.Differences != 0 || c.missingPorts != 0 {
		t.Errorf("%+v, %d lost", a, c.missingPorts)
	}
	repairs := 0
	for _, mode := range c.modes {
		if mode == "repair" {
			repairs++
		}
	}
	// A lost run is repeated once: each life has one fault.
	if repairs == 0 || repairs > 2 || len(c.modes) > 6 {
		t.Errorf("runs: %v", c.modes)
	}
	if t.Failed() {
		t.Log(c.recordedText())
	}
}

// TestRecoversFromFaultAtAnyCall repeats the life for each call to Kubernetes, and each fault.
func TestRecoversFromFaultAtAnyCall(t *testing.T) {
	c, full := life(t, faultinjection.NoFault)
	verify(t, c)
	all := full.Points()
	points := faultinjection.Sample(all, *stride, nil)
	faultinjection.Run(t, points, func(t *testing.T, p faultinjection.Point) {
		c, _ := life(t, p)
		verify(t, c)
	})
	t.Logf("%d calls, %d of them writes, %d commands; %d of %d runs", full.Calls, len(full.Writes), len(c.modes), len(points), len(all))
}

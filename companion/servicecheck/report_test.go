package servicecheck

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

// TestReady_Nodes verifies that a check is not ready while no nova-compute of its nodes reports, and that it names the nodes that do not
// report otherwise: a part of the nodes of a large pool is always down.
func TestReady_Nodes(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*cluster)
		want   string
	}{
		"all up": {"Both nodes report.", func(*cluster) {}, "True ProcessesUp: all known processes report"},
		"one down": {"The other one runs servers.", func(c *cluster) { c.stopReporting("node-1") },
			"True ProcessesUp: nova-compute does not report from 1 of 2 nodes: node-1"},
		"all down": {"The pool runs no servers.", func(c *cluster) { c.stopReporting("node-1"); c.stopReporting("node-2") },
			"False ProcessesDown: nova-compute does not report from 2 of 2 nodes: node-1, node-2"},
		"none registered": {"None has reached the queue.", func(c *cluster) { c.nova.Set(); c.nova.SetHypervisors() },
			"False ProcessesDown: nova-compute does not report from 2 of 2 nodes: node-1, node-2"},
		"other pool down": {"It has another check.", func(c *cluster) { c.stopReporting("theirs") },
			"True ProcessesUp: all known processes report"},
		"no nodes": {"A new pool has none.", func(c *cluster) { c.nova.Set([]compute.Service{}...); c.pods(pool, 0) },
			"True ProcessesUp: all known processes report"},
	} {
		t.Run(name, func(t *testing.T) {
			c := hypervisors(t)
			tc.change(c)
			c.runPasses(c.reconciler(c.api, c.nova))
			ready := meta.FindStatusCondition(c.check().Status.Conditions, conditionReady)
			if ready == nil {
				t.Fatal("it has no condition")
			}
			compare(t, tc.reason, tc.want, string(ready.Status)+" "+ready.Reason+": "+ready.Message)
		})
	}
}

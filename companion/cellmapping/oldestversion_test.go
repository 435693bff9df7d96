package cellmapping

import (
	"slices"
	"testing"
	"time"
)

// TestRequiresExactlyOneOldestVersion: the output must contain the version exactly once; otherwise the run has failed.
func TestRequiresExactlyOneOldestVersion(t *testing.T) {
	for name, c := range map[string]struct {
		reason, output string
		want           int32
		fails          bool
	}{
		"Some":     {reason: "the line stands after the table", output: "+---+\noldest nova-compute: 68\n", want: 68},
		"None":     {reason: "there is no nova-compute", output: "oldest nova-compute: 0", want: 0},
		"Nothing":  {reason: "the pod was killed before", output: "+---+\n", fails: true},
		"Twice":    {reason: "one of the two is from another run", output: "oldest nova-compute: 68\noldest nova-compute: 72\n", fails: true},
		"Negative": {reason: "no version is less than 0", output: "oldest nova-compute: -1\n", fails: true},
		"Word":     {reason: "that is no version", output: "oldest nova-compute: None\n", fails: true},
		"Large":    {reason: "it has no room", output: "oldest nova-compute: 4294967296\n", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseOldestVersion(c.output)
			if (err != nil) != c.fails || got != c.want {
				t.Errorf("%s: got %d, %v; want %d", c.reason, got, err, c.want)
			}
		})
	}
}

// TestStatusFollowsOldestComputeVersion: the status follows the oldest hypervisor of the cell, when one is added and when the last old one
// is replaced.
func TestStatusFollowsOldestComputeVersion(t *testing.T) {
	c := newCluster(t, mapping("cell1"), mapping("cell2"), clouds(), secret())
	c.nova.register("compute-1", "cell1")
	c.nova.register("compute-2", "cell1")
	c.nova.register("compute-3", "cell2")
	c.nova.versions = map[string]int32{"compute-2": 68}
	r := c.sound()
	oldest := func(cell string, want int32) func() bool {
		return func() bool { got := c.cell(cell).Status.OldestCompute; return got != nil && *got == want }
	}
	c.reconcileUntil(r, "the old one of cell1", oldest("cell1", 68))
	c.reconcileUntil(r, "oldest of cell2", oldest("cell2", newest))
	c.nova.versions = nil
	c.Clock.SetTime(c.Clock.Now().Add(forcedResyncInterval + time.Minute))
	c.reconcileUntil(r, "no old one", oldest("cell1", newest))
}

// TestOldestComputeUnsetUntilHostsKnown: without hypervisors, the value is known without a Job. For a cell that is registered again, it is
// unknown until its hosts are listed, because the cell keeps its hypervisors.
func TestOldestComputeUnsetUntilHostsKnown(t *testing.T) {
	c := newCluster(t, mapping("cell1"), clouds(), secret())
	r := c.sound()
	oldest := func() *int32 { return c.cell("cell1").Status.OldestCompute }
	c.reconcileUntil(r, "the cell", func() bool {
		if c.condition("cell1", conditionHosts).Reason == "Waiting" && oldest() != nil {
			t.Fatal("the value is set before Nova's API was queried")
		}
		return oldest() != nil
	})
	if got := *oldest(); got != 0 || c.count("list_hosts") > 0 {
		t.Errorf("oldest is %d, %d lists", got, c.count("list_hosts"))
	}
	c.nova.register("compute-1", "cell1")
	c.nova.versions = map[string]int32{"compute-1": 68}
	c.reconcileUntil(r, "the old one", func() bool { return *oldest() == 68 })

	before := c.cell("cell1").Status.UUID
	c.nova.cells[slices.IndexFunc(c.nova.cells, func(s stored) bool { return s.uuid == before })].uuid = "22222222-2222-4222-8222-222222222222"
	c.nova.hosts = nil
	r = c.sound()
	c.Clock.SetTime(c.Clock.Now().Add(time.Minute))
	r.Started = c.Clock.Now() // It lists the cells again.
	c.reconcileUntil(r, "another UUID", func() bool { return c.cell("cell1").Status.UUID != before })
	if got := oldest(); got != nil {
		t.Errorf("its oldest is %d, before its hosts were listed", *got)
	}
	c.reconcileUntil(r, "the old one again", func() bool {
		if got := oldest(); got != nil && *got != 68 {
			t.Fatalf("its oldest is %d for a while", *got)
		}
		return oldest() != nil
	})
}

package hypervisor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// setClock sets the time of the management cluster.
func setClock(w *simulate.Cluster, now time.Time) {
	const clock = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: cobaltcore-clock, namespace: kube-system, " +
		"creationTimestamp: '2020-01-01T00:00:00Z'}, status: {lastScheduleTime: '%s'}}"
	w.Required[freshness.Requirement] = []*structpb.Struct{parsed(fmt.Sprintf(clock, now.Format(time.RFC3339)))}
}

// observedAt returns the field of a status with the time of its last observation.
func observedAt(at time.Time) string {
	return fmt.Sprintf("%s: '%s'\n", freshness.Field, at.Format(time.RFC3339))
}

// TestOldStatusClosesDeletionGuards verifies that no guard is open because of an old status: the companion counted zero servers and an
// empty node, and has not run since. A missing clock, and a status without a time, close the guards, too.
func TestOldStatusClosesDeletionGuards(t *testing.T) {
	const (
		status = "observedGeneration: 1\n" +
			"capacity: {virtualMachines: 0, totalVCPU: 64, availableVCPU: 64, totalMemoryMiB: 1, availableMemoryMiB: 1}\n" +
			"conditions: [{type: Ready, status: 'True', reason: ProcessesUp, message: all}, " +
			"{type: Counted, status: 'True', reason: Complete, message: all}, {type: RemovedNodesCleanedUp, status: 'True', reason: NoRecordsLeft, message: all}, " +
			"{type: CordonedNodesEvacuated, status: 'True', reason: NodesEmpty, message: all}]\nnodes: [{name: node-1}]\n"
		remedy  = "check the Deployment and the log of the companion"
		upgrade = "does not exist: upgrade the Helm chart to the version of the functions; deletion guards are closed until then"
	)
	for name, tc := range map[string]struct {
		reason string
		// clock and observed are zero if they are missing.
		clock, observed time.Time
		// closed is a part of the messages; "": the guards are open.
		closed string
	}{
		"recent":     {"The status is as old as a quiet companion leaves it.", noon, noon.Add(-6 * time.Minute), ""},
		"limit":      {"It is exactly at the limit.", noon, noon.Add(-freshness.GuardLimit), ""},
		"too old":    {"It is a second older.", noon, noon.Add(-freshness.GuardLimit - time.Second), "more than 10 minutes ago: " + remedy},
		"a year old": {"The companion is dead.", noon, noon.AddDate(-1, 0, 0), "from 2025-01-02T12:00:00Z, more than 365 days ago: " + remedy},
		"slow clock": {"The clock advances every ten minutes.", noon, noon.Add(10 * time.Minute), ""},
		"future":     {"A clock is wrong.", noon, noon.Add(time.Hour), "in the future: synchronize the clocks"},
		"no clock":   {"The chart is older, or this is a preview.", time.Time{}, noon, upgrade},
		"no time":    {"The companion is older.", noon, time.Time{}, "has no time: wait for the companion"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(mine, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			if !tc.clock.IsZero() {
				setClock(w, tc.clock)
			}
			reported := status
			if !tc.observed.IsZero() {
				reported += observedAt(tc.observed)
			}
			reports(t, w, checkComponent, reported)
			guards := map[string]string{noVirtualMachines: "", removedNodesCleanedUp: "", cordonedNodesEvacuated: ""}
			for _, c := range New().Run(w.Request()).Conditions {
				if _, ok := guards[c.GetType()]; ok {
					guards[c.GetType()] = c.GetStatus().String() + " " + c.GetMessage()
				}
			}
			for guard, got := range guards {
				if open := strings.HasPrefix(got, "STATUS_CONDITION_TRUE"); open != (tc.closed == "") || !strings.Contains(got, tc.closed) {
					t.Errorf("%s %s is %q, want %q", tc.reason, guard, got, tc.closed)
				}
				if tc.closed != "" && !strings.Contains(got, "ServiceCheck "+w.Observed[checkComponent].At("metadata", "name").Text()) {
					t.Errorf("%s: %q does not name the object", guard, got)
				}
			}
		})
	}
}

// TestOldStatusMakesPoolUnready verifies that a component with an old status is not ready, and that the pool's status contains the age of
// its numbers.
func TestOldStatusMakesPoolUnready(t *testing.T) {
	w := newCluster(mine, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	status := w.Observed[checkComponent].At("status").Map()
	for name, tc := range map[string]struct {
		reason   string
		observed time.Time
		ready    bool
		want     string
	}{
		"limit": {"A quiet companion writes less often.", noon.Add(-freshness.ComponentLimit), true, "2026-01-02T10:30:00Z"},
		"old":   {"The pool is not ready.", noon.Add(-freshness.ComponentLimit - time.Second), false, "2026-01-02T10:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			setClock(w, noon)
			status[freshness.Field] = tc.observed.Format(time.RFC3339)
			setStatus(t, w, checkComponent, status)
			rsp := New().Run(w.Request())
			if rsp.Composite.Ready != tc.ready {
				t.Errorf("%s Ready is %t", tc.reason, rsp.Composite.Ready)
			}
			if got := rsp.Composite.Object.At("status", freshness.Field).Text(); got != tc.want {
				t.Errorf("the status is from %q, want %q", got, tc.want)
			}
		})
	}
}

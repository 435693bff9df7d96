package hypervisor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestCopiesConditionOnRemovedNodes verifies that the claim has the companion's condition on removed nodes, and no such condition before
// the first check.
func TestCopiesConditionOnRemovedNodes(t *testing.T) {
	w := newCluster(mine, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
	message := func() string {
		for _, c := range New().Run(w.Request()).Conditions {
			if c.GetType() == removedNodesCleanedUp {
				return c.GetStatus().String() + " " + c.GetReason() + ": " + c.GetMessage()
			}
		}
		return ""
	}
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	if got := message(); got != "" {
		t.Errorf("before the first check the condition is %q", got)
	}
	all := w.Observed[checkComponent].Map()
	status, _ := all["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	status["conditions"] = append(conditions, map[string]any{
		"type": "RemovedNodesCleanedUp", "status": "False", "reason": "NodeInUse", "message": "node-1 has left, and 2 virtual machines are on it",
	})
	changed, err := structpb.NewStruct(all)
	if err != nil {
		t.Fatal(err)
	}
	w.Observed[checkComponent] = encoded.Of(changed)
	if got, want := message(), "STATUS_CONDITION_FALSE NodeInUse: node-1 has left, and 2 virtual machines are on it"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNodesReporting verifies that the claim names the nodes from which nova-compute does not report, with the times and revisions of the
// companion's report, and that a part of the nodes may be missing.
func TestNodesReporting(t *testing.T) {
	const missing = "missingNodeCount: %d\nmissingNodes: [{name: node-7, since: '2026-01-02T11:00:00Z', revision: 7d9f8c}]\n"
	const names = "nodes: node-7 (since 2026-01-02T11:00:00Z, revision 7d9f8c)"
	for name, tc := range map[string]struct {
		reason, status string
		clock          time.Time
		want           string
	}{
		"all": {"All nodes report.", "up: 3\n", noon, "True AllReport: nova-compute reports from all nodes"},
		"a part": {"Five percent may be missing.", "up: 95\n" + fmt.Sprintf(missing, 5), noon,
			"True EnoughReport: nova-compute does not report from 5 of 100 " + names + " and 4 more"},
		"too many": {"More than five percent are missing.", "up: 94\n" + fmt.Sprintf(missing, 6), noon,
			"False NodesMissing: nova-compute does not report from 6 of 100 " + names + " and 5 more"},
		"the only one": {"No server can run.", fmt.Sprintf(missing, 1), noon, "False NodesMissing: nova-compute does not report from 1 of 1 " + names},
		"old": {"The companion is dead.", "up: 3\n", noon.AddDate(1, 0, 0),
			"False StatusTooOld: the status of ServiceCheck"},
		"none": {"The companion has not written a status.", "", noon, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(mine, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			setClock(w, tc.clock)
			if tc.status != "" {
				tc.status += observedAt(noon)
			}
			setStatus(t, w, checkComponent, parsed("observedGeneration: 1\n"+tc.status).AsMap())
			got := ""
			for _, c := range New().Run(w.Request()).Conditions {
				if c.GetType() == nodesReporting {
					status := map[fnv1.Status]string{fnv1.Status_STATUS_CONDITION_TRUE: "True", fnv1.Status_STATUS_CONDITION_FALSE: "False"}[c.GetStatus()]
					got = status + " " + c.GetReason() + ": " + c.GetMessage()
				}
			}
			if got != tc.want && (name != "old" || !strings.HasPrefix(got, tc.want)) {
				t.Errorf("%s The condition is %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

package harness

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
)

// TestCompareFindsWrongPredictions checks each kind of a wrong plan, and that pessimistic and correct plans are not wrong.
func TestCompareFindsWrongPredictions(t *testing.T) {
	planned := func(level plan.Level, restarts ...plan.Restart) *plan.Plan {
		return &plan.Plan{
			Claims:   []plan.Claim{{Restarts: restarts}},
			Verdicts: []plan.Verdict{{Subject: "glance", Level: level}},
		}
	}
	api := plan.Restart{Kind: "Deployment", Name: "glance", Overlap: plan.OverlapSurge}
	short, long := Loss{Requests: 9, Failed: 1, Longest: time.Second}, Loss{Requests: 9, Failed: 3, Longest: time.Minute}
	running := []string{"Deployment glance", "StatefulSet mariadb"}
	cases := map[string]struct {
		reason             string
		plan               *plan.Plan
		outcome            Outcome
		wrong, pessimistic int
	}{
		"correct": {"the workload restarts as planned", planned(plan.NoInterruption, api),
			Outcome{Workloads: running, Restarted: running[:1], Loss: map[string]Loss{"glance": {Requests: 9}}}, 0, 0},
		"unplanned restart": {"clients do not notice it, and the plan does not name it", planned(plan.NoInterruption),
			Outcome{Workloads: running, Restarted: running[:1]}, 1, 0},
		"missing restart": {"the plan names it", planned(plan.NoInterruption, api), Outcome{Workloads: running}, 1, 0},
		"restart of an operator": {"a MariaDB has a StatefulSet of its name", planned(plan.NoInterruption, plan.Restart{Kind: "MariaDB", Name: "mariadb"}),
			Outcome{Workloads: running, Restarted: running[1:]}, 0, 0},
		"manual restart": {"pods stay until an operator deletes them",
			planned(plan.NoInterruption, plan.Restart{Kind: "Deployment", Name: "glance", Overlap: plan.OverlapManual}), Outcome{Workloads: running}, 0, 0},
		"workload that does not run": {"the companion runs in the test itself", planned(plan.NoInterruption, plan.Restart{Kind: "Deployment", Name: "companion"}),
			Outcome{Workloads: running}, 0, 0},
		"lost requests":       {"no interruption is promised", planned(plan.NoInterruption), Outcome{Loss: map[string]Loss{"glance": short}}, 1, 0},
		"lost once":           {"a degradation permits it", planned(plan.Degraded), Outcome{Loss: map[string]Loss{"glance": short}}, 0, 0},
		"lost for a minute":   {"that is an interruption", planned(plan.Degraded), Outcome{Loss: map[string]Loss{"glance": long}}, 1, 0},
		"interrupted":         {"as planned", planned(plan.Interrupted), Outcome{Loss: map[string]Loss{"glance": long}}, 0, 0},
		"interrupted in vain": {"no request failed", planned(plan.Interrupted), Outcome{Loss: map[string]Loss{"glance": {Requests: 9}}}, 0, 1},
		"data at risk":        {"requests do not measure it", planned(plan.DataAtRisk), Outcome{Loss: map[string]Loss{"glance": long}}, 0, 0},
		"no verdict":          {"each service has one", planned(plan.Degraded), Outcome{Loss: map[string]Loss{"nova": {Requests: 9}}}, 1, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			wrong, pessimistic := Compare(tc.plan, tc.outcome)
			if diff := cmp.Diff([]int{tc.wrong, tc.pessimistic}, []int{len(wrong), len(pessimistic)}); diff != "" {
				t.Errorf("%s: wrong and pessimistic predictions (-want +got):\n%s\n%q\n%q", tc.reason, diff, wrong, pessimistic)
			}
		})
	}
}

package hypervisor

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestNodesCleared verifies that the claim has the companion's condition on removed nodes, and no such condition before the first check.
func TestNodesCleared(t *testing.T) {
	w := newCluster(mine, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
	message := func() string {
		for _, c := range New().Run(w.Request()).Conditions {
			if c.GetType() == nodesCleared {
				return c.GetStatus().String() + " " + c.GetReason() + ": " + c.GetMessage()
			}
		}
		return ""
	}
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	if got := message(); got != "" {
		t.Errorf("before the first check the condition is %q", got)
	}
	all := w.Observed[checkComponent].Map()
	status, _ := all["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	status["conditions"] = append(conditions, map[string]any{
		"type": "Cleared", "status": "False", "reason": "NodeInUse", "message": "node-1 has left, and 2 virtual machines are on it",
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

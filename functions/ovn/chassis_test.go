package ovn

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestControllers verifies that the condition names inactive nodes, and that no component waits for them.
func TestControllers(t *testing.T) {
	for name, tc := range map[string]struct {
		chassis map[string]any
		failure string
		want    ready.Result
	}{
		"Not counted": {nil, "", ready.Wait("ChassisCountUnknown", "waiting for the companion to count the chassis")},
		"None":        {map[string]any{"registered": 0, "active": 0}, "", ready.Result{Ready: true, Reason: "NoNodes", Message: "no node has registered yet"}},
		"All": {
			map[string]any{"registered": 3, "active": 3}, "",
			ready.Result{Ready: true, Reason: "UpToDate", Message: "all 3 chassis are up to date"},
		},
		"Some": {
			map[string]any{"registered": 3, "active": 1, "outOfDate": []any{"a", "b"}}, "",
			ready.Wait("NodesOutOfDate", "2 of 3 chassis are out of date: a, b"),
		},
		"former companion": {
			map[string]any{"registered": 3, "active": 1}, "",
			ready.Wait("NodesOutOfDate", "2 of 3 chassis are out of date"),
		},
		"The last count was complete, the current one fails": {
			map[string]any{"registered": 3, "active": 3}, "cannot count the chassis: timeout",
			ready.Wait("ChassisCountUnknown", "the number of chassis is unknown: cannot count the chassis: timeout"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := map[string]any{"apiVersion": "c5c3.io/v1alpha1", "kind": "RaftCluster", "status": map[string]any{}}
			state := map[string]any{}
			if tc.chassis != nil {
				state["chassis"] = tc.chassis
			}
			if tc.failure != "" {
				state["conditions"] = []any{map[string]any{"type": "ChassisCounted", "status": "False", "reason": "CountFailed", "message": tc.failure}}
			}
			o["status"] = state
			e, err := encode.Struct(o)
			if err != nil {
				t.Fatal(err)
			}
			in := function.Input[ovnv1.OVNCluster]{}
			if in.Observed, err = observe.New(map[string]encoded.Struct{southbound + "-cluster": e}); err != nil {
				t.Fatal(err)
			}
			function.SetDefaults(&in.XR)
			m, err := derive(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.controllers()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

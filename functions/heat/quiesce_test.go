package heat

import (
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// built returns the objects of a Heat of testdata, by resource, with the given status of its schema.
func built(t *testing.T, file, policy string, schema map[string]any) map[string]map[string]any {
	t.Helper()
	in := function.Input[heatv1.Heat]{}
	in.XR.Name, in.XR.Namespace = heatv1.ServiceName, "cloud"
	spec, err := json.Marshal(servicetest.Spec(t, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(spec, &in.XR.Spec); err != nil {
		t.Fatal(err)
	}
	in.XR.Spec.DeletionPolicy = policy
	observed, err := structpb.NewStruct(map[string]any{"status": schema})
	if err != nil {
		t.Fatal(err)
	}
	if in.Observed, err = observe.New(map[string]encoded.Struct{"schema": encoded.Of(observed)}); err != nil {
		t.Fatal(err)
	}
	function.SetDefaults(&in.XR)
	m, err := derive(in)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, c := range graph {
		if c.Enabled != nil && !c.Enabled(m) {
			continue
		}
		stages, err := c.Build(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, stage := range stages {
			for _, r := range stage {
				tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.Object)
				if err != nil {
					t.Fatal(err)
				}
				out[r.Name] = tree
			}
		}
	}
	return out
}

func at(o map[string]any, path ...string) any {
	var v any = o
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// TestQuiesced verifies that no process with access to the database runs during a schema step that requires this, and that all run
// otherwise.
func TestQuiesced(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		quiesce bool
		want    map[string]int64
	}{
		"Quiet": {"Tables are rebuilt.", true, map[string]int64{"deployment": 0, "engine": 0, "cfn": 0}},
		"Busy":  {"Pods are running.", false, map[string]int64{"deployment": 3, "engine": 3, "cfn": 2}},
	} {
		objects := built(t, "medium", common.DeletionPolicyRetain, map[string]any{"quiesce": tc.quiesce})
		for resource, want := range tc.want {
			if got := at(objects[resource], "spec", "replicas"); got != want {
				t.Errorf("%s: %s %s has %v pods, want %d", name, tc.reason, resource, got, want)
			}
		}
		if got := at(objects["archive"], "spec", "suspend"); got != tc.quiesce {
			t.Errorf("%s: %s purge of deleted rows: suspended %v", name, tc.reason, got)
		}
	}
}

// TestRetainsUsersOfStacks verifies that the domain with the users of stacks, and the objects of stacks in Keystone, are retained as long
// as the stacks.
func TestRetainsUsersOfStacks(t *testing.T) {
	for policy, want := range map[string]string{common.DeletionPolicyRetain: "detach", common.DeletionPolicyDelete: "delete"} {
		objects := built(t, "small", policy, nil)
		if got := at(objects["user"], "spec", "managedOptions", "onDelete"); got != want {
			t.Errorf("with %s the user goes by %v, want %s", policy, got, want)
		}
		for _, retained := range []string{"stack-domain", "stack-user-role"} {
			if got := at(objects[retained], "spec", "managedOptions", "onDelete"); got != "detach" {
				t.Errorf("with %s %s goes by %v", policy, retained, got)
			}
		}
	}
}

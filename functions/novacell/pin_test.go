package novacell

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// TestPinned: the cell's conductor is replaced when the oldest hypervisor is another one, until none is of an earlier release. Nobody else
// in the cell speaks to hypervisors by calls, and proxies, with their connections, stay.
func TestPinned(t *testing.T) {
	w, _ := kind.Ready(t, "medium")
	oldest := int64(0)
	w.Reports = func(kind, _ string) map[string]any {
		if kind != "CellMapping" {
			return nil
		}
		return map[string]any{"oldestCompute": oldest}
	}
	for _, c := range []struct {
		reason string
		oldest int64
		want   string
	}{
		{"there is no hypervisor", 0, ""}, {"one is of 2025.1", 68, "68"}, {"the last of 2025.1 has gone", 70, "70"}, {"all are of 2026.1", 72, ""},
	} {
		oldest = c.oldest
		if err := w.Refresh(func(simulate.Step) {}); err != nil {
			t.Fatal(err)
		}
		desired := kind.Desired(t, w)
		for resource, want := range map[string]string{"conductor": c.want, "spice": ""} {
			got, _, err := unstructured.NestedString(desired[resource], "spec", "template", "metadata", "annotations", novav1.Group+"/oldest-compute")
			if err != nil || desired[resource] == nil || got != want {
				t.Errorf("%s: %s is pinned to %q, %v; want %q", c.reason, resource, got, err, want)
			}
		}
	}
}

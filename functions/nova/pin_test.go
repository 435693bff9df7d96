package nova

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// TestOldestVersionReplacesCallers verifies that processes which call hypervisors are replaced when the oldest version of all cells
// changes, until no hypervisor has an earlier release.
func TestOldestVersionReplacesCallers(t *testing.T) {
	w, _ := kind.Ready(t, "medium")
	var oldest any = int64(0)
	w.Reports = func(kind, _ string) map[string]any {
		if kind != "NovaCell" {
			return nil
		}
		return map[string]any{"uuid": "00000000-0000-4000-8000-000000000001", "oldestCompute": oldest}
	}
	for _, c := range []struct {
		reason string
		oldest any // nil: not checked yet
		want   string
	}{
		{"there is no hypervisor", int64(0), ""}, {"one is of 2025.1", int64(68), "68"},
		{"cells are recorded again, and their hosts were not listed yet", nil, "68"},
		{"all are of 2026.1", int64(72), ""}, {"one is ahead", int64(74), ""},
	} {
		oldest = c.oldest
		if err := w.Refresh(func(simulate.Step) {}); err != nil {
			t.Fatal(err)
		}
		desired := kind.Desired(t, w)
		for _, resource := range []string{"deployment", "conductor", "scheduler"} {
			got, _, err := unstructured.NestedString(desired[resource], "spec", "template", "metadata", "annotations", novav1.Group+"/oldest-compute")
			if err != nil || desired[resource] == nil || got != c.want {
				t.Errorf("%s: %s is pinned to %q, %v; want %q", c.reason, resource, got, err, c.want)
			}
		}
	}
}

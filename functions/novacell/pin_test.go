package novacell

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// TestOldestVersionReplacesConductor verifies that the cell's conductor is replaced when the oldest version of hypervisors changes, until
// no hypervisor has an earlier release. Other processes of the cell do not call hypervisors, and proxies keep their connections.
func TestOldestVersionReplacesConductor(t *testing.T) {
	w, _ := kind.Ready(t, "medium")
	var oldest any = int64(0)
	w.Reports = func(kind, _ string) map[string]any {
		if kind != "CellMapping" {
			return nil
		}
		return map[string]any{"oldestCompute": oldest}
	}
	for _, c := range []struct {
		reason string
		oldest any // nil: not checked yet
		want   string
	}{
		{"there is no hypervisor", int64(0), ""}, {"one is of 2025.1", int64(68), "68"},
		{"the cell is recorded again, and its hosts were not listed yet", nil, "68"},
		{"the last of 2025.1 has gone", int64(70), "70"}, {"all are of 2026.1", int64(72), ""},
	} {
		oldest = c.oldest
		if err := w.Refresh(func(simulate.Step) {}); err != nil {
			t.Fatal(err)
		}
		status, _ := w.XR.AsMap()["status"].(map[string]any)
		if got, known := status["oldestCompute"]; known != (c.oldest != nil) || known && fmt.Sprint(got) != fmt.Sprint(c.oldest) {
			t.Errorf("%s: the oldest version of the cell is %v, %v", c.reason, got, known)
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

package kinds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
)

// TestRunners verifies that every function composes an existing kind with a Composition that references it, and that every Composition has
// its function.
func TestRunners(t *testing.T) {
	runners := Runners()
	composed := map[string]bool{}
	files, err := filepath.Glob("../../compositions/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Spec struct {
				CompositeTypeRef struct{ APIVersion, Kind string }
			}
		}
		if err := yaml.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		ref := c.Spec.CompositeTypeRef
		group, _, _ := strings.Cut(ref.APIVersion, "/")
		kind := ref.Kind + "." + group
		composed[kind] = true
		if runners[kind] == nil {
			t.Errorf("%s references %s, which has no function", f, kind)
		}
		if _, _, err := definition.For(ref.APIVersion, ref.Kind); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
	for kind := range runners {
		if !composed[kind] {
			t.Errorf("no Composition references %s", kind)
		}
	}
}

package kinds

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
)

// TestConstructors tests that each registered composite resource has a function, and that each function has a registered kind.
func TestConstructors(t *testing.T) {
	var want []string
	for _, k := range kindregistry.Composites() {
		want = append(want, k.Folder)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(constructors))); diff != "" {
		t.Errorf("folders: -registry, +functions:\n%s", diff)
	}
}

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

package placement

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

var update = flag.Bool("update", false, "write the golden files again")

// kind is how a composition function names our composite resource.
const kind = "Placement.placement.openstack.c5c3.io"

// ready is the Placement with the spec of a file in testdata, of which everything is there and ready, and what it was composed of step by
// step.
func ready(t *testing.T, file string) (*simulate.World, [][]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	spec := map[string]any{}
	if err := yaml.UnmarshalStrict(data, &spec); err != nil {
		t.Fatal(err)
	}
	xr, err := structpb.NewStruct(map[string]any{
		"apiVersion": "placement.openstack.c5c3.io/v1alpha1", "kind": "Placement",
		"metadata": map[string]any{"name": "placement", "namespace": "cloud"}, "spec": spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &simulate.World{XR: xr, Kinds: map[string]function.Runner{kind: New()}}
	var steps [][]string
	err = w.Run(func(s simulate.Step) {
		if len(s.New) > 0 {
			steps = append(steps, s.New)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return w, steps
}

// desired is the function's answer now, as the objects themselves: unwrapped.
func desired(t *testing.T, w *simulate.World) map[string]map[string]any {
	t.Helper()
	rsp, _, err := w.Kinds[kind].Explain(w.Request())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for name, r := range rsp.Composed {
		o := r.Object
		if inner, ok := wrapper.Desired(o); ok {
			o = inner
		}
		out[name] = o.Map()
	}
	return out
}

// TestObjects compares everything that is composed with goldens: testdata/<spec>/<resource>.yaml.
func TestObjects(t *testing.T) {
	specs, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for _, path := range specs {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			w, steps := ready(t, name)
			got := map[string]string{}
			for resource, o := range desired(t, w) {
				text, err := yaml.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				got[resource+".yaml"] = string(text)
			}
			text, err := yaml.Marshal(steps)
			if err != nil {
				t.Fatal(err)
			}
			got["steps.txt"] = string(text)
			if diff := cmp.Diff(goldens(t, filepath.Join("testdata", name), got), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// goldens are the files of a folder, written again where that is asked for.
func goldens(t *testing.T, dir string, files map[string]string) map[string]string {
	t.Helper()
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(files[name]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(data)
	}
	return out
}

package keystone

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/golden"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

var update = flag.Bool("update", false, "write the golden files again")

// kind is the name by which functions refer to the composite resource.
const kind = "Keystone.keystone.openstack.c5c3.io"

// xr is the Keystone of a control plane with the spec of a file in testdata, after some changes to it.
func xr(t *testing.T, file string, changes ...func(spec map[string]any)) *structpb.Struct {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	spec := map[string]any{}
	if err := yaml.UnmarshalStrict(data, &spec); err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(spec)
	}
	return structOf(t, map[string]any{
		"apiVersion": "keystone.openstack.c5c3.io/v1alpha1", "kind": "Keystone",
		"metadata": map[string]any{"name": "keystone", "namespace": "cloud"}, "spec": spec,
	})
}

func structOf(t *testing.T, m map[string]any) *structpb.Struct {
	t.Helper()
	o, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// set changes one field of a spec.
func set(value any, path ...string) func(map[string]any) {
	return func(m map[string]any) {
		for _, k := range path[:len(path)-1] {
			next, _ := m[k].(map[string]any)
			if next == nil {
				next = map[string]any{}
				m[k] = next
			}
			m = next
		}
		m[path[len(path)-1]] = value
	}
}

// input returns the input of derive for a Keystone with observed resources.
func input(t *testing.T, xr *structpb.Struct, observed map[string]*structpb.Struct) function.Input[keystonev1.Keystone] {
	t.Helper()
	objects := map[string]encoded.Struct{}
	for name, o := range observed {
		objects[name] = encoded.Of(o)
	}
	state, err := observe.New(objects)
	if err != nil {
		t.Fatal(err)
	}
	in := function.Input[keystonev1.Keystone]{Observed: state}
	if err := function.Decode(xr, &in.XR); err != nil {
		t.Fatal(err)
	}
	function.SetDefaults(&in.XR)
	return in
}

func derived(t *testing.T, xr *structpb.Struct) *model {
	t.Helper()
	m, err := derive(input(t, xr, nil))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ready returns a Keystone whose resources all exist and are ready.
func ready(t *testing.T, xr *structpb.Struct) *simulate.Cluster {
	t.Helper()
	w := &simulate.Cluster{XR: xr, Kinds: map[string]function.Runner{kind: New()}}
	finish(t, w)
	return w
}

func finish(t *testing.T, w *simulate.Cluster) {
	t.Helper()
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
}

// desired is the function's answer now, as the objects themselves: unwrapped.
func desired(t *testing.T, w *simulate.Cluster) map[string]map[string]any {
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

// at is the value at a path of an object; a number in the path is an index.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

// TestFilesMatchGoldens compares the files that pods read with goldens: testdata/<spec>/<file>.
func TestFilesMatchGoldens(t *testing.T) {
	specs := servicetest.Specs(t)
	cases := golden.In("testdata", specs)
	for _, name := range cases.Order(specs) {
		t.Run(name, func(t *testing.T) {
			m := derived(t, xr(t, name))
			files := m.Files.Data
			for i, b := range m.spec.IdentityBackends {
				text, err := m.domainConfig(i, b)
				if err != nil {
					t.Fatal(err)
				}
				files["keystone."+b.Domain+".conf"] = text
			}
			cases.Compare(t, name, files, *update)
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestGraphHasRequiredComponents tests that the graph has the components and needs that the definition requires.
func TestGraphHasRequiredComponents(t *testing.T) { servicetest.CheckGraph(t, &definition, graph) }

// Package servicetest compares the objects that functions of services compose with goldens.
package servicetest

import (
	stdcmp "cmp"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/golden"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// Kind is a kind of composite resource and its function.
type Kind struct {
	schema.GroupVersionKind
	function.Runner
	// Name of the composite resource. Empty: the name of its kind in lower case.
	Name string
	// KeepsNoData: the kind has no deletionPolicy.
	KeepsNoData bool
	// Cluster completes the simulated cluster, with required resources and owners. Nil: no additions.
	Cluster func(*simulate.Cluster)
	// Cache contains the clusters that are ready. Nil: each test composes its clusters.
	Cache *simulate.Cache
}

func (k Kind) name() string { return k.GroupKind().String() }

// Ready returns a cluster with the composite resource of a spec in testdata after everything is ready, and the names of the resources that
// were added in each step.
func (k Kind) Ready(t *testing.T, file string) (*simulate.Cluster, [][]string) {
	t.Helper()
	xr, err := structpb.NewStruct(map[string]any{
		"apiVersion": k.GroupVersion().String(), "kind": k.Kind,
		"metadata": map[string]any{"name": stdcmp.Or(k.Name, strings.ToLower(k.Kind)), "namespace": "cloud"}, "spec": Spec(t, file),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &simulate.Cluster{XR: xr, Kinds: map[string]function.Runner{k.name(): k.Runner}}
	if k.Cluster != nil {
		k.Cluster(w)
	}
	cache := stdcmp.Or(k.Cache, &simulate.Cache{})
	steps, err := cache.Run(w)
	if err != nil {
		t.Fatal(err)
	}
	return w, steps
}

// Desired returns the currently desired objects, without wrappers.
func (k Kind) Desired(t *testing.T, w *simulate.Cluster) map[string]map[string]any {
	t.Helper()
	rsp, _, err := k.Explain(w.Request())
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

// hashed matches the hash at the end of the name of a revision, which changes with the content.
var hashed = regexp.MustCompile(`-[0-9a-f]{8,10}$`)

// retention tests that data outlives the composite resource with deletionPolicy Retain, and is deleted with Delete. It returns the
// deletion effect on each resource with Retain.
func (k Kind) retention(t *testing.T, w *simulate.Cluster) string {
	t.Helper()
	spec := w.XR.GetFields()["spec"].GetStructValue()
	previous, has := spec.GetFields()["deletionPolicy"]
	out, rules := map[string]string{}, 0
	for _, policy := range []string{common.DeletionPolicyDelete, common.DeletionPolicyRetain} {
		if k.KeepsNoData && policy == common.DeletionPolicyDelete {
			continue
		}
		spec.GetFields()["deletionPolicy"] = structpb.NewStringValue(policy)
		if k.KeepsNoData {
			delete(spec.GetFields(), "deletionPolicy")
		}
		rsp, _, err := k.Explain(w.Request())
		if err != nil {
			t.Fatal(err)
		}
		for name, r := range rsp.Composed {
			findings, n := Retention(policy, r.Object)
			for _, f := range findings {
				t.Errorf("%s: %s", name, f)
			}
			rules += n
			out[hashed.ReplaceAllString(name, "-<hash>")] = deletionEffect(r.Object)
		}
	}
	if rules == 0 && !k.KeepsNoData {
		t.Error("no resource contains data")
	}
	delete(spec.GetFields(), "deletionPolicy")
	if has {
		spec.GetFields()["deletionPolicy"] = previous
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(out)) {
		lines.WriteString(name + ": " + out[name] + "\n")
	}
	return lines.String()
}

// Objects compares all composed objects of each spec with goldens: testdata/<spec>/<resource>.yaml, and fates.txt with the effect of
// deletion on each. Folders contain the differences from one of the specs (package golden). It tests retention with both values of
// deletionPolicy.
func (k Kind) Objects(t *testing.T, update bool) {
	t.Helper()
	specs := Specs(t)
	cases := golden.In("testdata", specs)
	for _, name := range cases.Order(specs) {
		t.Run(name, func(t *testing.T) {
			w, steps := k.Ready(t, name)
			got := map[string]string{}
			for resource, o := range k.Desired(t, w) {
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
			got["steps.txt"], got["fates.txt"] = string(text), k.retention(t, w)
			k.lists(t, w)
			cases.Compare(t, name, got, update)
		})
	}
}

// Specs returns the names of the specs in testdata. No spec fails the test.
func Specs(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	names := make([]string, 0, len(paths))
	for _, path := range paths {
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".yaml"))
	}
	return names
}

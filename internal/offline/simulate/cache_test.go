package simulate_test

import (
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// counter counts the calls of a function.
type counter struct {
	function.Runner
	calls *atomic.Int64
}

func (c counter) Explain(req *wire.Request) (*wire.Response, compose.Plan, error) {
	c.calls.Add(1)
	return c.Runner.Explain(req)
}

// TestCache tests that only clusters with the same resources share a run, and that a change of one of them does not change the others.
func TestCache(t *testing.T) {
	var cache simulate.Cache
	var calls atomic.Int64
	run := func(text string, change func(*simulate.Cluster)) (*simulate.Cluster, [][]string, bool) {
		t.Helper()
		w := newCluster(t, map[string]any{"text": text})
		w.Kinds["Parent.example.org"] = counter{w.Kinds["Parent.example.org"], &calls}
		w.Required = map[string][]*structpb.Struct{}
		if change != nil {
			change(w)
		}
		before := calls.Load()
		steps, err := cache.Run(w)
		if err != nil {
			t.Fatal(err)
		}
		return w, steps, calls.Load() == before
	}
	other := func(name string) *structpb.Struct {
		return structOf(t, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "cloud"}})
	}
	first, steps, cached := run("a", nil)
	if cached || len(steps) == 0 {
		t.Fatalf("the first run has %d steps, cached: %t", len(steps), cached)
	}
	composed := len(first.Observed)
	delete(first.Observed, "config")
	first.Required["platform"] = []*structpb.Struct{other("default")}
	first.XR.Fields["status"] = structpb.NewNullValue()

	for name, tc := range map[string]struct {
		reason, text string
		change       func(*simulate.Cluster)
		cached       bool
	}{
		"Equal":     {"It starts with the same resources.", "a", nil, true},
		"Spec":      {"The spec differs.", "b", nil, false},
		"Required":  {"A required resource differs.", "a", func(w *simulate.Cluster) { w.Required["platform"] = []*structpb.Struct{other("x")} }, false},
		"Resources": {"Another resource exists.", "a", func(w *simulate.Cluster) { w.RequiredResources = []*structpb.Struct{other("x")} }, false},
		"Nested": {"A nested composite resource requires another resource.", "a", func(w *simulate.Cluster) {
			w.Nested = map[string]map[string][]*structpb.Struct{"Keystone.keystone.openstack.c5c3.io": {"platform": {other("x")}}}
		}, false},
		"Owners": {"Owners of objects are called for each cluster.", "a", func(w *simulate.Cluster) {
			w.Reconcile = func([]map[string]any) error { return nil }
		}, false},
		"Observed": {"It was composed before.", "a", func(w *simulate.Cluster) { w.Observed = map[string]encoded.Struct{"old": encoded.Of(other("old"))} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, got, cached := run(tc.text, tc.change)
			if cached != tc.cached {
				t.Errorf("%s cached: %t", tc.reason, cached)
			}
			if diff := cmp.Diff(steps, got); diff != "" {
				t.Errorf("%s steps (-want +got):\n%s", tc.reason, diff)
			}
			if _, ok := w.Observed["config"]; !ok || len(w.Observed) != composed {
				t.Errorf("%s %d objects are observed, want %d", tc.reason, len(w.Observed), composed)
			}
			if name != "Required" && len(w.Required) > 0 {
				t.Errorf("%s it has the required resources of another cluster", tc.reason)
			}
			if w.XR.GetFields()["status"].GetStructValue() == nil {
				t.Errorf("%s it has the status of another cluster", tc.reason)
			}
		})
	}
}

// TestCacheReturnsErrorsEachTime tests that an error of a function is returned each time.
func TestCacheReturnsErrorsEachTime(t *testing.T) {
	var cache simulate.Cache
	for range 2 {
		if _, err := cache.Run(newCluster(t, map[string]any{"fail": "parent"})); err == nil {
			t.Error("there is no error")
		}
	}
}

package wrapper_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

func structOf(t *testing.T, o map[string]any) encoded.Struct {
	t.Helper()
	s, err := structpb.NewStruct(o)
	if err != nil {
		t.Fatal(err)
	}
	return encoded.Of(s)
}

func TestRecognizesObjectsOfProvider(t *testing.T) {
	cases := map[string]struct {
		reason           string
		apiVersion, kind string
		want             bool
	}{
		"ClusterScoped": {"The kind for cluster-scoped composite resources.", "kubernetes.crossplane.io/v1alpha2", "Object", true},
		"Namespaced":    {"The kind for namespaced ones.", "kubernetes.m.crossplane.io/v1alpha1", "Object", true},
		"Newer":         {"Its version does not count.", "kubernetes.m.crossplane.io/v1", "Object", true},
		"Group":         {"Others have Objects, too.", "example.org/v1", "Object", false},
		"Core":          {"A core kind has no group.", "v1", "Object", false},
		"Kind":          {"The provider has other kinds.", "kubernetes.crossplane.io/v1alpha2", "ProviderConfig", false},
		"Empty":         {"An object without a kind.", "", "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := structOf(t, map[string]any{"apiVersion": tc.apiVersion, "kind": tc.kind, "spec": map[string]any{
				"forProvider": map[string]any{"manifest": map[string]any{"kind": "A"}},
			}})
			if got := wrapper.IsObject(o); got != tc.want {
				t.Errorf("%s\nIs(...) = %t, want %t", tc.reason, got, tc.want)
			}
			if inside, ok := wrapper.Desired(o); ok != tc.want || ok && inside.At("kind").Text() != "A" {
				t.Errorf("%s\nDesired(...) = %v, %t, want %t", tc.reason, inside.Map(), ok, tc.want)
			}
		})
	}
}

func TestOrphansOnDelete(t *testing.T) {
	object := func(kind string, policies ...any) encoded.Struct {
		return structOf(t, map[string]any{
			"apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": kind, "spec": map[string]any{"managementPolicies": policies},
		})
	}
	cases := map[string]struct {
		reason string
		object encoded.Struct
		want   bool
	}{
		"All":       {"It may do everything.", object("Object", "*"), false},
		"Delete":    {"It may delete.", object("Object", "Observe", "Delete"), false},
		"Keep":      {"It may do everything else.", object("Object", "Observe", "Create", "Update", "LateInitialize"), true},
		"None":      {"The default is everything.", object("Object"), false},
		"NotObject": {"Only an Object orphans.", object("Bucket", "Observe"), false},
		"Made":      {"One of ours that keeps.", wrapper.Wrapper{Name: "a", Keep: true}.Struct(), true},
		"MadeNot":   {"One of ours that does not.", wrapper.Wrapper{Name: "a"}.Struct(), false},
		"Looks":     {"One that is only looked at.", wrapper.Wrapper{Name: "a", Observe: true}.Struct(), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := wrapper.OrphansOnDelete(tc.object); got != tc.want {
				t.Errorf("%s\nKeeps(...) = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// TestObserveOnlyRequiresSinglePolicy tests that an Object is observe-only exactly if Observe is its only management policy.
func TestObserveOnlyRequiresSinglePolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		wrapper wrapper.Wrapper
		want    bool
	}{
		"Looks":  {"It may do nothing else.", wrapper.Wrapper{Name: "a", Observe: true}, true},
		"Both":   {"An observed object is never deleted.", wrapper.Wrapper{Name: "a", Observe: true, Keep: true}, true},
		"Keeps":  {"It writes.", wrapper.Wrapper{Name: "a", Keep: true}, false},
		"Writes": {"It does everything.", wrapper.Wrapper{Name: "a"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := wrapper.IsObserveOnly(tc.wrapper.Struct()); got != tc.want {
				t.Errorf("%s\nObserves(...) = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
	if wrapper.IsObserveOnly(structOf(t, map[string]any{"kind": "A", "spec": map[string]any{"managementPolicies": []any{"Observe"}}})) {
		t.Error("only an Object can be observe-only")
	}
}

func TestStruct(t *testing.T) {
	inside := structOf(t, map[string]any{"kind": "A"})
	cases := map[string]struct {
		reason  string
		wrapper wrapper.Wrapper
		want    map[string]any
	}{
		"ClusterScoped": {
			reason:  "It exists, and is ready by that.",
			wrapper: wrapper.Wrapper{Name: "a", ProviderConfig: "here", Desired: inside},
			want: map[string]any{
				"apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "metadata": map[string]any{"name": "a"},
				"spec": map[string]any{
					"forProvider": map[string]any{"manifest": map[string]any{"kind": "A"}}, "managementPolicies": []any{"*"},
					"readiness": map[string]any{"policy": "SuccessfulCreate"}, "providerConfigRef": map[string]any{"name": "here"}, "watch": true,
				},
			},
		},
		"Namespaced": {
			reason:  "It refers to a cluster-scoped config, retains the object inside, and queries its readiness.",
			wrapper: wrapper.Wrapper{Name: "a", Namespace: "n", ProviderConfig: "here", Keep: true, ReadyCEL: "object.done", Desired: inside},
			want: map[string]any{
				"apiVersion": "kubernetes.m.crossplane.io/v1alpha1", "kind": "Object", "metadata": map[string]any{"name": "a", "namespace": "n"},
				"spec": map[string]any{
					"forProvider":        map[string]any{"manifest": map[string]any{"kind": "A"}},
					"managementPolicies": []any{"Observe", "Create", "Update", "LateInitialize"},
					"readiness":          map[string]any{"policy": "DeriveFromCelQuery", "celQuery": "object.done"},
					"providerConfigRef":  map[string]any{"name": "here", "kind": "ClusterProviderConfig"}, "watch": true,
				},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := tc.wrapper.Struct()
			if diff := cmp.Diff(tc.want, o.Map()); diff != "" {
				t.Errorf("%s\nStruct(): -want, +got:\n%s", tc.reason, diff)
			}
			if got := wrapper.ProviderConfig(o); got != "here" {
				t.Errorf("%s\nProviderConfig(...) = %q, want here", tc.reason, got)
			}
			if _, ok := wrapper.Observed(o); ok {
				t.Errorf("%s\nObserved(...) returns an object before one was observed", tc.reason)
			}
			observed, ok := wrapper.Observed(wrapper.WithObserved(o, structOf(t, map[string]any{"kind": "B"})))
			if kind := observed.At("kind").Text(); !ok || kind != "B" {
				t.Errorf("%s\nObserved(...) is of kind %q, want B", tc.reason, kind)
			}
		})
	}
}

// TestObserved tests where the provider writes the observed object.
func TestObserved(t *testing.T) {
	object := wrapper.Wrapper{Name: "a", Desired: structOf(t, map[string]any{"kind": "A"})}.Struct()
	observed := structOf(t, map[string]any{"kind": "A", "status": map[string]any{"ready": true}})
	want := object.Map()
	want["status"] = map[string]any{"atProvider": map[string]any{"manifest": observed.Map()}}
	got := wrapper.WithObserved(object, observed)
	if diff := cmp.Diff(want, got.Map()); diff != "" {
		t.Errorf("WithObserved(...): -want, +got:\n%s", diff)
	}
	inside, ok := wrapper.Observed(structOf(t, want))
	if diff := cmp.Diff(observed.Map(), inside.Map()); !ok || diff != "" {
		t.Errorf("Observed(...), %t: -want, +got:\n%s", ok, diff)
	}
}

// TestWithoutDesired tests that only the manifest is removed.
func TestWithoutDesired(t *testing.T) {
	o := wrapper.Wrapper{Name: "o", ProviderConfig: "c", Desired: structOf(t, map[string]any{"kind": "A"})}.Struct()
	got := wrapper.WithoutDesired(o)
	spec, _ := got["spec"].(map[string]any)
	if provider, _ := spec["forProvider"].(map[string]any); len(provider) > 0 || spec["watch"] != true {
		t.Errorf("got %v", got)
	}
}

package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// FuzzValidate passes JSON objects of the kind to every check. Nothing may panic, the result must not depend on the iteration order of
// maps, and a valid object must stay valid with its defaults.
func FuzzValidate(f *testing.F) {
	for _, seed := range []string{
		`{"spec":{"color":"red"}}`,
		`{"metadata":{"name":"w","labels":{"a":1}},"spec":{"color":"red","replicas":1e40}}`,
		`{"metadata":null,"spec":null}`,
		`{"metadata":{"name":"w"},"spec":{"color":"red","tags":["a","a",{}],"ports":[{"name":"a"},null,{"name":[]}]}}`,
		`{"metadata":{"name":"w"},"spec":{"color":"red","template":{"apiVersion":"v1","kind":"A","metadata":{"name":7}},"extra":{"known":[{}]}}}`,
		`{"metadata":{"name":"w","namespace":"n"},"spec":{"color":"red","quota":{"a":{"b":1}},"port":[],"class":"c"},"status":[]}`,
	} {
		f.Add(seed)
	}
	v := widgets(f)
	f.Fuzz(func(t *testing.T, data string) {
		var obj map[string]any
		if err := json.NewDecoder(strings.NewReader(data)).Decode(&obj); err != nil || obj == nil {
			t.Skip()
		}
		obj["apiVersion"], obj["kind"] = "test.example.org/v1", "Widget"

		first := sentences(v.Validate(obj))
		if diff := cmp.Diff(first, sentences(v.Validate(obj))); diff != "" {
			t.Errorf("Validate returns another result the second time: %s", diff)
		}
		v.ValidateStatus(obj)
		v.ValidateUpdate(obj, obj)
		v.Default(obj)
		if second := v.Validate(obj); len(first) == 0 && len(second) > 0 {
			t.Errorf("the object was accepted, but not with its defaults: %v", second)
		}
	})
}

// TestValidateIsDeterministicForRandomValues puts random values under the names that the schema knows, which mutated text rarely finds.
func TestValidateIsDeterministicForRandomValues(t *testing.T) {
	v := widgets(t)
	names := rapid.SampledFrom([]string{
		"name", "namespace", "labels", "spec", "status", "replicas", "ratio", "reason", "color", "class", "host", "since", "address", "port",
		"note", "quota", "tags", "ports", "number", "extra", "known", "template", "apiVersion", "kind", "metadata", "a", "",
	})
	fields := rapid.MapOf(names, anyJSON(names, 3))
	rapid.Check(t, func(t *rapid.T) {
		obj, old := fields.Draw(t, "object"), fields.Draw(t, "old")
		for _, o := range []map[string]any{obj, old} {
			o["apiVersion"], o["kind"] = "test.example.org/v1", "Widget"
			if rapid.Bool().Draw(t, "named") {
				o["metadata"] = map[string]any{"name": "w"}
			}
			o["spec"] = fields.Draw(t, "spec")
		}
		first, second := sentences(v.Validate(obj)), sentences(v.Validate(obj))
		if embeds(obj) && len(first) > 0 && len(second) > 0 {
			// An API server reports only the first error of an embedded resource, in random order (objectmeta.Coerce).
			first, second = nil, nil
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("Validate returns another result the second time: %s", diff)
		}
		v.ValidateStatus(obj)
		v.ValidateUpdate(obj, old)
		v.Default(obj)
	})
}

// embeds reports whether an object contains a resource.
func embeds(o map[string]any) bool {
	spec, _ := o["spec"].(map[string]any)
	_, ok := spec["template"].(map[string]any)
	return ok
}

func anyJSON(names *rapid.Generator[string], depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.Int64().AsAny(),
		rapid.Float64().AsAny(),
		rapid.SampledFrom([]string{"", "red", "a", "2026-01-02T03:04:05Z", "v1", "Widget", "\xff", "80"}).AsAny(),
	}
	if depth > 0 {
		below := anyJSON(names, depth-1)
		kinds = append(kinds, rapid.SliceOfN(below, 0, 4).AsAny(), rapid.MapOfN(names, below, 0, 4).AsAny())
	}
	return rapid.OneOf(kinds...)
}

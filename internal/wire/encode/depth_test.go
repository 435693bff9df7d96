package encode_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
)

type (
	nestedList []nestedList
	nestedMap  map[string]nestedMap
	chain      struct {
		Next *chain               `json:"next"`
		Raw  runtime.RawExtension `json:"raw"`
	}
)

// With DeepCopyObject and GetObjectKind, a chain is an object that another object can contain.
func (c *chain) DeepCopyObject() runtime.Object   { return c }
func (c *chain) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// TestRejectsValuesBelowMaximumDepth checks that the maximum depth is accepted for all types, and one level more is rejected.
func TestRejectsValuesBelowMaximumDepth(t *testing.T) {
	tree := func(levels int) map[string]any {
		v := map[string]any{}
		for range levels - 1 {
			v = map[string]any{"a": v}
		}
		return v
	}
	chained := func(levels int) *chain {
		c := &chain{}
		for range levels - 1 {
			c = &chain{Next: c}
		}
		return c
	}
	cases := map[string]struct {
		reason string
		most   int
		nest   func(levels int) any
	}{
		"Maps": {"The outermost is no level.", 1001, func(n int) any { return tree(n) }},
		"Lists": {"Each is one, below the map that holds the first.", 1000, func(n int) any {
			v := []any{}
			for range n - 1 {
				v = []any{v}
			}
			return map[string]any{"v": v}
		}},
		"TypedLists": {"The same for elements of a named type.", 1000, func(n int) any {
			v := nestedList{}
			for range n - 1 {
				v = nestedList{v}
			}
			return map[string]any{"v": v}
		}},
		"TypedMaps": {"So is each map.", 1000, func(n int) any {
			v := nestedMap{}
			for range n - 1 {
				v = nestedMap{"a": v}
			}
			return map[string]any{"v": v}
		}},
		"Pointers": {"A pointer and its struct are two.", 500, func(n int) any { return chained(n) }},
		"RawTree": {"An embedded object is one level deeper.", 999, func(n int) any {
			return chain{Raw: runtime.RawExtension{Object: &unstructured.Unstructured{Object: tree(n)}}}
		}},
		"RawTyped": {"The same for a typed object.", 499, func(n int) any { return chain{Raw: runtime.RawExtension{Object: chained(n)}} }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := encode.Struct(tc.nest(tc.most)); err != nil {
				t.Errorf("%s\n%d levels: %.100v", tc.reason, tc.most, err)
			}
			_, err := encode.Struct(tc.nest(tc.most + 1))
			if err == nil || !strings.HasSuffix(err.Error(), ": it is nested more than 1000 levels deep, or contains itself") {
				t.Errorf("%s\n%d levels: %.100v, want an error", tc.reason, tc.most+1, err)
			}
		})
	}
}

// TestEncodesNumbersInStructFields checks number types in struct fields, which use another code path than numbers in trees.
func TestEncodesNumbersInStructFields(t *testing.T) {
	s, err := encode.Struct(struct {
		Half  float64
		Small float32
		Large uint64
		Least int64
	}{0.5, 0.1, 1 << 53, -1 << 53})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"Half": 0.5, "Small": 0.1, "Large": float64(1 << 53), "Least": -float64(1 << 53)} {
		if got := s.At(name).Any(); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	for name, v := range map[string]any{"-Inf": math.Inf(-1), "+Inf": math.Inf(1), "NaN": math.NaN()} {
		for _, v := range []any{v, json.Number(name), struct{ V any }{v}} {
			if _, err := encode.Struct(map[string]any{"v": v}); err == nil || !strings.Contains(err.Error(), name+" is not a number") {
				t.Errorf("%v: %v, want it to be no number", v, err)
			}
		}
	}
}

package observe_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/wiretest"
)

// TestReadsMatchWalkThroughObject damages realistic objects at random, and reads every path that is or was in them: decoded or
// encoded, the result equals a plain walk through the object.
func TestReadsMatchWalkThroughObject(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		decoded := wiretest.Request(8)
		paths := map[string][]string{}
		resources := decoded.GetObserved().GetResources()
		for _, name := range slices.Sorted(maps.Keys(resources)) {
			r := resources[name]
			collect(r.GetResource().AsMap(), nil, paths)
			damage(rt, structpb.NewStructValue(r.GetResource()), 0)
		}
		fromStruct, err := observe.New(wire.RequestOf(decoded).Observed)
		if err != nil {
			rt.Fatal(err)
		}
		fromBytes, err := observe.New(wire.RequestOf(lazily(t, decoded)).Observed)
		if err != nil {
			rt.Fatal(err)
		}
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(resources))).Draw(rt, "name")
		tree := walk(structpb.NewStructValue(resources[name].GetResource()))
		for _, state := range []observe.State{fromStruct, fromBytes} {
			o, _ := state.Get(name)
			full := tree
			if o.Wrapped() {
				compare(rt, name+"'s wrapper", tree, o.Wrapper(), paths)
				full, _ = lookup(tree, []string{"status", "atProvider", "manifest"}).(map[string]any)
			}
			compare(rt, name, full, o, paths)
		}
	})
}

// compare compares all paths of an Object with the expected tree.
func compare(t *rapid.T, name string, tree any, o *observe.Object, paths map[string][]string) {
	for _, path := range paths {
		want := lookup(tree, path)
		number, isNumber := want.(float64)
		isNumber = isNumber && number == math.Trunc(number) && math.Abs(number) <= 1<<53
		if i, ok := o.Int(path...); ok != isNumber || ok && float64(i) != number {
			t.Errorf("%s: Int(%v) = %v, %t, want %v", name, path, i, ok, want)
		}
		text, _ := want.(string)
		if s := o.String(path...); s != text {
			t.Errorf("%s: String(%v) = %q, want %v", name, path, s, want)
		}
		flag, isFlag := want.(bool)
		if b, ok := o.Bool(path...); ok != isFlag || b != flag {
			t.Errorf("%s: Bool(%v) = %t, %t, want %v", name, path, b, ok, want)
		}
		list, _ := want.([]any)
		if diff := cmp.Diff(list, o.List(path...)); diff != "" {
			t.Errorf("%s: List(%v): -want, +got:\n%s", name, path, diff)
		}
		object, _ := want.(map[string]any)
		if diff := cmp.Diff(object, o.Map(path...)); diff != "" {
			t.Errorf("%s: Map(%v): -want, +got:\n%s", name, path, diff)
		}
	}
	conditions, _ := lookup(tree, []string{"status", "conditions"}).([]any)
	observed := map[string]bool{}
	for _, c := range conditions {
		kind, _ := lookup(c, []string{"type"}).(string)
		if _, isObject := c.(map[string]any); !isObject || observed[kind] {
			continue
		}
		observed[kind] = true
		status, _ := lookup(c, []string{"status"}).(string)
		if got, ok := o.Condition(kind); !ok || got.Status != status {
			t.Errorf("%s: Condition(%q) = %v, %t, want status %q", name, kind, got, ok, status)
		}
	}
}

// collect finds the paths of a tree that lead through objects.
func collect(tree any, path []string, paths map[string][]string) {
	object, ok := tree.(map[string]any)
	if !ok || len(path) > 7 {
		return
	}
	for k, v := range object {
		below := slices.Concat(path, []string{k})
		paths[fmt.Sprintf("%q", below)] = below
		collect(v, below, paths)
	}
}

// damage replaces some of the values in a tree.
func damage(t *rapid.T, v *structpb.Value, depth int) {
	if s := v.GetStructValue(); s != nil && depth < 5 {
		for _, k := range slices.Sorted(maps.Keys(s.GetFields())) {
			e := s.GetFields()[k]
			switch rapid.IntRange(0, 40).Draw(t, "damage") {
			case 0:
				random := &structpb.Value{}
				wiretest.Fill(t, random.ProtoReflect())
				s.Fields[k] = random
			case 1:
				delete(s.GetFields(), k)
			case 2:
				s.Fields["Käse"] = e
			default:
				damage(t, e, depth+1)
			}
		}
	}
	for _, e := range v.GetListValue().GetValues() {
		damage(t, e, depth+1)
	}
}

// lookup walks a tree.
func lookup(tree any, path []string) any {
	for _, name := range path {
		object, ok := tree.(map[string]any)
		if !ok {
			return nil
		}
		tree = object[name]
	}
	return tree
}

// walk converts a Value to Go's JSON types. Unlike structpb's AsInterface it keeps non-finite numbers.
func walk(v *structpb.Value) any {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		out := map[string]any{}
		for name, e := range k.StructValue.GetFields() {
			out[name] = walk(e)
		}
		return out
	case *structpb.Value_ListValue:
		out := []any{}
		for _, e := range k.ListValue.GetValues() {
			out = append(out, walk(e))
		}
		return out
	case *structpb.Value_NumberValue:
		return k.NumberValue
	default:
		return v.AsInterface()
	}
}

// part is a field that holds bytes.
func part(num protowire.Number, values ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), slices.Concat(values...))
}

// FuzzObject reads bytes that may be no Struct: it never panics, and where the protobuf library reads a Struct, it is the
// same one.
func FuzzObject(f *testing.F) {
	small := structOf(f, map[string]any{"apiVersion": "v1", "metadata": map[string]any{"name": "a", "generation": 1}, "l": []any{nil, true, 1.5, "x", map[string]any{}}})
	f.Add([]byte(encoded.Of(small)))
	f.Add([]byte(slices.Concat(encoded.Of(small), encoded.Of(small))))
	other := encoded.Of(structOf(f, map[string]any{"metadata": map[string]any{"labels": nil}, "other": true}))
	key, object, list := part(1, []byte("a")), part(5, other), part(6, part(1, part(3, []byte("x"))))
	f.Add([]byte(slices.Concat(other, encoded.Of(small))))                    // A field twice.
	f.Add(part(1, key, part(2, object), part(2, part(5, encoded.Of(small))))) // A value in two pieces.
	f.Add(part(1, key, part(2, list, list)))                                  // A list in two pieces.
	f.Add(part(1, key, part(2, object, list)))                                // Two kinds: the last one counts.
	f.Add(part(1, key, part(2, object, list, object)))                        // The one before does not.
	f.Add(part(1, key, part(2, []byte{0x20, 0x02})))                          // A boolean that is 2.
	f.Add(part(1, part(2, []byte{0x08, 0x05})))                               // No name; a null that is 5.
	f.Add(part(1, key, part(2, []byte{0x28, 0x02})))                          // A struct of another wire type.
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := observe.New(map[string]encoded.Struct{"o": b})
		want := &structpb.Struct{}
		if bad := proto.Unmarshal(b, want); err != nil {
			if bad == nil {
				t.Errorf("New(...): %v, but the protobuf library reads it", err)
			}
			return
		} else if bad != nil {
			want = nil
		}
		o, _ := s.Get("o")
		if o.Wrapped() {
			o = o.Wrapper()
		}
		o.Condition("Ready")
		o.Deleting()
		o.Full()
		got := o.Map()
		if want == nil {
			return
		}
		if diff := cmp.Diff(walk(structpb.NewStructValue(want)), any(got), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("Map(): -protobuf's, +got:\n%s", diff)
		}
		for name, v := range want.GetFields() {
			object, _ := walk(v).(map[string]any)
			if diff := cmp.Diff(object, o.Map(name), cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("Map(%q): -protobuf's, +got:\n%s", name, diff)
			}
		}
	})
}

// BenchmarkState reads the fields that readiness needs of every object: its generation, the hash in its annotation and two conditions,
// and the same of the wrapper.
func BenchmarkState(b *testing.B) {
	for _, n := range []int{40, 250} {
		decoded := wiretest.Request(n)
		for source, req := range map[string]*fnv1.RunFunctionRequest{"lazy": lazily(b, decoded), "decoded": decoded} {
			b.Run(fmt.Sprintf("%s/%d", source, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s, err := observe.New(wire.RequestOf(req).Observed)
					if err != nil {
						b.Fatal(err)
					}
					for _, name := range s.Names() {
						o, _ := s.Get(name)
						for o != nil {
							if o.Generation() != 4 || o.Annotation("c5c3.io/hash") == "" {
								b.Fatal("the object is not as it should be")
							}
							o.Condition("Ready")
							o.Condition("Synced")
							o = o.Wrapper()
						}
					}
				}
			})
		}
	}
}

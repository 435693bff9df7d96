package encoded_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/wiretest"
)

func structOf(t testing.TB, m map[string]any) encoded.Struct {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return encoded.Of(s)
}

// TestOfMatchesDeterministicProtobuf compares Of with the deterministic output of the protobuf library.
func TestOfMatchesDeterministicProtobuf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &structpb.Struct{}
		wiretest.Fill(t, s.ProtoReflect())
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := encoded.Of(s); !bytes.Equal(got, want) {
			t.Errorf("Of(%v) = %x, want %x", s, got, want)
		}
		if got := encoded.Of(encoded.Of(s).Tree()); !bytes.Equal(got, want) {
			t.Errorf("Of(Of(%v).Tree()) = %x, want %x", s, got, want)
		}
	})
}

// TestTreeNoKind checks that a Value without a kind, which JSON cannot contain, does not become null when it is decoded and
// encoded.
func TestTreeNoKind(t *testing.T) {
	want := &structpb.Struct{Fields: map[string]*structpb.Value{"": {}, "null": structpb.NewNullValue()}}
	if diff := cmp.Diff(want, encoded.Of(want).Tree(), protocmp.Transform()); diff != "" {
		t.Errorf("Tree(): -want, +got:\n%s", diff)
	}
}

func TestHash(t *testing.T) {
	hash := func(v string) string { return structOf(t, map[string]any{"b": 1, "a": []any{v, nil, true}}).Hash() }
	if a, b := hash("x"), hash("x"); a != b || len(a) != 16 {
		t.Errorf("Hash() = %q and %q, want the same 16 digits", a, b)
	}
	if a, b := hash("x"), hash("y"); a == b {
		t.Errorf("Hash() = %q of two Structs", a)
	}
	// The hash is stored in annotations of existing objects: another hash of the same object would look like a change of
	// all of them.
	if got, want := hash("x"), "b5798afcc9bc393f"; got != want {
		t.Errorf("Hash() = %q, want %q as ever", got, want)
	}
}

// TestNilMessageIsEmpty checks that a nil message has no bytes, and that no bytes are read as an empty message.
func TestNilMessageIsEmpty(t *testing.T) {
	for name, s := range map[string]*structpb.Struct{"nil": nil, "empty": {}} {
		if got := encoded.Of(s); len(got) > 0 || len(got.Map()) > 0 || got.Tree() == nil {
			t.Errorf("Of(%s) = %x", name, got)
		}
	}
}

// TestFields checks that a Struct of Values is equal to the Struct of the protobuf library.
func TestFields(t *testing.T) {
	want := map[string]any{
		"b": true, "n": 1.5, "s": "text", "l": []any{"x", map[string]any{"y": false}, []any{}}, "m": map[string]any{"a": "b", "c": map[string]any{}}, "z": nil,
	}
	got := encoded.Fields{
		"b": encoded.Bool(true), "n": encoded.Number(1.5), "s": encoded.Text("text"), "z": {},
		"l": encoded.List(encoded.Text("x"), encoded.Fields{"y": encoded.Bool(false)}.Value(), encoded.List()),
		"m": encoded.Fields{"a": encoded.Text("b"), "c": encoded.Fields{}.Value()}.Value(),
	}.Struct()
	if diff := cmp.Diff(want, got.Map()); diff != "" {
		t.Errorf("Fields: -want, +got:\n%s", diff)
	}
	if !bytes.Equal(got, structOf(t, want)) {
		t.Error("Fields has not the bytes of an equal Struct: its keys are not sorted")
	}
}

func TestWith(t *testing.T) {
	base := map[string]any{"a": "x", "m": map[string]any{"b": 1.0, "d": 2.0}, "z": true}
	inner := structOf(t, map[string]any{"i": []any{1.0}})
	cases := map[string]struct {
		reason string
		value  encoded.Value
		path   []string
		want   map[string]any
	}{
		"First":   {"Before all others.", encoded.Text("v"), []string{"A"}, map[string]any{"A": "v", "a": "x", "m": base["m"], "z": true}},
		"Last":    {"After all others.", encoded.Number(7), []string{"zz"}, map[string]any{"a": "x", "m": base["m"], "z": true, "zz": 7.0}},
		"Replace": {"In place of another kind.", inner.Value(), []string{"z"}, map[string]any{"a": "x", "m": base["m"], "z": map[string]any{"i": []any{1.0}}}},
		"Deeper":  {"Between others.", encoded.Text("v"), []string{"m", "c"}, map[string]any{"a": "x", "m": map[string]any{"b": 1.0, "c": "v", "d": 2.0}, "z": true}},
		"Made":    {"Missing Structs on the path are created.", encoded.Text("v"), []string{"n", "o", "p"}, map[string]any{"a": "x", "m": base["m"], "n": map[string]any{"o": map[string]any{"p": "v"}}, "z": true}},
		"NoWay":   {"Other values on the path are replaced.", encoded.Text("v"), []string{"a", "b"}, map[string]any{"a": map[string]any{"b": "v"}, "m": base["m"], "z": true}},
		"Nothing": {"A value that is none is null.", encoded.Value{}, []string{"z"}, map[string]any{"a": "x", "m": base["m"], "z": nil}},
		"Whole":   {"No path is the whole.", inner.Value(), nil, map[string]any{"i": []any{1.0}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := structOf(t, base)
			got := s.With(tc.value, tc.path...)
			if diff := cmp.Diff(tc.want, got.Map()); diff != "" {
				t.Errorf("%s\nWith(...): -want, +got:\n%s", tc.reason, diff)
			}
			if !bytes.Equal(got, structOf(t, tc.want)) {
				t.Errorf("%s\nWith(...) has not the bytes of an equal Struct: its keys are not sorted", tc.reason)
			}
			if diff := cmp.Diff(base, s.Map()); diff != "" {
				t.Errorf("With(...) changed its receiver: %s", diff)
			}
		})
	}
}

func BenchmarkHash(b *testing.B) {
	s := wiretest.Response(1).GetDesired().GetResources()["resource-000"].GetResource()
	b.ReportAllocs()
	for b.Loop() {
		encoded.Of(s).Hash()
	}
}

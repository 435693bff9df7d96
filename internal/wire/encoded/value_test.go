package encoded_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/wiretest"
)

// bytesField returns a field with bytes; the others return fields with other wire types.
func bytesField(num protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), slices.Concat(parts...))
}

func varint(num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), v)
}

func fixed64(num protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(nil, num, protowire.Fixed64Type), v)
}

func fixed32(num protowire.Number, v uint32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(nil, num, protowire.Fixed32Type), v)
}

// same compares the values read from a Struct's bytes with those read by the protobuf library.
func same(t interface {
	Helper()
	Errorf(format string, args ...any)
}, s encoded.Struct,
) {
	t.Helper()
	want := &structpb.Struct{}
	if err := proto.Unmarshal(s, want); err != nil {
		return
	}
	if err := s.Check(); err != nil {
		t.Errorf("Check(): %v, and the protobuf library takes it", err)
	}
	if diff := cmp.Diff(want.AsMap(), s.Map()); diff != "" {
		t.Errorf("Map(): -protobuf's, +ours:\n%s", diff)
	}
	if diff := cmp.Diff(want.AsMap(), s.Tree().AsMap()); diff != "" {
		t.Errorf("Tree(): -protobuf's, +ours:\n%s", diff)
	}
	for name, v := range want.AsMap() {
		if diff := cmp.Diff(v, s.At(name).Any()); diff != "" {
			t.Errorf("At(%q): -protobuf's, +ours:\n%s", name, diff)
		}
	}
}

// TestReadsOutputOfProtobuf checks that the output of the protobuf library is read as the library reads it.
func TestReadsOutputOfProtobuf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &structpb.Struct{}
		wiretest.Fill(t, s.ProtoReflect())
		b, err := proto.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		same(t, b)
	})
}

// TestValueHasOnlyItsKind checks that a Value of each kind has only this kind.
func TestValueHasOnlyItsKind(t *testing.T) {
	s := structOf(t, map[string]any{
		"null": nil, "number": -1.5, "text": "x", "yes": true, "no": false, "map": map[string]any{"a": "b"}, "list": []any{1.0, "y", []any{true}},
	})
	type reading struct {
		Text     string
		Int64    int64
		IsInt64  bool
		Bool     bool
		IsBool   bool
		Map      map[string]any
		IsStruct bool
		List     []any
		Any      any
	}
	want := map[string]reading{
		"null": {}, "missing": {},
		"number": {Any: -1.5},
		"text":   {Text: "x", Any: "x"},
		"yes":    {Bool: true, IsBool: true, Any: true},
		"no":     {IsBool: true, Any: false},
		"map":    {Map: map[string]any{"a": "b"}, IsStruct: true, Any: map[string]any{"a": "b"}},
		"list":   {List: []any{1.0, "y", []any{true}}, Any: []any{1.0, "y", []any{true}}},
	}
	for name, w := range want {
		v := s.At(name)
		got := reading{Text: v.Text(), Map: v.Map(), List: v.List(), Any: v.Any()}
		got.Int64, got.IsInt64 = v.Int64()
		got.Bool, got.IsBool = v.Bool()
		inner, ok := v.Struct()
		if got.IsStruct = ok; ok != (len(inner) > 0) {
			t.Errorf("%s: Struct() = %x, %t", name, inner, ok)
		}
		if diff := cmp.Diff(w, got); diff != "" {
			t.Errorf("%s: -want, +read:\n%s", name, diff)
		}
	}
	tree := &structpb.Struct{}
	if err := proto.Unmarshal(s, tree); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tree, s.Tree(), protocmp.Transform()); diff != "" {
		t.Errorf("Tree(): -protobuf's, +ours:\n%s", diff)
	}
	if got := s.At("map", "a").Text() + s.At("text", "a").Text() + s.At("map", "b", "c").Text(); got != "b" {
		t.Errorf("At(...) = %q, want b of the existing path, and nothing below other kinds", got)
	}
}

func TestInt64(t *testing.T) {
	for f, want := range map[float64]bool{
		0: true, 1: true, -1: true, 0.5: false, -1.5: false, 1 << 53: true, 1<<53 + 2: false, -1 << 53: true, -1<<53 - 2: false,
		math.Inf(1): false, math.Inf(-1): false, math.MaxFloat64: false,
	} {
		got, ok := encoded.Number(f).Int64()
		if ok != want || ok && float64(got) != f || !ok && got != 0 {
			t.Errorf("Number(%v).Int64() = %d, %t", f, got, ok)
		}
	}
	if got, ok := encoded.Number(math.NaN()).Int64(); ok || got != 0 {
		t.Errorf("Number(NaN).Int64() = %d, %t", got, ok)
	}
	// One, as bits, is not an integer.
	for _, v := range []encoded.Value{encoded.Bool(true), encoded.Text("1"), {}} {
		if got, ok := v.Int64(); ok {
			t.Errorf("%v is the whole number %d", v, got)
		}
	}
}

// TestTextsOfAnyLengthAreReadable checks texts and names at the lengths where the encoding of a length changes, and beyond the first buffer
// of a writer.
func TestTextsOfAnyLengthAreReadable(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1<<7 - 1, 1 << 7, 1<<7 + 1, 300, 1<<14 - 10, 1<<14 - 1, 1 << 14, 1<<14 + 1, 1 << 16, 1<<21 + 1} {
		// The last character differs, to detect a text that is truncated or shifted.
		text := (strings.Repeat("x", n) + "end")[3:]
		for name, m := range map[string]map[string]any{
			"text": {"a": text, "b": []any{text, "z"}},
			"name": {text: map[string]any{text: "v"}, "~": 1.0},
		} {
			s := structOf(t, m)
			if diff := cmp.Diff(m, s.Map()); diff != "" {
				t.Errorf("%s of %d bytes: it is read as another", name, n)
			}
			same(t, s)
			if want, err := structpb.NewStruct(m); err != nil || !proto.Equal(want, s.Tree()) {
				t.Errorf("%s of %d bytes: its tree is another (%v)", name, n, err)
			}
		}
	}
}

// TestReadsUnusualEncodings checks encodings that ordinary senders do not write, and that the protobuf library accepts.
func TestReadsUnusualEncodings(t *testing.T) {
	field := func(name string, value ...[]byte) []byte {
		return bytesField(1, bytesField(1, []byte(name)), bytesField(2, value...))
	}
	one, two := bytesField(3, []byte("one")), bytesField(3, []byte("two"))
	inner := func(name string, value []byte) []byte { return bytesField(5, field(name, value)) }
	cases := map[string]struct {
		reason string
		b      []byte
		want   map[string]any
	}{
		"Twice": {"The last field of a name counts.", slices.Concat(field("a", one), field("a", two)), map[string]any{"a": "two"}},
		"Kinds": {"The last kind counts.", field("a", inner("b", one), varint(4, 1), two), map[string]any{"a": "two"}},
		"Null":  {"Null counts like the others.", field("a", two, varint(1, 0)), map[string]any{"a": nil}},
		"LikeATag": {
			"A field that is as long as the tag of another is large is still itself.",
			slices.Concat(bytesField(2, make([]byte, 0x0a)), bytesField(1, bytesField(3, make([]byte, 0x0a)), bytesField(1, []byte("a")), bytesField(3, make([]byte, 0x12)), bytesField(2, one))),
			map[string]any{"a": "one"},
		},
		"Again":     {"A Struct after another kind is not joined.", field("a", inner("b", one), one, inner("c", two)), map[string]any{"a": map[string]any{"c": "two"}}},
		"Pieces":    {"A Struct in pieces is joined.", field("a", inner("b", one), inner("c", two)), map[string]any{"a": map[string]any{"b": "one", "c": "two"}}},
		"ListParts": {"A list in pieces is joined.", field("a", bytesField(6, bytesField(1, one)), bytesField(6, bytesField(1, two))), map[string]any{"a": []any{"one", "two"}}},
		"Value": {
			"A value in pieces is joined.", bytesField(1, bytesField(1, []byte("a")), bytesField(2, inner("b", one)), bytesField(2, inner("c", two))),
			map[string]any{"a": map[string]any{"b": "one", "c": "two"}},
		},
		"Name":       {"The last name of a field counts.", bytesField(1, bytesField(1, []byte("a")), bytesField(1, []byte("b")), bytesField(2, one)), map[string]any{"b": "one"}},
		"Reversed":   {"A value may stand before its name.", bytesField(1, bytesField(2, one), bytesField(1, []byte("a"))), map[string]any{"a": "one"}},
		"NoName":     {"The name may be empty, and then be missing.", bytesField(1, bytesField(2, one)), map[string]any{"": "one"}},
		"NoValue":    {"A value may be missing.", bytesField(1, bytesField(1, []byte("a"))), map[string]any{"a": nil}},
		"NullNumber": {"Null may have any number.", field("a", varint(1, 7)), map[string]any{"a": nil}},
		"True":       {"All values but 0 are true.", field("a", varint(4, 300)), map[string]any{"a": true}},
		"Unknown": {
			"Unknown fields are skipped in every position.",
			slices.Concat(
				bytesField(7, one), varint(1, 3), fixed32(2, 5),
				bytesField(1, varint(1, 9), fixed64(2, 9), bytesField(3, two), bytesField(1, []byte("a")), bytesField(2, bytesField(9, two), one, fixed32(2, 1), varint(3, 1), bytesField(4, two), fixed64(5, 1), fixed32(6, 1))),
				field("l", bytesField(6, bytesField(2, two), varint(1, 1), bytesField(1, one))),
			), map[string]any{"a": "one", "l": []any{"one"}},
		},
		"LongField": {
			"The length of a field may take more bytes than it needs.",
			slices.Concat([]byte{0x0a, 0x8a, 0x80, 0x00}, bytesField(1, []byte("a")), bytesField(2, one)[:7]), map[string]any{"a": "one"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := encoded.Struct(tc.b)
			if err := proto.Unmarshal(s, &structpb.Struct{}); err != nil {
				t.Fatalf("the protobuf library does not take it: %v", err)
			}
			if diff := cmp.Diff(tc.want, s.Map()); diff != "" {
				t.Errorf("%s\nMap(): -want, +got:\n%s", tc.reason, diff)
			}
			before := bytes.Clone(s)
			same(t, s)
			if !bytes.Equal(before, s) {
				t.Error("its bytes were changed by reading them")
			}
		})
	}
}

// TestCheckRejectsTruncatedEncodings checks that truncated encodings are errors of Check, and result in no value; earlier values may be
// read.
func TestCheckRejectsTruncatedEncodings(t *testing.T) {
	full := encoded.Fields{"a": encoded.Text("x"), "b": encoded.List(encoded.Number(1), encoded.Fields{"c": encoded.Bool(true)}.Value())}.Struct()
	first := len(encoded.Fields{"a": encoded.Text("x")}.Struct())
	for n := range full {
		s := full[:n:n]
		if err := s.Check(); (err == nil) != (n == 0 || n == first) {
			t.Errorf("Check() of the first %d of %d bytes: %v", n, len(full), err)
		}
		want := map[string]any{}
		if n >= first {
			want["a"] = "x"
		}
		if diff := cmp.Diff(want, s.Map()); diff != "" {
			t.Errorf("Map() of the first %d of %d bytes: -want, +got:\n%s", n, len(full), diff)
		}
		if diff := cmp.Diff(want, s.Tree().AsMap()); diff != "" {
			t.Errorf("Tree() of the first %d of %d bytes: -want, +got:\n%s", n, len(full), diff)
		}
	}
	cut := bytesField(1, []byte("xyz"))[:3]
	for name, tc := range map[string]struct {
		reason string
		s      encoded.Struct
	}{
		"Entry": {"A field whose entry is cut.", bytesField(1, cut)},
		"Name":  {"One whose entry is cut after its name.", bytesField(1, bytesField(1, []byte("a")), cut)},
		"Byte":  {"An entry with an additional byte.", bytesField(1, bytesField(1, []byte("a")), bytesField(2, []byte{}), []byte{0x0a})},
		"Odd":   {"The same with the value first.", bytesField(1, bytesField(2, []byte{}), bytesField(1, []byte("a")), []byte{0x0a})},
		"Long":  {"An unterminated length.", []byte{0x0a, 0x80}},
		"Tag":   {"No field has the number 0.", []byte{0x02, 0x00}},
		"Group": {"A group that does not begin.", []byte{0x0c}},
		"Other": {"A field that is unknown.", bytesField(9, []byte("xyz"))[:4]},
	} {
		if err := tc.s.Check(); err == nil {
			t.Errorf("%s: %s\nCheck(): want an error", name, tc.reason)
		}
		if got := tc.s.Map(); len(got) > 0 {
			t.Errorf("%s: %s\nMap() = %v", name, tc.reason, got)
		}
	}
	// Check does not check Values; a malformed one is null.
	for name, end := range map[string][]byte{"cut": cut, "byte": {0x0a}} {
		bad := encoded.Struct(bytesField(1, bytesField(1, []byte("a")), bytesField(2, bytesField(3, []byte("x")), end)))
		if err := bad.Check(); err != nil || bad.At("a").Any() != nil || len(bad.Map()) != 1 {
			t.Errorf("a malformed value (%s): Check() = %v, Map() = %v", name, err, bad.Map())
		}
	}
}

// TestIterationsCanBeStopped checks that iterations over a Struct or a list can be stopped.
func TestIterationsCanBeStopped(t *testing.T) {
	long := strings.Repeat("x", 1<<15) // too long for shortField
	for _, text := range []string{"x", long} {
		s := structOf(t, map[string]any{"a": text, "b": text, "l": []any{text, text}})
		var names []string
		for name := range s.At().Fields() {
			if names = append(names, string(name)); len(names) == 2 {
				break
			}
		}
		if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" {
			t.Errorf("Fields(): -want, +got:\n%s", diff)
		}
		n := 0
		for range s.At("l").Elements() {
			n++
			break
		}
		if n != 1 {
			t.Errorf("Elements(): %d, want to stop after 1", n)
		}
	}
}

// TestDecodesAsDeepAsProtobuf checks that everything the protobuf library decodes is decoded, and that deeper values terminate.
func TestDecodesAsDeepAsProtobuf(t *testing.T) {
	nest := func(levels int, around func(*encoded.Writer)) encoded.Struct {
		w := encoded.NewWriter()
		defer w.Free()
		w.String("core")
		for range levels {
			around(w)
		}
		w.Entry("a", 0)
		return w.Struct()
	}
	depth := func(v any) (levels int, core any) {
		for {
			switch w := v.(type) {
			case map[string]any:
				v = w["a"]
			case []any:
				if v = nil; len(w) > 0 {
					v = w[0]
				}
			default:
				return levels, v
			}
			levels++
		}
	}
	// The library counts messages: for each level, an entry, a Value and a Struct, or a Value and a ListValue.
	for name, kind := range map[string]struct {
		around  func(*encoded.Writer)
		deepest int
	}{
		"Structs": {func(w *encoded.Writer) { w.Entry("a", 0); w.WriteStructHeader(0) }, 3332},
		"lists":   {func(w *encoded.Writer) { w.Element(0); w.WriteListHeader(0) }, 4998},
	} {
		for _, tc := range []struct {
			levels   int
			accepted bool
		}{{100, true}, {kind.deepest, true}, {7000, false}} {
			s := nest(tc.levels, kind.around)
			if err := proto.Unmarshal(s, &structpb.Struct{}); (err == nil) != tc.accepted {
				t.Errorf("%d %s: the protobuf library returns %v", tc.levels, name, err)
			}
			for form, tree := range map[string]any{"Map": s.Map(), "Tree": s.Tree().AsMap()} {
				if levels, core := depth(tree); (core == "core" && levels == tc.levels+1) != tc.accepted {
					t.Errorf("%d %s: %s() has %d levels, and %v in the last", tc.levels, name, form, levels, core)
				}
			}
		}
	}
}

// TestWriter checks that a writer from the pool is empty.
func TestWriter(t *testing.T) {
	for range 4 {
		w := encoded.NewWriter()
		if w.BadText || w.Written() != 0 || len(w.Struct()) != 0 {
			t.Fatalf("a new writer has written %d bytes, bad text %t", w.Written(), w.BadText)
		}
		w.Raw([]byte("end"))
		end := w.Written()
		w.Raw([]byte("more"))
		if got := string(w.Since(end)); got != "more" {
			t.Errorf("Since(%d) = %q, want the bytes written after it", end, got)
		}
		w.Truncate(end)
		if got := string(w.Struct()); got != "end" {
			t.Errorf("after Undo(%d): %q is written", end, got)
		}
		w.Object(&structpb.Struct{Fields: map[string]*structpb.Value{"\xff": structpb.NewNullValue()}})
		if !w.BadText {
			t.Error("a name that is not UTF-8 was not noticed")
		}
		w.Free()
	}
	w := encoded.NewWriter()
	defer w.Free()
	for _, v := range []*structpb.Value{structpb.NewStringValue("Käse"), structpb.NewBoolValue(true), nil} {
		w.Object(&structpb.Struct{Fields: map[string]*structpb.Value{"Käse": v}})
	}
	if w.BadText {
		t.Error("text that is UTF-8 was taken for bad")
	}
	w.Object(&structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewStringValue("\xff"), "b": structpb.NewStringValue("b")}})
	if !w.BadText {
		t.Error("a text that is not UTF-8 was not noticed")
	}
}

// TestJoin checks that writes to the result do not change its parts.
func TestJoin(t *testing.T) {
	capacity := append(make([]byte, 0, 8), 'a')
	for _, tc := range []struct{ a, b, want string }{{"", "", ""}, {"a", "", "a"}, {"", "b", "b"}, {"a", "b", "ab"}} {
		if got := string(encoded.Join([]byte(tc.a), []byte(tc.b))); got != tc.want {
			t.Errorf("Join(%q, %q) = %q", tc.a, tc.b, got)
		}
	}
	if encoded.Join(capacity, []byte("b")); !bytes.Equal(capacity[:2], []byte{'a', 0}) {
		t.Errorf("Join(...) wrote behind its first part: %v", capacity[:2])
	}
}

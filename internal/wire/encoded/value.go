package encoded

import (
	"iter"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/structpb"
)

// Kinds of values: the field numbers in message Value of google/protobuf/struct.proto.
const (
	kindNull   = protowire.Number(1)
	kindNumber = protowire.Number(2)
	kindString = protowire.Number(3)
	kindBool   = protowire.Number(4)
	kindStruct = protowire.Number(5)
	kindList   = protowire.Number(6)
)

// wireTypes are the wire types of the kinds.
var wireTypes = [...]protowire.Type{
	kindNull:   protowire.VarintType,
	kindNumber: protowire.Fixed64Type,
	kindString: protowire.BytesType,
	kindBool:   protowire.VarintType,
	kindStruct: protowire.BytesType,
	kindList:   protowire.BytesType,
}

// maxDepth is greater than the depth of any Struct that the protobuf library decodes: its limit is 10000 messages, two for
// each level.
const maxDepth = 5000

// Value is an encoded google.protobuf.Value. A missing, null or malformed value is the zero Value, or does not have the
// types that its methods return.
type Value struct {
	kind  protowire.Number
	bytes []byte // Content of a string; encoded Struct or ListValue.
	bits  uint64 // Content of a number (as float64) or boolean.
}

// Text returns a Value with a string.
func Text(s string) Value { return Value{kind: kindString, bytes: []byte(s)} }

// Number returns a Value with a number.
func Number(f float64) Value { return Value{kind: kindNumber, bits: math.Float64bits(f)} }

// Bool returns a Value with a boolean.
func Bool(b bool) Value { return Value{kind: kindBool, bits: protowire.EncodeBool(b)} }

// List returns a Value with a list of Values.
func List(values ...Value) Value {
	w := NewWriter()
	defer w.Free()
	for _, v := range slices.Backward(values) {
		end := w.Written()
		w.encoded(v)
		w.Element(end)
	}
	return Value{kind: kindList, bytes: w.Struct()}
}

// Fields are the fields of a Struct to be encoded.
type Fields map[string]Value

// Struct returns the Struct with these fields.
func (f Fields) Struct() Struct {
	w := NewWriter()
	defer w.Free()
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(f))) {
		end := w.Written()
		w.encoded(f[name])
		w.Entry(name, end)
	}
	return w.Struct()
}

// Value returns the Struct with these fields as a Value.
func (f Fields) Value() Value { return f.Struct().Value() }

// Value returns the Struct as a Value.
func (s Struct) Value() Value { return Value{kind: kindStruct, bytes: s} }

// Struct returns the Struct in a Value. ok is false if the Value is not a Struct.
func (v Value) Struct() (Struct, bool) { return v.structBytes(), v.kind == kindStruct }

func (v Value) structBytes() Struct {
	if v.kind != kindStruct {
		return nil
	}
	return v.bytes
}

// Text returns the string in a Value, or an empty string.
func (v Value) Text() string {
	if v.kind != kindString {
		return ""
	}
	return string(v.bytes)
}

// Int64 returns the integer in a Value. ok is false if the Value is not a number, has a fraction, or is beyond ±2^53.
func (v Value) Int64() (int64, bool) {
	f := math.Float64frombits(v.bits)
	if v.kind != kindNumber || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// Bool returns the boolean in a Value. ok is false if the Value is not a boolean.
func (v Value) Bool() (b, ok bool) {
	return v.kind == kindBool && v.bits != 0, v.kind == kindBool
}

// At returns the value at a path of field names.
func (v Value) At(path ...string) Value {
	for _, name := range path {
		v = v.Field(name)
	}
	return v
}

// Field returns a field of a Struct: the last one with that name, as in any protobuf map.
func (v Value) Field(name string) Value {
	var last []byte
	for key, encoded := range v.Fields() {
		if string(key) == name {
			last = encoded
		}
	}
	return Parse(last)
}

// Fields iterates over the names and encoded values of a Struct.
func (v Value) Fields() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, encoded []byte) bool) {
		for entry := range v.repeated(kindStruct) {
			key, encoded, err := Entry(entry)
			if err != nil || !yield(key, encoded) {
				return
			}
		}
	}
}

// Elements iterates over the values of a ListValue.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for encoded := range v.repeated(kindList) {
			if !yield(Parse(encoded)) {
				return
			}
		}
	}
}

// repeated iterates over field 1 of a value of that kind: the entries of a Struct, or the values of a ListValue.
func (v Value) repeated(kind protowire.Number) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if v.kind != kind {
			return
		}
		for b := v.bytes; len(b) > 0; {
			if element, rest, ok := shortField(b, listValues); ok {
				if !yield(element) {
					return
				}
				b = rest
				continue
			}
			num, typ, bytes, _, n := consume(b)
			if n < 0 || num == 1 && typ == protowire.BytesType && !yield(bytes) {
				return
			}
			b = b[n:]
		}
	}
}

// Any decodes the Value to the types of encoding/json; see Map.
func (v Value) Any() any { return v.decode(0) }

func (v Value) decode(depth int) any {
	switch v.kind {
	case kindNumber:
		return math.Float64frombits(v.bits)
	case kindString:
		return string(v.bytes)
	case kindBool:
		return v.bits != 0
	case kindStruct:
		return v.object(depth)
	case kindList:
		return v.list(depth)
	default:
		return nil
	}
}

// Map decodes the Struct in a Value to nil, bool, float64, string, []any and map[string]any, as encoding/json does. It
// returns nil if the Value is not a Struct.
func (v Value) Map() map[string]any { return v.object(0) }

// List decodes the list in a Value, with elements as in Map. It returns nil if the Value is not a list.
func (v Value) List() []any { return v.list(0) }

// tree decodes the Value to protobuf's own type.
func (v Value) tree(depth int) *structpb.Value {
	switch {
	case depth > maxDepth:
		return structpb.NewNullValue()
	case v.kind == kindNumber:
		return structpb.NewNumberValue(math.Float64frombits(v.bits))
	case v.kind == kindString:
		return structpb.NewStringValue(string(v.bytes))
	case v.kind == kindBool:
		return structpb.NewBoolValue(v.bits != 0)
	case v.kind == kindStruct:
		out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
		for key, encoded := range v.Fields() {
			out.Fields[string(key)] = Parse(encoded).tree(depth + 1)
		}
		return structpb.NewStructValue(out)
	case v.kind == kindList:
		out := &structpb.ListValue{}
		for e := range v.Elements() {
			out.Values = append(out.Values, e.tree(depth+1))
		}
		return structpb.NewListValue(out)
	case v.kind == kindNull:
		return structpb.NewNullValue()
	}
	return &structpb.Value{} // A Value without a kind, as received.
}

func (v Value) object(depth int) map[string]any {
	if v.kind != kindStruct || depth > maxDepth {
		return nil
	}
	out := map[string]any{}
	for key, encoded := range v.Fields() {
		out[string(key)] = Parse(encoded).decode(depth + 1)
	}
	return out
}

func (v Value) list(depth int) []any {
	if v.kind != kindList || depth > maxDepth {
		return nil
	}
	out := []any{}
	for e := range v.Elements() {
		out = append(out, e.decode(depth+1))
	}
	return out
}

// Parse parses an encoded Value. The last kind takes precedence; the parts of a split Struct or list are joined.
func Parse(b []byte) Value {
	var v Value
	for len(b) > 0 {
		num, typ, bytes, bits, n := consume(b)
		if n < 0 {
			return Value{}
		}
		switch b = b[n:]; {
		case (num == kindStruct || num == kindList) && typ == protowire.BytesType && v.kind == num:
			v.bytes = Join(v.bytes, bytes)
		case num >= kindNull && num <= kindList && typ == wireTypes[num]:
			v = Value{kind: num, bytes: bytes, bits: bits}
		}
	}
	return v
}

// Entry parses an entry of a Struct's fields, or of any protobuf map from strings to messages. The parts of a split value
// are joined.
func Entry(b []byte) (key, encoded []byte, err error) {
	if key, rest, ok := shortField(b, entryKey); ok {
		if encoded, rest, ok := shortField(rest, entryValue); ok && len(rest) == 0 {
			return key, encoded, nil
		}
	}
	for len(b) > 0 {
		num, typ, bytes, _, n := consume(b)
		if n < 0 {
			return nil, nil, protowire.ParseError(n)
		}
		switch b = b[n:]; {
		case typ != protowire.BytesType:
		case num == 1:
			key = bytes
		case num == 2:
			encoded = Join(encoded, bytes)
		}
	}
	return key, encoded, nil
}

// Check returns an error unless s is an encoded Struct. It only checks the top-level fields.
func (s Struct) Check() error {
	b := []byte(s)
	for len(b) > 0 {
		num, typ, bytes, _, n := consume(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if b = b[n:]; num != 1 || typ != protowire.BytesType {
			continue
		}
		if _, _, err := Entry(bytes); err != nil {
			return err
		}
	}
	return nil
}

// shortField parses the most frequent format of a field: a small number and less than 16 KiB of bytes. ok is false for
// other fields.
func shortField(b []byte, num protowire.Number) (field, rest []byte, ok bool) {
	if len(b) < 2 || uint64(b[0]) != protowire.EncodeTag(num, protowire.BytesType) {
		return nil, nil, false
	}
	size, at := int(b[1]), 2
	if size >= 1<<7 {
		if len(b) < 3 || b[2] >= 1<<7 {
			return nil, nil, false
		}
		size, at = size&(1<<7-1)|int(b[2])<<7, 3
	}
	if end := at + size; end <= len(b) {
		return b[at:end:end], b[end:], true
	}
	return nil, nil, false
}

// consume parses the field at the start of b. It returns its number, wire type, value and length, which is negative if the
// field is malformed.
func consume(b []byte) (num protowire.Number, typ protowire.Type, bytes []byte, bits uint64, n int) {
	num, typ, tag := protowire.ConsumeTag(b)
	if tag < 0 {
		return 0, 0, nil, 0, tag
	}
	switch typ {
	case protowire.BytesType:
		bytes, n = protowire.ConsumeBytes(b[tag:])
	case protowire.VarintType:
		bits, n = protowire.ConsumeVarint(b[tag:])
	case protowire.Fixed64Type:
		bits, n = protowire.ConsumeFixed64(b[tag:])
	default:
		n = protowire.ConsumeFieldValue(num, typ, b[tag:])
	}
	if n < 0 {
		return 0, 0, nil, 0, n
	}
	return num, typ, bytes, bits, tag + n
}

// Join returns a followed by b, which is the merge of the two messages. It only copies if neither is empty, which does not
// happen with ordinary senders.
func Join(a, b []byte) []byte {
	if len(a) == 0 {
		return b
	}
	return append(a[:len(a):len(a)], b...)
}

package observe

import (
	"iter"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Kinds of value: the numbers of their fields in the Value of google/protobuf/struct.proto.
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

// maxDepth is deeper than any Struct that the protobuf library decodes: at 10000 messages, two for each level.
const maxDepth = 5000

// A value is a google.protobuf.Value in its encoding. What is absent, null or malformed is the zero value, or else has
// none of the forms that its methods ask for.
type value struct {
	kind  protowire.Number
	bytes []byte // Of a string; encoded, of a Struct or ListValue.
	bits  uint64 // Of a number (as float64) or boolean.
}

func (v value) text() string {
	if v.kind != kindString {
		return ""
	}
	return string(v.bytes)
}

func (v value) whole() (int64, bool) {
	f := math.Float64frombits(v.bits)
	if v.kind != kindNumber || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func (v value) boolean() (b, ok bool) {
	return v.kind == kindBool && v.bits != 0, v.kind == kindBool
}

// at is the value at a path below.
func (v value) at(path []string) value {
	for _, name := range path {
		v = v.field(name)
	}
	return v
}

// field is a field of a Struct: the last one of that name, as in any protobuf map.
func (v value) field(name string) value {
	var last []byte
	for key, encoded := range v.fields() {
		if string(key) == name {
			last = encoded
		}
	}
	return parse(last)
}

// fields are the names and encoded values of a Struct.
func (v value) fields() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, encoded []byte) bool) {
		for entry := range v.repeated(kindStruct) {
			key, encoded, err := mapEntry(entry)
			if err != nil || !yield(key, encoded) {
				return
			}
		}
	}
}

// elements are the values of a ListValue.
func (v value) elements() iter.Seq[value] {
	return func(yield func(value) bool) {
		for encoded := range v.repeated(kindList) {
			if !yield(parse(encoded)) {
				return
			}
		}
	}
}

// repeated is field 1 of a value of that kind: the entries of a Struct, the values of a ListValue.
func (v value) repeated(kind protowire.Number) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if v.kind != kind {
			return
		}
		for b := v.bytes; len(b) > 0; {
			num, typ, bytes, _, n := consume(b)
			if n < 0 || num == 1 && typ == protowire.BytesType && !yield(bytes) {
				return
			}
			b = b[n:]
		}
	}
}

// decode is the value as Go holds JSON.
func (v value) decode(depth int) any {
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

func (v value) object(depth int) map[string]any {
	if v.kind != kindStruct || depth > maxDepth {
		return nil
	}
	out := map[string]any{}
	for key, encoded := range v.fields() {
		out[string(key)] = parse(encoded).decode(depth + 1)
	}
	return out
}

func (v value) list(depth int) []any {
	if v.kind != kindList || depth > maxDepth {
		return nil
	}
	out := []any{}
	for e := range v.elements() {
		out = append(out, e.decode(depth+1))
	}
	return out
}

// parse reads an encoded Value. The last kind counts; a Struct or list in pieces is joined.
func parse(b []byte) value {
	var v value
	for len(b) > 0 {
		num, typ, bytes, bits, n := consume(b)
		if n < 0 {
			return value{}
		}
		switch b = b[n:]; {
		case (num == kindStruct || num == kindList) && typ == protowire.BytesType && v.kind == num:
			v.bytes = concat(v.bytes, bytes)
		case num >= kindNull && num <= kindList && typ == wireTypes[num]:
			v = value{kind: num, bytes: bytes, bits: bits}
		}
	}
	return v
}

// mapEntry reads an entry of the fields of a Struct. A value in pieces is joined.
func mapEntry(b []byte) (key, encoded []byte, err error) {
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
			encoded = concat(encoded, bytes)
		}
	}
	return key, encoded, nil
}

// check is an error unless b is an encoded Struct as far as the names of its fields.
func check(b []byte) error {
	for len(b) > 0 {
		num, typ, bytes, _, n := consume(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if b = b[n:]; num != 1 || typ != protowire.BytesType {
			continue
		}
		if _, _, err := mapEntry(bytes); err != nil {
			return err
		}
	}
	return nil
}

// consume reads the field at the start of b: its number, its wire type, its value as that type has it, and its length,
// which is negative if it is malformed.
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

// concat is a followed by b, which is the merge of the two messages. It copies only if neither is empty.
func concat(a, b []byte) []byte {
	if len(a) == 0 {
		return b
	}
	return append(a[:len(a):len(a)], b...)
}

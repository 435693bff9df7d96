package encoded

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/structpb"
)

// Field numbers in google/protobuf/struct.proto, and in any protobuf map.
const (
	structFields = protowire.Number(1)
	listValues   = protowire.Number(1)
	entryKey     = protowire.Number(1)
	entryValue   = protowire.Number(2)
)

// Writer writes a message from its last byte to its first. The length of a part precedes the part, and is already
// determined when it is written: nothing is measured in advance or moved afterwards.
//
// To write a part, save the result of Written, write the content, and then the header, which takes the saved value.
type Writer struct {
	buf  []byte
	at   int      // Start of the written bytes, buf[at:].
	keys []string // Stack of the sorted keys of the maps that are being written.

	// BadText is true if text was written that is not UTF-8.
	BadText bool
}

var writers = sync.Pool{New: func() any { return &Writer{buf: make([]byte, 1<<14)} }}

// NewWriter returns an empty writer. Call Free to return it to the pool.
func NewWriter() *Writer {
	w := writers.Get().(*Writer) //nolint:forcetypeassert // Nothing else is stored.
	w.at, w.BadText = len(w.buf), false
	return w
}

// Free returns the writer to the pool.
func (w *Writer) Free() { writers.Put(w) }

// Struct returns a copy of the written bytes.
func (w *Writer) Struct() Struct { return bytes.Clone(w.buf[w.at:]) }

// Written returns the number of bytes written so far, which is where the next part ends.
func (w *Writer) Written() int { return len(w.buf) - w.at }

// Since returns the bytes written after the first end bytes. It is valid until the next write.
func (w *Writer) Since(end int) []byte { return w.buf[w.at : len(w.buf)-end] }

// Truncate discards the bytes written after the first end bytes.
func (w *Writer) Truncate(end int) { w.at = len(w.buf) - end }

// Raw writes bytes unchanged.
func (w *Writer) Raw(b []byte) { copy(w.reserve(len(b)), b) }

// reserve returns space for n bytes in front of the written bytes.
func (w *Writer) reserve(n int) []byte {
	if n > w.at {
		grown := make([]byte, 2*len(w.buf)+n)
		at := len(grown) - w.Written()
		copy(grown[at:], w.buf[w.at:])
		w.buf, w.at = grown, at
	}
	w.at -= n
	return w.buf[w.at : w.at+n]
}

func (w *Writer) varint(v uint64) {
	if v < 1<<7 { // Nearly always.
		w.reserve(1)[0] = byte(v)
		return
	}
	protowire.AppendVarint(w.reserve(protowire.SizeVarint(v))[:0], v)
}

// WriteHeader writes the start of a field that holds everything since end bytes were written.
func (w *Writer) WriteHeader(num protowire.Number, end int) {
	w.varint(uint64(w.Written() - end)) //nolint:gosec // Not negative.
	w.varint(protowire.EncodeTag(num, protowire.BytesType))
}

// Text writes a field that holds a text.
func (w *Writer) Text(num protowire.Number, s string) {
	end := w.Written()
	copy(w.reserve(len(s)), s)
	w.WriteHeader(num, end)
}

// The following write a Value.

// Null writes null.
func (w *Writer) Null() { w.Raw(Null) }

// Null is an encoded null.
var Null = protowire.AppendVarint(protowire.AppendTag(nil, kindNull, protowire.VarintType), 0)

// Number writes a number.
func (w *Writer) Number(f float64) {
	binary.LittleEndian.PutUint64(w.reserve(8), math.Float64bits(f))
	w.varint(protowire.EncodeTag(kindNumber, protowire.Fixed64Type))
}

// String writes a text.
func (w *Writer) String(s string) { w.Text(kindString, s) }

// Bool writes a boolean.
func (w *Writer) Bool(b bool) {
	w.varint(protowire.EncodeBool(b))
	w.varint(protowire.EncodeTag(kindBool, protowire.VarintType))
}

// Entry writes the beginning of a Struct's field, after its value.
func (w *Writer) Entry(key string, end int) {
	w.WriteHeader(entryValue, end)
	w.Text(entryKey, key)
	w.WriteHeader(structFields, end)
}

// WriteStructHeader writes the beginning of a Struct, after its last to first field.
func (w *Writer) WriteStructHeader(end int) { w.WriteHeader(kindStruct, end) }

// Element writes the beginning of a list's element, after its value.
func (w *Writer) Element(end int) { w.WriteHeader(listValues, end) }

// WriteListHeader writes the beginning of a list, after its last to first element.
func (w *Writer) WriteListHeader(end int) { w.WriteHeader(kindList, end) }

// encoded writes a Value unchanged.
func (w *Writer) encoded(v Value) {
	end := w.Written()
	switch v.kind {
	case kindNumber:
		w.Number(math.Float64frombits(v.bits))
	case kindBool:
		w.Bool(v.bits != 0)
	case kindString, kindStruct, kindList:
		w.Raw(v.bytes)
		w.WriteHeader(v.kind, end)
	default:
		w.Null()
	}
}

// Object writes the fields of a Struct. Unknown fields are written unchanged.
func (w *Writer) Object(s *structpb.Struct) {
	w.Raw(s.ProtoReflect().GetUnknown())
	first := len(w.keys)
	for k := range s.GetFields() {
		w.keys = append(w.keys, k)
	}
	slices.Sort(w.keys[first:])
	for len(w.keys) > first {
		k := w.keys[len(w.keys)-1]
		w.keys = w.keys[:len(w.keys)-1]
		end := w.Written()
		w.value(s.GetFields()[k])
		w.check(k)
		w.Entry(k, end)
	}
}

func (w *Writer) check(text string) { w.BadText = w.BadText || !utf8.ValidString(text) }

// value writes a Value: nothing if it has no kind.
func (w *Writer) value(v *structpb.Value) {
	end := w.Written()
	switch k := v.GetKind().(type) {
	case *structpb.Value_NullValue:
		w.varint(uint64(k.NullValue)) //nolint:gosec // As protobuf does for an enumeration.
		w.varint(protowire.EncodeTag(kindNull, protowire.VarintType))
	case *structpb.Value_NumberValue:
		w.Number(k.NumberValue)
	case *structpb.Value_StringValue:
		w.check(k.StringValue)
		w.String(k.StringValue)
	case *structpb.Value_BoolValue:
		w.Bool(k.BoolValue)
	case *structpb.Value_StructValue:
		w.Object(k.StructValue)
		w.WriteStructHeader(end)
	case *structpb.Value_ListValue:
		for _, e := range slices.Backward(k.ListValue.GetValues()) {
			element := w.Written()
			w.value(e)
			w.Element(element)
		}
		w.WriteListHeader(end)
	}
}

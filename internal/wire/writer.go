package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/structpb"
)

// Numbers of fields in google/protobuf/struct.proto.
const (
	structFields = protowire.Number(1)
	listValues   = protowire.Number(1)
	valueNull    = protowire.Number(1)
	valueNumber  = protowire.Number(2)
	valueString  = protowire.Number(3)
	valueBool    = protowire.Number(4)
	valueStruct  = protowire.Number(5)
	valueList    = protowire.Number(6)
)

// AppendStruct appends a Struct to b in protobuf's encoding, with the keys of its maps sorted: equal Structs give equal
// bytes, in every process and for as long as the Struct type stays as it is. Text is not checked to be UTF-8.
func AppendStruct(b []byte, s *structpb.Struct) []byte {
	w := newWriter()
	defer w.free()
	w.object(s)
	return append(b, w.bytes()...)
}

// Hash is 16 hexadecimal digits (64 bits of a SHA-256) that tell a Struct from others. It is no protection against
// somebody who looks for two Structs with the same hash.
func Hash(s *structpb.Struct) string {
	w := newWriter()
	defer w.free()
	w.object(s)
	sum := sha256.Sum256(w.bytes())
	return hex.EncodeToString(sum[:8])
}

// A writer writes a message from its last byte to its first. The length of a part stands before it, and so it is known
// when it is to be written: nothing is measured in advance or moved afterwards.
type writer struct {
	buf     []byte
	at      int      // What is written is buf[at:].
	keys    []string // A stack of the sorted keys of the maps that are being written.
	badText bool     // Text was written that is not UTF-8.
}

var writers = sync.Pool{New: func() any { return &writer{buf: make([]byte, 1<<14)} }}

func newWriter() *writer {
	w := writers.Get().(*writer) //nolint:forcetypeassert // Nothing else is put.
	w.at, w.keys, w.badText = len(w.buf), w.keys[:0], false
	return w
}

// free gives the writer back. What bytes gave must not be used any more.
func (w *writer) free() { writers.Put(w) }

func (w *writer) bytes() []byte { return w.buf[w.at:] }

// written is the number of bytes so far: where a part ends that is about to be written.
func (w *writer) written() int { return len(w.buf) - w.at }

// room is the place for the n bytes in front of what is written.
func (w *writer) room(n int) []byte {
	if n > w.at {
		grown := make([]byte, 2*len(w.buf)+n)
		at := len(grown) - w.written()
		copy(grown[at:], w.bytes())
		w.buf, w.at = grown, at
	}
	w.at -= n
	return w.buf[w.at : w.at+n]
}

func (w *writer) varint(v uint64) {
	if v < 1<<7 { // Nearly always.
		w.room(1)[0] = byte(v)
		return
	}
	protowire.AppendVarint(w.room(protowire.SizeVarint(v))[:0], v)
}

// begin writes the start of a field that holds everything since end bytes were written.
func (w *writer) begin(num protowire.Number, end int) {
	w.varint(uint64(w.written() - end)) //nolint:gosec // Not negative.
	w.varint(protowire.EncodeTag(num, protowire.BytesType))
}

func (w *writer) text(num protowire.Number, s string) {
	w.badText = w.badText || !utf8.ValidString(s)
	end := w.written()
	copy(w.room(len(s)), s)
	w.begin(num, end)
}

// object writes the fields of a Struct.
func (w *writer) object(s *structpb.Struct) {
	first := len(w.keys)
	for k := range s.GetFields() {
		w.keys = append(w.keys, k)
	}
	slices.Sort(w.keys[first:])
	for len(w.keys) > first {
		k := w.keys[len(w.keys)-1]
		w.keys = w.keys[:len(w.keys)-1]
		end := w.written()
		w.value(s.GetFields()[k])
		w.begin(entryValue, end)
		w.text(entryKey, k)
		w.begin(structFields, end)
	}
}

// value writes the fields of a Value: one, or none if it has no kind.
func (w *writer) value(v *structpb.Value) {
	end := w.written()
	switch k := v.GetKind().(type) {
	case *structpb.Value_NullValue:
		w.varint(uint64(k.NullValue)) //nolint:gosec // As protobuf does for an enumeration.
		w.varint(protowire.EncodeTag(valueNull, protowire.VarintType))
	case *structpb.Value_NumberValue:
		binary.LittleEndian.PutUint64(w.room(8), math.Float64bits(k.NumberValue))
		w.varint(protowire.EncodeTag(valueNumber, protowire.Fixed64Type))
	case *structpb.Value_StringValue:
		w.text(valueString, k.StringValue)
	case *structpb.Value_BoolValue:
		w.varint(protowire.EncodeBool(k.BoolValue))
		w.varint(protowire.EncodeTag(valueBool, protowire.VarintType))
	case *structpb.Value_StructValue:
		w.object(k.StructValue)
		w.begin(valueStruct, end)
	case *structpb.Value_ListValue:
		for _, e := range slices.Backward(k.ListValue.GetValues()) {
			element := w.written()
			w.value(e)
			w.begin(listValues, element)
		}
		w.begin(valueList, end)
	}
}

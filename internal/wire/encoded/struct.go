package encoded

import (
	"crypto/sha256"
	"encoding/hex"

	"google.golang.org/protobuf/types/known/structpb"
)

// Struct is an encoded google.protobuf.Struct. Its bytes are never changed. If this package wrote it, the keys of its maps
// are sorted, so that equal Structs have equal bytes.
type Struct []byte

// Of encodes s.
func Of(s *structpb.Struct) Struct {
	w := NewWriter()
	defer w.Free()
	w.Object(s)
	return w.Struct()
}

// Tree decodes the Struct to protobuf's own type. Malformed values are omitted. Of encodes the result to the same bytes, if
// this package wrote them.
func (s Struct) Tree() *structpb.Struct {
	return s.Value().tree(0).GetStructValue()
}

// Map decodes the Struct to the types of encoding/json.
func (s Struct) Map() map[string]any { return s.Value().Map() }

// At returns the value at a path of field names.
func (s Struct) At(path ...string) Value { return s.Value().At(path...) }

// Hash returns 16 hexadecimal digits (64 bits of a SHA-256) that distinguish Structs. It is not collision-resistant against
// a deliberate search for two Structs with the same hash.
func (s Struct) Hash() string {
	sum := sha256.Sum256(s)
	return hex.EncodeToString(sum[:8])
}

// With returns a copy of the Struct with the value at a path replaced. Missing Structs on the path are created.
func (s Struct) With(v Value, path ...string) Struct {
	if len(path) == 0 {
		return v.structBytes()
	}
	name := path[0]
	if len(path) > 1 {
		v = s.At(name).structBytes().With(v, path[1:]...).Value()
	}
	w := NewWriter()
	defer w.Free()
	w.encoded(v)
	w.Entry(name, 0)
	entry := w.Since(0)

	out := make(Struct, 0, len(s)+len(entry))
	placed := false
	place := func() { out, placed = append(out, entry...), true }
	for b := []byte(s); len(b) > 0; {
		_, _, bytes, _, n := consume(b)
		if n < 0 {
			break
		}
		key, _, _ := Entry(bytes)
		if !placed && string(key) >= name {
			place()
		}
		if string(key) != name {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	if !placed {
		place()
	}
	return out
}

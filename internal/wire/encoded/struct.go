package encoded

import (
	"crypto/sha256"
	"encoding/hex"

	"google.golang.org/protobuf/types/known/structpb"
)

// Struct is an encoded google.protobuf.Struct. Nothing changes its bytes. The keys of its maps are sorted if it was written
// by this package: equal Structs then have equal bytes.
type Struct []byte

// Of is s as bytes.
func Of(s *structpb.Struct) Struct {
	w := NewWriter()
	defer w.Free()
	w.Object(s)
	return w.Struct()
}

// Tree decodes the Struct for whoever needs protobuf's own form. What is malformed is absent. Of gives the bytes of what it wrote back.
func (s Struct) Tree() *structpb.Struct {
	return s.Value().tree(0).GetStructValue()
}

// Map decodes the Struct as encoding/json would read it.
func (s Struct) Map() map[string]any { return s.Value().Map() }

// At is the value at a path of field names.
func (s Struct) At(path ...string) Value { return s.Value().At(path...) }

// Hash is 16 hexadecimal digits (64 bits of a SHA-256) that tell a Struct from others. It is no protection against someone who looks for
// two Structs with the same hash.
func (s Struct) Hash() string {
	sum := sha256.Sum256(s)
	return hex.EncodeToString(sum[:8])
}

// With is the Struct with a Value at a path, in place of what was there. Structs on the way are made where they are missing.
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

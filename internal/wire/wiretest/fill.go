// Package wiretest builds messages for tests and benchmarks of wire and of packages that read encoded Structs.
package wiretest

import (
	"math"

	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

// Fill sets the fields of a message of any type to random values. Texts are chosen from a short list, so that maps have
// equal keys; numbers are never NaN, because NaN != NaN.
func Fill(t *rapid.T, m protoreflect.Message) {
	fill(t, m, 0)
}

// deepest is the depth at which Fill sets no more messages: a Struct with five levels.
const deepest = 14

func fill(t *rapid.T, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Message() != nil && depth >= deepest || rapid.IntRange(0, 3).Draw(t, "skip") == 0 {
			continue
		}
		switch {
		case f.ContainingOneof() != nil && m.WhichOneof(f.ContainingOneof()) != nil && rapid.Bool().Draw(t, "keep"):
		case f.IsMap():
			entries := m.Mutable(f).Map()
			for range rapid.IntRange(0, 3).Draw(t, "entries") {
				key := scalar(t, f.MapKey()).MapKey()
				if f.MapValue().Message() == nil {
					entries.Set(key, scalar(t, f.MapValue()))
					continue
				}
				v := entries.NewValue()
				fill(t, v.Message(), depth+1)
				entries.Set(key, v)
			}
		case f.IsList():
			list := m.Mutable(f).List()
			for range rapid.IntRange(0, 3).Draw(t, "elements") {
				if f.Message() == nil {
					list.Append(scalar(t, f))
					continue
				}
				fill(t, list.AppendMutable().Message(), depth+1)
			}
		case f.Message() != nil:
			fill(t, m.Mutable(f).Message(), depth+1)
		default:
			m.Set(f, scalar(t, f))
		}
	}
}

func scalar(t *rapid.T, f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.StringKind:
		text := []string{"", "a", "b", "metadata", "spec", "status", "conditions", "type", "Ready", "True", "Käse", "x.y/z"}
		return protoreflect.ValueOfString(rapid.SampledFrom(text).Draw(t, "string"))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "bytes"))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(t, "bool"))
	case protoreflect.EnumKind:
		values := f.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(rapid.IntRange(0, values.Len()-1).Draw(t, "enum")).Number())
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(rapid.SampledFrom([]float64{0, 1, -1, 0.5, 3, 1 << 53, 1 << 60, math.MaxFloat64}).Draw(t, "double"))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(rapid.Int32().Draw(t, "int32"))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64().Draw(t, "int64"))
	default:
		panic("wiretest.Fill does not support " + f.Kind().String())
	}
}

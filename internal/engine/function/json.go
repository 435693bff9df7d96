package function

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"
)

// appendObject writes the JSON of a protobuf struct. encoding/json would build a tree of maps first, and take five times as long. Names
// are sorted, so that a decoder always reports the same error if there are several.
func appendObject(b []byte, s *structpb.Struct) []byte {
	b = append(b, '{')
	for i, k := range slices.Sorted(maps.Keys(s.GetFields())) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, k), ':')
		b = appendValue(b, s.GetFields()[k])
	}
	return append(b, '}')
}

func appendValue(b []byte, v *structpb.Value) []byte {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		return appendObject(b, k.StructValue)
	case *structpb.Value_ListValue:
		b = append(b, '[')
		for i, item := range k.ListValue.GetValues() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, item)
		}
		return append(b, ']')
	case *structpb.Value_StringValue:
		return appendString(b, k.StringValue)
	case *structpb.Value_NumberValue:
		return appendNumber(b, k.NumberValue)
	case *structpb.Value_BoolValue:
		return strconv.AppendBool(b, k.BoolValue)
	}
	return append(b, "null"...)
}

// appendNumber writes whole numbers without an exponent, which integer fields do not accept.
func appendNumber(b []byte, f float64) []byte {
	const exact = 1 << 53
	if f == float64(int64(f)) && f > -exact && f < exact {
		return strconv.AppendInt(b, int64(f), 10)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}

// appendString writes a string. Strings with characters to escape, which are rare, are encoded by encoding/json.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			quoted, err := json.Marshal(s)
			if err != nil {
				return append(b, `""`...)
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

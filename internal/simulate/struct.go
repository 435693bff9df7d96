package simulate

import (
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

func clone(s *structpb.Struct) *structpb.Struct {
	c, _ := proto.Clone(s).(*structpb.Struct)
	return c
}

// same is proto.Equal, without its reflection: most objects of a call are those of the call before.
func same(a, b *structpb.Struct) bool {
	return maps.EqualFunc(a.GetFields(), b.GetFields(), sameValue)
}

func sameValue(a, b *structpb.Value) bool {
	switch k := a.GetKind().(type) {
	case *structpb.Value_StructValue:
		other, ok := b.GetKind().(*structpb.Value_StructValue)
		return ok && same(k.StructValue, other.StructValue)
	case *structpb.Value_ListValue:
		other, ok := b.GetKind().(*structpb.Value_ListValue)
		return ok && slices.EqualFunc(k.ListValue.GetValues(), other.ListValue.GetValues(), sameValue)
	}
	return a.AsInterface() == b.AsInterface()
}

func setGeneration(o *structpb.Struct, n float64) {
	meta := o.GetFields()["metadata"].GetStructValue()
	if meta == nil {
		return
	}
	meta.Fields["generation"] = structpb.NewNumberValue(n)
}

func nameOf(s *structpb.Struct) string {
	return s.GetFields()["metadata"].GetStructValue().GetFields()["name"].GetStringValue()
}

func sorted(m map[string]*fnv1.Resource) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

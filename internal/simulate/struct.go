package simulate

import (
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

func clone(s *structpb.Struct) *structpb.Struct {
	c, _ := proto.Clone(s).(*structpb.Struct)
	return c
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

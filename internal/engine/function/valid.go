package function

import (
	"maps"

	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// lastValidSpec is the status field that holds the spec that was composed last.
const lastValidSpec = "lastValidSpec"

// maxLastValidSpec is the longest spec that is repeated in a status, in bytes: the full example has 3 KiB. An API server accepts objects of
// up to 1.5 MiB, and rejects all updates of a larger status. With a longer spec, an invalid edit is fatal.
const maxLastValidSpec = 256 << 10

// machinery lists the fields of Crossplane in a spec, of composite resources with a claim and of namespaced ones.
// https://docs.crossplane.io/latest/composition/composite-resources/
var machinery = []string{
	"claimRef", "compositionRef", "compositionRevisionRef", "compositionRevisionSelector", "compositionSelector", "compositionUpdatePolicy",
	"crossplane", "resourceRefs", "writeConnectionSecretToRef",
}

// specWithoutCrossplane returns the spec of a composite resource without the fields of Crossplane.
func specWithoutCrossplane(composite *structpb.Struct) *structpb.Struct {
	fields := maps.Clone(composite.GetFields()["spec"].GetStructValue().GetFields())
	for _, name := range machinery {
		delete(fields, name)
	}
	return &structpb.Struct{Fields: fields}
}

// asLastValid returns a composite resource with the spec that was composed last and the generation that the status refers to. It returns
// false without such a spec. The returned spec is decoded and validated like any other.
//
// Two things come from the current spec: the fields of Crossplane, and deletionPolicy if it retains data, which must take effect at once
// even if the spec has other mistakes. A policy that deletes data is not taken from an invalid spec.
func asLastValid(composite *structpb.Struct) (*structpb.Struct, bool) {
	status := composite.GetFields()["status"].GetStructValue().GetFields()
	spec := maps.Clone(status[lastValidSpec].GetStructValue().GetFields())
	if len(spec) == 0 {
		return nil, false
	}
	current := composite.GetFields()["spec"].GetStructValue().GetFields()
	for _, name := range machinery {
		delete(spec, name)
		if v, ok := current[name]; ok {
			spec[name] = v
		}
	}
	const policy = "deletionPolicy"
	if deletes(spec[policy]) && !deletes(current[policy]) {
		spec[policy] = structpb.NewStringValue(common.DeletionPolicyRetain)
	}
	out := with(composite, "spec", structpb.NewStructValue(&structpb.Struct{Fields: spec}))
	if observed, ok := status["observedGeneration"].GetKind().(*structpb.Value_NumberValue); ok {
		meta := with(composite.GetFields()["metadata"].GetStructValue(), "generation", structpb.NewNumberValue(observed.NumberValue))
		out = with(out, "metadata", structpb.NewStructValue(meta))
	}
	return out, true
}

func with(s *structpb.Struct, key string, v *structpb.Value) *structpb.Struct {
	out := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	maps.Copy(out.GetFields(), s.GetFields())
	out.Fields[key] = v
	return out
}

func deletes(policy *structpb.Value) bool {
	return policy.GetStringValue() == common.DeletionPolicyDelete
}

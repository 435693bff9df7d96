package function

import (
	"maps"

	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// lastValidSpec is the field of every status that holds the spec which was composed last.
const lastValidSpec = "lastValidSpec"

// maxLastValidSpec is the longest spec that is repeated in a status, in bytes: the full example has 3 KiB. A server takes objects of 1.5
// MiB, and the status of one that it does not take is never updated again. An invalid edit of a longer one is fatal.
const maxLastValidSpec = 256 << 10

// machinery are the fields of a spec that are Crossplane's, of composite resources with a claim and of namespaced ones.
// https://docs.crossplane.io/latest/composition/composite-resources/
var machinery = []string{
	"claimRef", "compositionRef", "compositionRevisionRef", "compositionRevisionSelector", "compositionSelector", "compositionUpdatePolicy",
	"crossplane", "resourceRefs", "writeConnectionSecretToRef",
}

// specWithoutCrossplane is a composite resource's spec without what is Crossplane's.
func specWithoutCrossplane(composite *structpb.Struct) *structpb.Struct {
	fields := maps.Clone(composite.GetFields()["spec"].GetStructValue().GetFields())
	for _, name := range machinery {
		delete(fields, name)
	}
	return &structpb.Struct{Fields: fields}
}

// asLastValid is a composite resource as it was when its spec was last composed: with that spec, and with the generation that the status
// is about. It is false if there was none. Whatever the status holds is decoded and checked as any spec is.
//
// Of the current spec it has what is Crossplane's, and that data is to be kept: this has to count at once, whatever else is wrong. That
// data is to be deleted is not believed of a spec with a mistake in it.
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

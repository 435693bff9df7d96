package simulate

import (
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/fake"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

func nameOf(xr *structpb.Struct) string { return metadataOf(xr, "name") }

func metadataOf(o *structpb.Struct, field string) string {
	return o.GetFields()["metadata"].GetStructValue().GetFields()[field].GetStringValue()
}

// Exist returns a desired object as stored by an API server: with a generation, and for an Object with the object inside in its status. An
// object that is only observed has content of package fake.
func Exist(desired encoded.Struct) encoded.Struct {
	o := desired.With(encoded.Number(1), "metadata", "generation")
	inner, ok := wrapper.Desired(o)
	if !ok {
		return o
	}
	inner = inner.With(encoded.Number(1), "metadata", "generation")
	if wrapper.IsObserveOnly(o) {
		for key, text := range fake.Data(inner.At("metadata", "name").Text()) {
			inner = inner.With(encoded.Text(text), "data", key)
		}
	}
	return wrapper.WithObserved(o, inner)
}

// readyTime is the time in all statuses.
const readyTime = "2025-01-01T00:00:00Z"

// Finish returns an existing object with its owner's final status. It returns an error if the owner is not simulated.
func Finish(existing encoded.Struct) (encoded.Struct, error) {
	if !wrapper.IsObject(existing) {
		return finished(existing, existing.Map())
	}
	observed, _ := wrapper.Observed(existing)
	inner, err := Finish(observed)
	if err != nil {
		return nil, err
	}
	o, err := finished(existing, map[string]any{
		"apiVersion": existing.At("apiVersion").Text(), "kind": existing.At("kind").Text(), "metadata": existing.At("metadata").Map(),
	})
	if err != nil {
		return nil, err
	}
	return wrapper.WithObserved(o, inner), nil
}

// finished returns an object with its owner's status. m is the object as read by the owner.
func finished(o encoded.Struct, m map[string]any) (encoded.Struct, error) {
	if err := fake.Finish(m, readyTime); err != nil {
		return nil, err
	}
	if m["status"] == nil {
		return o, nil
	}
	status, err := encode.Struct(m["status"])
	return o.With(status.Value(), "status"), err
}

func kindOf(o encoded.Struct) schema.GroupKind {
	return schema.FromAPIVersionAndKind(o.At("apiVersion").Text(), o.At("kind").Text()).GroupKind()
}

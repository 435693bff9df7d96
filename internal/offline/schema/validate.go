package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// Validate returns the errors of an API server when the object is created with strict field validation. The object may contain any Go
// numbers and is not changed. A namespaced object without a namespace gets one, as from clients. A status that is a subresource is only
// checked for unknown fields, because the server drops it on creation.
//
// The errors are sorted by field.
func (v *Validator) Validate(obj map[string]any) field.ErrorList {
	return v.create(obj, v.hasStatusSubresource)
}

// ValidateStatus validates like Validate, including the status: for a status that a function writes.
func (v *Validator) ValidateStatus(obj map[string]any) field.ErrorList {
	return v.create(obj, false)
}

func (v *Validator) create(obj map[string]any, dropStatus bool) field.ErrorList {
	o, errs := v.decode(obj)
	if o == nil {
		return sortErrors(errs)
	}
	if dropStatus {
		delete(o, "status")
	}
	u := &unstructured.Unstructured{Object: o}
	if v.namespaced && u.GetNamespace() == "" {
		u.SetNamespace(metav1.NamespaceDefault)
	}

	metadata := field.NewPath("metadata")
	errs = append(errs, apivalidation.ValidateObjectMetaAccessor(u, v.namespaced, apivalidation.NameIsDNSSubdomain, metadata)...)
	errs = append(errs, validation.ValidateCustomResource(nil, o, v.openAPI)...)
	errs = append(errs, checkScale(o, v.scale)...)
	errs = append(errs, objectmeta.Validate(context.Background(), nil, o, v.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, o)...)
	if !blocksRules(errs) {
		broken, _ := v.rules.validator(o).Validate(
			context.Background(), nil, v.structural, o, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	return sortErrors(errs)
}

// ValidateUpdate returns the errors of an API server when obj replaces old, including transition rules (oldSelf). Existing errors in
// unchanged fields are ignored as far as an API server ignores them (validation ratcheting). Metadata of the server, and a status that is a
// subresource, are taken from old.
func (v *Validator) ValidateUpdate(obj, old map[string]any) field.ErrorList {
	o, errs := v.decode(obj)
	previous, oldErrs := v.decode(old)
	if o == nil {
		return sortErrors(errs)
	}
	if previous == nil {
		return sortErrors(field.ErrorList{field.InternalError(nil, fmt.Errorf("cannot read the old object: %w", oldErrs.ToAggregate()))})
	}
	v.mergeUpdate(o, previous)

	correlated := common.NewCorrelatedObject(o, previous, &model.Structural{Structural: v.structural})
	errs = append(errs, apivalidation.ValidateObjectMetaAccessorUpdate(
		&unstructured.Unstructured{Object: o}, &unstructured.Unstructured{Object: previous}, field.NewPath("metadata"))...)
	errs = append(errs, validation.ValidateCustomResourceUpdate(nil, o, previous, v.openAPI, validation.WithRatcheting(correlated))...)
	errs = append(errs, checkScale(o, v.scale)...)
	errs = append(errs, objectmeta.Validate(context.Background(), nil, o, v.structural, false)...)
	if len(listtype.ValidateListSetsAndMaps(nil, v.structural, previous)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, o)...)
	}
	if !blocksRules(errs) {
		ratchet := cel.WithRatcheting(correlated)
		broken, _ := v.rules.validator(o).Validate(
			context.Background(), nil, v.structural, o, previous, celconfig.RuntimeCELCostBudget, ratchet)
		errs = append(errs, broken...)
	}
	return sortErrors(errs)
}

// mergeUpdate adds the fields that the server takes from the stored object to an updated one.
func (v *Validator) mergeUpdate(obj, old map[string]any) {
	if v.hasStatusSubresource {
		delete(obj, "status")
		if status, ok := old["status"]; ok {
			obj["status"] = status
		}
	}
	previous := &unstructured.Unstructured{Object: old}
	if previous.GetResourceVersion() == "" {
		previous.SetResourceVersion("1")
	}
	u := &unstructured.Unstructured{Object: obj}
	if u.GetNamespace() == "" {
		u.SetNamespace(previous.GetNamespace())
	}
	u.SetResourceVersion(previous.GetResourceVersion())
	u.SetUID(previous.GetUID())
	u.SetGeneration(previous.GetGeneration())
	u.SetCreationTimestamp(previous.GetCreationTimestamp())
	u.SetDeletionTimestamp(previous.GetDeletionTimestamp())
	u.SetDeletionGracePeriodSeconds(previous.GetDeletionGracePeriodSeconds())
}

// decode returns the object before validation: in its JSON form, without unknown fields (each is an error) and with its defaults. The
// object is nil if its kind or metadata are invalid.
func (v *Validator) decode(obj map[string]any) (map[string]any, field.ErrorList) {
	o, err := Normalize(obj)
	if err != nil {
		return nil, field.ErrorList{field.InternalError(nil, err)}
	}
	if errs := v.checkType(o); len(errs) > 0 {
		return nil, errs
	}

	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(o, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, field.ErrorList{metadataTypeError(err)}
	}
	unknown = append(unknown, pruning.PruneWithOptions(o, v.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(o, v.structural)
	malformed, embedded := objectmeta.CoerceWithOptions(nil, o, v.structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if malformed != nil {
		return nil, field.ErrorList{malformed}
	}
	unknown = append(unknown, embedded...)
	if found {
		if err := objectmeta.SetObjectMeta(o, meta); err != nil {
			return nil, field.ErrorList{field.Invalid(field.NewPath("metadata"), field.OmitValueType{}, err.Error())}
		}
	}
	defaulting.Default(o, v.structural)

	var errs field.ErrorList
	for _, path := range unknown {
		errs = append(errs, field.Forbidden(field.NewPath(path), "unknown field"))
	}
	return o, errs
}

// metadataTypeError returns the error for metadata of the wrong type, in the format of other fields.
func metadataTypeError(err error) *field.Error {
	metadata := field.NewPath("metadata")
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return field.Invalid(metadata, field.OmitValueType{}, err.Error())
	}
	if wrong.Field != "" {
		metadata = metadata.Child(wrong.Field)
	}
	var want string
	switch wrong.Type.Kind() {
	case reflect.String:
		want = "string"
	case reflect.Slice:
		want = "array"
	case reflect.Int64:
		want = "integer"
	default:
		want = "object"
	}
	return field.TypeInvalid(metadata, wrong.Value, fmt.Sprintf("must be of type %s: %q", want, wrong.Value))
}

func (v *Validator) checkType(obj map[string]any) field.ErrorList {
	var errs field.ErrorList
	for name, want := range map[string]string{"apiVersion": v.kind.GroupVersion().String(), "kind": v.kind.Kind} {
		if obj[name] != want {
			errs = append(errs, field.Invalid(field.NewPath(name), obj[name], "must be "+want))
		}
	}
	return errs
}

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

// Validate reports what an API server would say to creating the object with strict field validation. The object may hold any Go numbers
// and is left as it is. A namespaced object without a namespace is taken as sent to one, as clients do. A status that is a subresource is
// searched for unknown fields only: creation drops it.
//
// The errors are sorted by field; none means that the object is accepted.
func (v *Validator) Validate(obj map[string]any) field.ErrorList {
	return v.create(obj, v.statusApart)
}

// ValidateStatus is Validate, but the status is kept and checked as well: for a status that we write ourselves.
func (v *Validator) ValidateStatus(obj map[string]any) field.ErrorList {
	return v.create(obj, false)
}

func (v *Validator) create(obj map[string]any, dropStatus bool) field.ErrorList {
	o, errs := v.decode(obj)
	if o == nil {
		return tidy(errs)
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
	errs = append(errs, objectmeta.Validate(nil, o, v.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, o)...)
	if !blocksRules(errs) {
		broken, _ := v.rules.Validate(context.Background(), nil, v.structural, o, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	return tidy(errs)
}

// ValidateUpdate reports what an API server would say to replacing old by obj, transition rules (oldSelf) included. What was wrong before
// and did not change is forgiven where an API server forgives it (validation ratcheting). Metadata that the server owns, and a status
// that is a subresource, are taken over from old.
func (v *Validator) ValidateUpdate(obj, old map[string]any) field.ErrorList {
	o, errs := v.decode(obj)
	was, wasErrs := v.decode(old)
	if o == nil {
		return tidy(errs)
	}
	if was == nil {
		return tidy(field.ErrorList{field.InternalError(nil, fmt.Errorf("cannot read the old object: %w", wasErrs.ToAggregate()))})
	}
	v.carryOver(o, was)

	correlated := common.NewCorrelatedObject(o, was, &model.Structural{Structural: v.structural})
	errs = append(errs, apivalidation.ValidateObjectMetaAccessorUpdate(
		&unstructured.Unstructured{Object: o}, &unstructured.Unstructured{Object: was}, field.NewPath("metadata"))...)
	errs = append(errs, validation.ValidateCustomResourceUpdate(nil, o, was, v.openAPI, validation.WithRatcheting(correlated))...)
	errs = append(errs, checkScale(o, v.scale)...)
	errs = append(errs, objectmeta.Validate(nil, o, v.structural, false)...)
	if len(listtype.ValidateListSetsAndMaps(nil, v.structural, was)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, o)...)
	}
	if !blocksRules(errs) {
		ratchet := cel.WithRatcheting(correlated)
		broken, _ := v.rules.Validate(context.Background(), nil, v.structural, o, was, celconfig.RuntimeCELCostBudget, ratchet)
		errs = append(errs, broken...)
	}
	return tidy(errs)
}

// carryOver gives an updated object what a client need not send: the server takes it from the stored one.
func (v *Validator) carryOver(obj, old map[string]any) {
	if v.statusApart {
		delete(obj, "status")
		if status, ok := old["status"]; ok {
			obj["status"] = status
		}
	}
	was := &unstructured.Unstructured{Object: old}
	if was.GetResourceVersion() == "" {
		was.SetResourceVersion("1")
	}
	u := &unstructured.Unstructured{Object: obj}
	if u.GetNamespace() == "" {
		u.SetNamespace(was.GetNamespace())
	}
	u.SetResourceVersion(was.GetResourceVersion())
	u.SetUID(was.GetUID())
	u.SetGeneration(was.GetGeneration())
	u.SetCreationTimestamp(was.GetCreationTimestamp())
	u.SetDeletionTimestamp(was.GetDeletionTimestamp())
	u.SetDeletionGracePeriodSeconds(was.GetDeletionGracePeriodSeconds())
}

// decode is the request's way up to validation: the object as JSON would carry it, without the fields that the schema
// does not know (each is an error) and with its defaults. The object is nil if it cannot be one of this kind at all.
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
		return nil, field.ErrorList{mistyped(err)}
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

// mistyped is the error of metadata that do not fit their Go type, said as of every other field.
func mistyped(err error) *field.Error {
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

package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func texts(errs field.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

// TestReportsEachErrorOnce tests that each error is reported once, at its field, in the order of the fields.
func TestReportsEachErrorOnce(t *testing.T) {
	omitted := field.OmitValueType{}
	cases := map[string]struct {
		reason string
		errs   field.ErrorList
		want   []string
	}{
		"Order": {
			"They are sorted, without duplicates.",
			field.ErrorList{
				{Type: field.ErrorTypeInvalid, Field: "b", Detail: "no", BadValue: omitted}, {Type: field.ErrorTypeInvalid, Field: "a", Detail: "no", BadValue: omitted},
				{Type: field.ErrorTypeRequired, Field: "a", BadValue: omitted}, {Type: field.ErrorTypeInvalid, Field: "b", Detail: "no", BadValue: omitted},
				{Type: field.ErrorTypeInvalid, Field: "b", Detail: "never", BadValue: omitted},
			},
			[]string{"a: Invalid value: no", "a: Required value", "b: Invalid value: never", "b: Invalid value: no"},
		},
		"Type": {
			"A wrong type is the only error of a field, with the longest message.",
			field.ErrorList{
				{Type: field.ErrorTypeInvalid, Field: "a", Detail: "should match", BadValue: omitted},
				{Type: field.ErrorTypeTypeInvalid, Field: "a", Detail: "must be of type string", BadValue: omitted},
				{Type: field.ErrorTypeTypeInvalid, Field: "a", Detail: "must be of type string,integer", BadValue: omitted},
				{Type: field.ErrorTypeTypeInvalid, Field: "a", Detail: "must be of type null", BadValue: omitted},
				{Type: field.ErrorTypeInvalid, Field: "b", Detail: "should match", BadValue: omitted},
			},
			[]string{"a: Invalid value: must be of type string,integer", "b: Invalid value: should match"},
		},
		"Body": {
			"The path stands before the sentence, not in it as well.",
			field.ErrorList{{Type: field.ErrorTypeInvalid, Field: "spec.a", Detail: "spec.a in body should match", BadValue: omitted}},
			[]string{"spec.a: Invalid value: should match"},
		},
		"Misplaced": {
			"A sentence that names its field gives it up.",
			field.ErrorList{
				{Type: field.ErrorTypeInvalid, Detail: `"spec.a" must validate one and only one schema`, BadValue: omitted},
				{Type: field.ErrorTypeInvalid, Field: "<nil>", Detail: "Checked value must be of type integer with format int32 in spec.b", BadValue: omitted},
			},
			[]string{"spec.a: Invalid value: must validate one and only one schema", "spec.b: Invalid value: must be of type integer with format int32"},
		},
		"Object": {
			"An error without a field is about the object.",
			field.ErrorList{
				{Type: field.ErrorTypeInvalid, Detail: "no", BadValue: omitted}, {Type: field.ErrorTypeInvalid, Field: "<nil>", Detail: "never", BadValue: omitted},
			},
			[]string{"object: Invalid value: never", "object: Invalid value: no"},
		},
		"Placed": {
			"A sentence that names another field stays where it is.",
			field.ErrorList{{Type: field.ErrorTypeInvalid, Field: "spec.a", Detail: `"spec.b" must be set`, BadValue: omitted}},
			[]string{`spec.a: Invalid value: "spec.b" must be set`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, texts(sortErrors(tc.errs))); diff != "" {
				t.Errorf("%s\ntidy(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReplicasMustBeNonNegativeInt32 tests that replicas in spec and status are a non-negative int32, regardless of the schema.
func TestReplicasMustBeNonNegativeInt32(t *testing.T) {
	scale := &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.pods.ready"}
	object := func(desired, ready any) map[string]any {
		return map[string]any{"spec": map[string]any{"replicas": desired}, "status": map[string]any{"pods": map[string]any{"ready": ready}}}
	}
	cases := map[string]struct {
		reason string
		scale  *apiextensionsv1.CustomResourceSubresourceScale
		obj    map[string]any
		want   []string
	}{
		"Absent": {"Missing fields are valid.", scale, map[string]any{}, nil},
		"Good":   {"From none to the largest.", scale, object(int64(0), int64(1<<31-1)), nil},
		"Beyond": {
			"Beyond either end.", scale, object(int64(-1), int64(1<<31)),
			[]string{"spec.replicas: Invalid value: -1: must be between 0 and 2147483647", "status.pods.ready: Invalid value: 2147483648: must be between 0 and 2147483647"},
		},
		"Type":    {"No number.", scale, object("1", int64(1)), []string{"spec.replicas: Invalid value: must be a whole number"}},
		"NoScale": {"A kind without the subresource may have any.", nil, object("1", int64(-1)), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, texts(checkScale(tc.obj, tc.scale))); diff != "" {
				t.Errorf("%s\ncheckScale(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

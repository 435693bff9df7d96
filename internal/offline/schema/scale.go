package schema

import (
	"fmt"
	"math"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkScale checks the replicas of a kind with a scale subresource: a non-negative int32, regardless of the schema of the
// field.
func checkScale(obj map[string]any, scale *apiextensionsv1.CustomResourceSubresourceScale) field.ErrorList {
	if scale == nil {
		return nil
	}
	var errs field.ErrorList
	for _, jsonPath := range []string{scale.SpecReplicasPath, scale.StatusReplicasPath} {
		name := strings.TrimPrefix(jsonPath, ".")
		replicas, _, err := unstructured.NestedInt64(obj, strings.Split(name, ".")...)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(field.NewPath(name), field.OmitValueType{}, "must be a whole number"))
		case replicas < 0 || replicas > math.MaxInt32:
			errs = append(errs, field.Invalid(field.NewPath(name), replicas, fmt.Sprintf("must be between 0 and %d", math.MaxInt32)))
		}
	}
	return errs
}

package crds

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// wrappers are the API groups whose kind Object contains an object for another cluster.
var wrappers = map[string]bool{"kubernetes.crossplane.io": true, "kubernetes.m.crossplane.io": true}

// validateManifest checks the manifest in an Object of provider-kubernetes, as the API server of the other cluster
// does. An Object that only observes contains no more than a name.
func (s *Set) validateManifest(obj map[string]any, gvk runtimeschema.GroupVersionKind) field.ErrorList {
	if gvk.Kind != "Object" || !wrappers[gvk.Group] {
		return nil
	}
	policies, _, _ := unstructured.NestedSlice(obj, "spec", "managementPolicies")
	if reflect.DeepEqual(policies, []any{"Observe"}) {
		return nil
	}
	manifest, found, err := unstructured.NestedMap(obj, "spec", "forProvider", "manifest")
	if !found || err != nil {
		return nil // the Object's CRD reports it
	}
	errs := s.Validate(manifest)
	for _, e := range errs {
		e.Field = "spec.forProvider.manifest." + e.Field
	}
	return errs
}

package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// Validator validates the objects of one kind in one version. It is safe for concurrent use.
type Validator struct {
	kind       runtimeschema.GroupVersionKind
	namespaced bool
	// hasStatusSubresource reports whether creating or updating the object drops its status.
	hasStatusSubresource bool
	// scale is nil for a kind without a scale subresource.
	scale *apiextensionsv1.CustomResourceSubresourceScale

	structural *schema.Structural
	openAPI    validation.SchemaValidator
	rules      *rules
}

// New returns the validator of one version of a CRD: its structural schema and its CEL rules. It returns an error if the
// CRD does not serve the version, or if its schema is not structural. A rule that does not compile is reported by
// every Validate of an object to which it applies, as by an API server; CheckCRD finds it earlier.
func New(crd *apiextensionsv1.CustomResourceDefinition, version string) (*Validator, error) {
	served := servedVersion(crd, version)
	if served == nil {
		return nil, fmt.Errorf("cannot validate %s: its CRD does not serve version %q", crd.Name, version)
	}
	if served.Schema == nil || served.Schema.OpenAPIV3Schema == nil {
		return nil, fmt.Errorf("cannot validate %s: version %s of its CRD has no schema", crd.Name, version)
	}

	props := &apiextensions.JSONSchemaProps{}
	convert := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps
	if err := convert(served.Schema.OpenAPIV3Schema, props, nil); err != nil {
		return nil, fmt.Errorf("cannot read the schema of %s: %w", crd.Name, err)
	}
	structural, err := schema.NewStructural(props)
	if err != nil {
		return nil, fmt.Errorf("cannot use the schema of %s, it is not structural: %w", crd.Name, err)
	}
	// The defaults still belong to the passed CRD, and pruning writes to them.
	structural = structural.DeepCopy()
	if err := defaulting.PruneDefaults(structural); err != nil {
		return nil, fmt.Errorf("cannot use the defaults of %s: %w", crd.Name, err)
	}
	openAPI, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, fmt.Errorf("cannot use the schema of %s: %w", crd.Name, err)
	}

	v := &Validator{
		kind:       runtimeschema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.Kind},
		namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		structural: structural,
		openAPI:    openAPI,
		rules:      newRules(structural),
	}
	if sub := served.Subresources; sub != nil {
		v.hasStatusSubresource, v.scale = sub.Status != nil, sub.Scale
	}
	return v, nil
}

// servedVersion returns a served version of the CRD, or nil.
func servedVersion(crd *apiextensionsv1.CustomResourceDefinition, version string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Name == version && v.Served {
			return v
		}
	}
	return nil
}

// Default sets the schema's defaults in place, and drops nulls in fields that are not nullable, like an API server
// before validation. The object's numbers must have the types of JSON (int64, float64); see Normalize.
func (v *Validator) Default(obj map[string]any) {
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, v.structural)
	defaulting.Default(obj, v.structural)
}

// Kind returns the kind of the validated objects.
func (v *Validator) Kind() string { return v.kind.Kind }

// Fields returns the names of the fields at a path in the notation of errors (spec.services[0].keystone), or nil if the schema has
// no such path.
func (v *Validator) Fields(path string) []string {
	at := v.structural
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' }) {
		switch next, known := at.Properties[part]; {
		case strings.HasSuffix(part, "]") && at.Items != nil:
			at = at.Items
		case known:
			at = &next
		case at.AdditionalProperties != nil && at.AdditionalProperties.Structural != nil:
			at = at.AdditionalProperties.Structural
		default:
			return nil
		}
	}
	return slices.Sorted(maps.Keys(at.Properties))
}

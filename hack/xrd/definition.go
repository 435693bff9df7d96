package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	xv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

// object is a definition in the generated form, without a status and zero values.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec any `json:"spec"`
}

// xrdSpec is the part of a CompositeResourceDefinition's spec that we use, of v1 and v2 alike.
type xrdSpec struct {
	Group                        string                                         `json:"group"`
	Scope                        string                                         `json:"scope"`
	Names                        apiextensionsv1.CustomResourceDefinitionNames  `json:"names"`
	ClaimNames                   *apiextensionsv1.CustomResourceDefinitionNames `json:"claimNames,omitempty"`
	EnforcedCompositionRef       xv1.CompositionReference                       `json:"enforcedCompositionRef"`
	DefaultCompositeDeletePolicy string                                         `json:"defaultCompositeDeletePolicy,omitempty"`
	Versions                     []xrdVersion                                   `json:"versions"`
}

// xrdVersion is one version of a composite resource.
type xrdVersion struct {
	Name                     string                                           `json:"name"`
	Referenceable            bool                                             `json:"referenceable"`
	Served                   bool                                             `json:"served"`
	AdditionalPrinterColumns []apiextensionsv1.CustomResourceColumnDefinition `json:"additionalPrinterColumns,omitempty"`
	Schema                   apiextensionsv1.CustomResourceValidation         `json:"schema"`
}

// claimable makes the definition of a kind that tenants claim. Claims exist on version 1 of the definition API only, and
// for composite resources of the scope LegacyCluster. The composite resource's kind has an X in front.
func claimable(name string, crd *apiextensionsv1.CustomResourceDefinition) (any, error) {
	reserved := fields{
		spec: union(
			xcrd.CompositeResourceSpecProps(xv1.CompositeResourceScopeLegacyCluster, nil),
			xcrd.CompositeResourceClaimSpecProps(nil)),
		status: union(xcrd.CompositeResourceStatusProps(xv1.CompositeResourceScopeLegacyCluster)),
	}
	spec, err := newSpec(name, crd, reserved)
	if err != nil {
		return nil, err
	}
	claim := spec.Names
	spec.ClaimNames = &claim
	spec.Names.Kind, spec.Names.ListKind = "X"+claim.Kind, "X"+claim.ListKind
	spec.Names.Plural, spec.Names.Singular = "x"+claim.Plural, "x"+claim.Singular
	spec.Scope = string(xv1.CompositeResourceScopeLegacyCluster)
	// Foreground: the objects of a claim are deleted in order, and the claim is deleted last.
	spec.DefaultCompositeDeletePolicy = "Foreground"
	return newObject("apiextensions.crossplane.io/v1", "CompositeResourceDefinition", spec.Names.Plural+"."+spec.Group, spec), nil
}

// namespaced makes the definition of a kind that a claimed composite resource is made of.
func namespaced(name string, crd *apiextensionsv1.CustomResourceDefinition) (any, error) {
	return compositeOf(xv1.CompositeResourceScopeNamespaced, name, crd)
}

// clusterScoped makes the definition of a kind that the platform team creates.
func clusterScoped(name string, crd *apiextensionsv1.CustomResourceDefinition) (any, error) {
	return compositeOf(xv1.CompositeResourceScopeCluster, name, crd)
}

// compositeOf makes the definition of a composite resource without a claim.
func compositeOf(scope xv1.CompositeResourceScope, name string, crd *apiextensionsv1.CustomResourceDefinition) (any, error) {
	reserved := fields{
		spec:   union(xcrd.CompositeResourceSpecProps(scope, nil)),
		status: union(xcrd.CompositeResourceStatusProps(scope)),
	}
	for _, v := range crd.Spec.Versions {
		// The Go type has the field, so that composers of such a resource can set it; Crossplane adds it to the definition.
		delete(v.Schema.OpenAPIV3Schema.Properties["spec"].Properties, "crossplane")
	}
	spec, err := newSpec(name, crd, reserved)
	if err != nil {
		return nil, err
	}
	spec.Scope = string(scope)
	return newObject("apiextensions.crossplane.io/v2", "CompositeResourceDefinition", spec.Names.Plural+"."+spec.Group, spec), nil
}

// namespacedFormOf returns the function that makes the definition of a claim's namespaced form. Only the group differs from the claim.
func namespacedFormOf(k kindregistry.Kind) func(string, *apiextensionsv1.CustomResourceDefinition) (any, error) {
	return func(name string, crd *apiextensionsv1.CustomResourceDefinition) (any, error) {
		crd.Spec.Group = k.Group
		return namespaced(name, crd)
	}
}

// crdDocument returns a CustomResourceDefinition unchanged except for titles and patterns.
func crdDocument(_ string, crd *apiextensionsv1.CustomResourceDefinition) (any, error) {
	for i := range crd.Spec.Versions {
		completeParts(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
	}
	return newObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", crd.GetName(), crd.Spec), nil
}

func newObject(apiVersion, kind, name string, spec any) object {
	o := object{APIVersion: apiVersion, Kind: kind, Spec: spec}
	o.Metadata.Name = name
	return o
}

// newSpec returns the common part of the definitions of both versions. The composition of a kind has the kind's own name and is enforced.
func newSpec(name string, crd *apiextensionsv1.CustomResourceDefinition, reserved fields) (xrdSpec, error) {
	spec := xrdSpec{
		Group:                  crd.Spec.Group,
		Names:                  crd.Spec.Names,
		EnforcedCompositionRef: xv1.CompositionReference{Name: name},
	}
	for _, v := range crd.Spec.Versions {
		schema, err := reduce(v.Schema.OpenAPIV3Schema, reserved)
		if err != nil {
			return xrdSpec{}, err
		}
		completeParts(schema)
		spec.Versions = append(spec.Versions, xrdVersion{
			Name:                     v.Name,
			Referenceable:            v.Storage,
			Served:                   v.Served,
			AdditionalPrinterColumns: v.AdditionalPrinterColumns,
			Schema:                   apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema},
		})
	}
	return spec, nil
}

// fields are the names of fields that Crossplane adds to every composite resource.
type fields struct{ spec, status sets.Set[string] }

func union(props ...map[string]apiextensionsv1.JSONSchemaProps) sets.Set[string] {
	all := sets.New[string]()
	for _, p := range props {
		all = all.Union(sets.KeySet(p))
	}
	return all
}

// reduce reduces a schema to the parts that Crossplane copies into its CRDs: spec and status, without the conditions and other fields that
// it adds itself. Any other part, which would be lost silently, is an error.
func reduce(schema *apiextensionsv1.JSONSchemaProps, reserved fields) (*apiextensionsv1.JSONSchemaProps, error) {
	out := &apiextensionsv1.JSONSchemaProps{
		Type:         "object",
		Description:  schema.Description,
		Required:     []string{"spec"},
		Properties:   map[string]apiextensionsv1.JSONSchemaProps{},
		XValidations: schema.XValidations,
	}
	for _, part := range []struct {
		name     string
		reserved sets.Set[string]
	}{{"spec", reserved.spec}, {"status", reserved.status}} {
		p, ok := schema.Properties[part.name]
		if !ok {
			return nil, fmt.Errorf("it has no %s", part.name)
		}
		if part.name == "status" {
			delete(p.Properties, "conditions")
			p.Required = slices.DeleteFunc(p.Required, func(name string) bool { return name == "conditions" })
		}
		for _, name := range sets.List(part.reserved) {
			if _, ok := p.Properties[name]; ok {
				return nil, fmt.Errorf("%s.%s is a field of Crossplane's own: give ours another name", part.name, name)
			}
		}
		if err := copiedByCrossplane(p); err != nil {
			return nil, fmt.Errorf("a part of %s would be dropped by Crossplane: %w", part.name, err)
		}
		out.Properties[part.name] = p
	}
	return out, nil
}

// copiedByCrossplane returns an error unless Crossplane copies all direct parts of a schema's spec or status: it copies description,
// properties, required, oneOf and CEL rules only.
func copiedByCrossplane(p apiextensionsv1.JSONSchemaProps) error {
	rest := p
	rest.Type, rest.Description, rest.Properties, rest.Required, rest.OneOf, rest.XValidations = "", "", nil, nil, nil, nil
	raw, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	if string(raw) != "{}" {
		return fmt.Errorf("move %s to a field below", raw)
	}
	return nil
}

package main

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	cloudv1 "github.com/c5c3/crossplane-cobaltcore/apis/cloud/v1alpha1"
)

// reduceInlineSpecs removes the fields that an OpenStackCluster sets itself from the specs of claims that it contains, and makes references
// to its storage optional. Without this, a user would have to repeat them.
func reduceInlineSpecs(crd *apiextensionsv1.CustomResourceDefinition) {
	if crd.Spec.Names.Kind != cloudv1.GroupVersionKind.Kind {
		return
	}
	for _, v := range crd.Spec.Versions {
		spec := v.Schema.OpenAPIV3Schema.Properties["spec"]
		below(spec, "controlPlane.spec", func(p *apiextensionsv1.JSONSchemaProps) { removeFields(p, "openStackRelease", "size") })
		below(spec, "hypervisorPools[].spec", func(p *apiextensionsv1.JSONSchemaProps) { removeFields(p, "controlPlaneRef") })
		for _, pool := range []string{
			"controlPlane.spec.services.glance.stores[].ceph", "controlPlane.spec.services.cinder.backends[].ceph",
			"controlPlane.spec.services.cinder.backup.ceph", "hypervisorPools[].spec.storage",
		} {
			below(spec, pool, func(p *apiextensionsv1.JSONSchemaProps) {
				p.Required = slices.DeleteFunc(p.Required, func(name string) bool { return name == "clusterRef" })
			})
		}
	}
}

// below changes the schema of a field, by its path. It panics if the field does not exist.
func below(p apiextensionsv1.JSONSchemaProps, path string, change func(*apiextensionsv1.JSONSchemaProps)) {
	name, rest, more := strings.Cut(path, ".")
	field := strings.TrimSuffix(name, "[]")
	child, ok := p.Properties[field]
	if !ok {
		panic(fmt.Sprintf("no field %s in the inline spec", path))
	}
	target := &child
	if field != name {
		target = child.Items.Schema
	}
	if more {
		below(*target, rest, change)
	} else {
		change(target)
	}
	p.Properties[field] = child
}

// removeFields removes fields from a schema, with the CEL rules that read them. The API server applies these rules to the composed claim.
func removeFields(p *apiextensionsv1.JSONSchemaProps, names ...string) {
	for _, name := range names {
		delete(p.Properties, name)
		p.Required = slices.DeleteFunc(p.Required, func(required string) bool { return required == name })
		p.XValidations = slices.DeleteFunc(p.XValidations, func(r apiextensionsv1.ValidationRule) bool {
			return strings.Contains(r.Rule, "self."+name) || strings.Contains(r.Rule, "oldSelf."+name)
		})
	}
}

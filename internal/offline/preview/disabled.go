package preview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
)

// enabledField switches a component of a claim, and offByDefault is part of its description if the component is off without it.
const (
	enabledField = "enabled"
	offByDefault = "Defaults to false."
)

// Disabled returns a sentence for each component of a claim that has settings and is not enabled: a tenant who sets replicas expects
// pods. A component with "enabled: false" was disabled on purpose. Invalid input has none, because the preview rejects it.
func Disabled(doc []byte) []string {
	claim := map[string]any{}
	if yaml.Unmarshal(doc, &claim) != nil {
		return nil
	}
	asClaim(claim)
	crd, version, err := definition.For(str(claim["apiVersion"]), str(claim["kind"]))
	if err != nil {
		return nil
	}
	for _, v := range crd.Spec.Versions {
		if v.Name == version && v.Schema != nil {
			return disabled("spec", claim["spec"], v.Schema.OpenAPIV3Schema.Properties["spec"])
		}
	}
	return nil
}

// disabled returns the sentences for a value at a path and for the values in it.
func disabled(path string, value any, schema apiextensionsv1.JSONSchemaProps) []string {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	enabled, switched := schema.Properties[enabledField]
	if _, set := fields[enabledField]; switched && !set && len(fields) > 0 && strings.Contains(enabled.Description, offByDefault) {
		return []string{fmt.Sprintf("%s has settings and is not enabled; set %s.%s to true, or to false to keep the settings for later",
			path, path, enabledField)}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		out = append(out, disabled(path+"."+name, fields[name], schema.Properties[name])...)
	}
	return out
}

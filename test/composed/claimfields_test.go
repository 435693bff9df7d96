package composed

import (
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
)

// claimField is a leaf in the schema of a claim's spec.
type claimField struct {
	// path has [] for the items of a list and {} for the values of a map, as in "services.nova.cells[].name".
	path   string
	schema apiextensionsv1.JSONSchemaProps
}

// crossplaneFields lists fields that Crossplane adds to each claim.
var crossplaneFields = []string{
	"compositeDeletePolicy", "compositionRef", "compositionRevisionRef", "compositionRevisionSelector", "compositionSelector",
	"compositionUpdatePolicy", "publishConnectionDetailsTo", "resourceRef", "writeConnectionSecretToRef",
}

// claimFields returns the fields of a kind of claim, sorted by path.
func claimFields(t *testing.T, kind string) []claimField {
	t.Helper()
	crd, version, err := definition.For("crossplane.c5c3.io/v1alpha1", kind)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version
	})
	var out []claimField
	var add func(path string, s apiextensionsv1.JSONSchemaProps)
	add = func(path string, s apiextensionsv1.JSONSchemaProps) {
		switch {
		case len(s.Properties) > 0:
			for name, p := range s.Properties {
				add(path+"."+name, p)
			}
		case s.Items != nil && s.Items.Schema != nil:
			add(path+"[]", *s.Items.Schema)
		case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
			add(path+"{}", *s.AdditionalProperties.Schema)
		default:
			out = append(out, claimField{path: path, schema: s})
		}
	}
	for name, p := range crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"].Properties {
		if !slices.Contains(crossplaneFields, name) {
			add(name, p)
		}
	}
	slices.SortFunc(out, func(a, b claimField) int { return strings.Compare(a.path, b.path) })
	return out
}

// steps returns the elements of the field's path; [] and {} are elements.
func (f claimField) steps() []string {
	return strings.Split(strings.NewReplacer("[]", ".[]", "{}", ".{}").Replace(f.path), ".")
}

// placeholder is the key of a new entry in a map, and the value of a text without constraints.
const placeholder = "cobaltcore-example"

// replaced returns a copy of a value in which change is applied to the value at a path. A missing list gets an item, a missing map a key.
func replaced(v any, path []string, change func(old any) any) any {
	if len(path) == 0 {
		return change(v)
	}
	if path[0] == "[]" {
		l := slices.Clone(list(v))
		if len(l) == 0 {
			l = []any{nil}
		}
		l[0] = replaced(l[0], path[1:], change)
		return l
	}
	m, _ := v.(map[string]any)
	if m = maps.Clone(m); m == nil {
		m = map[string]any{}
	}
	key := path[0]
	if key == "{}" {
		if key = placeholder; len(m) > 0 {
			key = slices.Sorted(maps.Keys(m))[0]
		}
	}
	m[key] = replaced(m[key], path[1:], change)
	return m
}

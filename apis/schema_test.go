package apis_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

// crds are the CRDs that an API server gets to see in the end, by kind: of claims, of composite resources, and plain ones.
func crds(t testing.TB) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	list, err := definition.All()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range list {
		all[crd.Spec.Names.Kind] = crd
	}
	return all
}

// TestAPIServerAcceptsCRDs checks that an API server accepts every CRD: structure, defaults, CEL rules and their cost.
func TestAPIServerAcceptsCRDs(t *testing.T) {
	for kind, crd := range crds(t) {
		if err := schema.CheckCRD(crd); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// largeDefinitions are the folders of definitions that client-side apply cannot install, with the reason.
var largeDefinitions = map[string]string{
	"cloud": "it contains the specs of three claims; packages and kubectl apply --server-side install it",
}

// TestClientSideApply checks that kubectl apply without --server-side, which keeps a copy in an annotation, can install every definition.
// Crossplane's package manager and server-side apply keep no copy: they are limited by etcd's requests only, of 1.5 MiB.
func TestClientSideApply(t *testing.T) {
	const (
		limit = 256 << 10 // TotalAnnotationSizeLimitB of k8s.io/apimachinery/pkg/api/validation, for all annotations of an object
		// A definition is stored, and so is a CRD that Crossplane makes of it, with the schema once for the claim and once for the composite
		// resource. A third of etcd's limit leaves room for their managed fields.
		serverSide = 512 << 10
		reserved   = 2 << 10 // Other annotations of a definition (Crossplane's package manager, Helm, Argo CD) have a few hundred bytes.
	)
	for _, folder := range apis.Folders() {
		data, err := apis.Definition(folder)
		if err != nil {
			t.Fatal(err)
		}
		for i, doc := range bytes.Split(data, []byte("\n---\n")) {
			asJSON, err := yaml.YAMLToJSON(doc)
			if err != nil {
				t.Fatal(err)
			}
			most := limit - reserved
			if _, large := largeDefinitions[folder]; large {
				most = serverSide
			}
			if len(asJSON) > most {
				t.Errorf("%s, document %d: %d bytes exceed %d; shorten descriptions and messages of rules", folder, i, len(asJSON), most)
			}
		}
	}
}

// unbounded are fields without a limit, and why.
var unbounded = map[string]string{
	"CellMapping.spec.template":  "a pod template, which the API server bounds when the Job is made",
	"DatabaseSync.spec.template": "a pod template, which the API server bounds when the Job is made",
	"OVNSync.spec.template":      "a pod template, which the API server bounds when the Job is made",
}

// TestEveryFieldIsDescribedAndBounded checks every schema. Each field requires a description and a limit: without a limit, CEL rules are
// too expensive or an object too large.
func TestEveryFieldIsDescribedAndBounded(t *testing.T) {
	used := map[string]bool{}
	for kind, crd := range crds(t) {
		for _, v := range crd.Spec.Versions {
			for _, part := range []string{"spec", "status"} {
				p, ok := v.Schema.OpenAPIV3Schema.Properties[part]
				if !ok {
					continue
				}
				if p.Description == "" {
					t.Errorf("%s.%s: no description", kind, part)
				}
				walk(kind+"."+part, p, func(path string, p apiextensionsv1.JSONSchemaProps, named bool) bool {
					if managed := !crossplanes(path); !managed || strings.HasSuffix(path, ".status.conditions") {
						return false
					}
					if named && p.Description == "" {
						t.Errorf("%s: no description", path)
					}
					if named && (p.Title != "") != (part == "spec") { // forms have the fields below spec only
						t.Errorf("%s: title %q", path, p.Title)
					}
					if _, ok := unbounded[path]; ok {
						used[path] = true
						return false
					}
					if lack := lacks(p); lack != "" {
						t.Errorf("%s: no %s", path, lack)
					}
					return true
				})
			}
		}
	}
	for path := range unbounded {
		if !used[path] {
			t.Errorf("%s is in the list of exceptions and is not there any more", path)
		}
	}
}

// TestExamplesAreValid checks that the example of every field, which forms show, is valid, and that Crossplane keeps it in the generated
// CRDs.
func TestExamplesAreValid(t *testing.T) {
	tried := map[string]bool{}
	for kind, crd := range crds(t) {
		walk(kind, *crd.Spec.Versions[0].Schema.OpenAPIV3Schema, func(path string, p apiextensionsv1.JSONSchemaProps, _ bool) bool {
			if p.Example == nil {
				return true
			}
			asJSON, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if tried[string(asJSON)] {
				return true
			}
			tried[string(asJSON)] = true
			for what, value := range map[string]any{"example": parse(t, `{value: `+string(p.Example.Raw)+`}`)["value"], "nonsense": map[string]any{"a": []any{}}} {
				errs := validatorOf(t, crd, p).Validate(map[string]any{
					"apiVersion": crd.Spec.Group + "/" + crd.Spec.Versions[0].Name, "kind": crd.Spec.Names.Kind,
					"metadata": map[string]any{"name": "example", "namespace": "tenant"}, "spec": map[string]any{"value": value},
				})
				if accepted := len(errs) == 0; accepted != (what == "example") {
					t.Errorf("%s: %s %v is accepted: %v %v", path, what, value, accepted, errs)
				}
			}
			return true
		})
	}
	if len(tried) < 40 {
		t.Errorf("there are %d different examples", len(tried))
	}
}

// validatorOf checks the field spec.value alone, which has a schema.
func validatorOf(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, p apiextensionsv1.JSONSchemaProps) *schema.Validator {
	t.Helper()
	c := crd.DeepCopy()
	c.Spec.Scope = apiextensionsv1.NamespaceScoped
	c.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"value": p}},
	}}
	v, err := schema.New(c, c.Spec.Versions[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// crossplanes reports whether Crossplane adds a field to claims and composite resources.
func crossplanes(path string) bool {
	parts := strings.Split(path, ".")
	if len(parts) < 3 {
		return false
	}
	switch parts[2] {
	case "crossplane", "compositionRef", "compositionSelector", "compositionRevisionRef", "compositionRevisionSelector",
		"compositionUpdatePolicy", "compositeDeletePolicy", "resourceRef", "resourceRefs", "claimRef",
		"writeConnectionSecretToRef", "connectionDetails", "claimConditionTypes":
		return true
	}
	return false
}

// lacks names the limit that a schema should have and has not.
func lacks(p apiextensionsv1.JSONSchemaProps) string {
	switch {
	case p.Type == "string" || p.XIntOrString:
		if p.MaxLength == nil && len(p.Enum) == 0 && p.Format != "date-time" {
			return "maxLength or enum"
		}
	case p.Type == "array":
		if p.MaxItems == nil {
			return "maxItems"
		}
		if p.XListType == nil {
			return "list type: two writers would overwrite each other's items"
		}
	case p.Type == "object" && p.AdditionalProperties != nil:
		if p.MaxProperties == nil {
			return "maxProperties"
		}
	case p.Type == "object" && len(p.Properties) == 0:
		return "properties: anything is accepted"
	}
	return ""
}

// walk visits every schema below one, depth first and sorted, until visit returns false. Properties are named; items of lists and values
// of maps are not.
func walk(path string, p apiextensionsv1.JSONSchemaProps, visit func(path string, p apiextensionsv1.JSONSchemaProps, named bool) bool) {
	for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
		child := p.Properties[name]
		if visit(path+"."+name, child, true) {
			walk(path+"."+name, child, visit)
		}
	}
	if p.Items != nil && visit(path+"[]", *p.Items.Schema, false) {
		walk(path+"[]", *p.Items.Schema, visit)
	}
	if p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil && visit(path+".*", *p.AdditionalProperties.Schema, false) {
		walk(path+".*", *p.AdditionalProperties.Schema, visit)
	}
}

// TestSameForClaimAndComposite holds that Crossplane loses nothing of our schema on the way into either CRD.
func TestSameForClaimAndComposite(t *testing.T) {
	all := crds(t)
	for _, k := range kindregistry.WithForm(kindregistry.Claimed) {
		kind := k.Kind
		claim, composite := schemaOf(t, all[kind]), schemaOf(t, all[k.Composite().Kind])
		if claim != composite {
			t.Errorf("%s: the schemas of claim and composite resource differ", kind)
		}
		if !strings.Contains(claim, "x-kubernetes-validations") {
			t.Errorf("%s: no CEL rules are left", kind)
		}
	}
}

// schemaOf is the part of a CRD's schema that comes from us, as JSON.
func schemaOf(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) string {
	t.Helper()
	s := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.DeepCopy()
	delete(s.Properties, "metadata")
	for _, part := range []string{"spec", "status"} {
		p := s.Properties[part]
		maps.DeleteFunc(p.Properties, func(name string, _ apiextensionsv1.JSONSchemaProps) bool {
			return crossplanes(fmt.Sprintf("%s.%s.%s", crd.Spec.Names.Kind, part, name))
		})
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

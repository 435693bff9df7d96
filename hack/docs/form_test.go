package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestForm checks that fields have the order of the source, including embedded ones, in the properties and in the list. Other keywords are
// converted to JSON Schema.
func TestForm(t *testing.T) {
	type inner struct {
		Z string `json:"z"`
		A string `json:"a,omitempty"`
	}
	type spec struct {
		Size           *string `json:"size"`
		inner          `json:",inline"`
		List           []inner          `json:"list,omitempty"`
		Map            map[string]inner `json:"map,omitempty"`
		NotImplemented string           `json:"later,omitempty"` // It is not built yet: the schema does not have it.
	}
	text := props{Type: "string"}
	object := props{Type: "object", Properties: map[string]props{"a": text, "z": text}}
	p := props{
		Type: "object", Required: []string{"size"}, Default: &apiextensionsv1.JSON{Raw: []byte("{}")},
		Properties: map[string]props{
			"a": {Type: "integer", Minimum: new(0.0), Default: &apiextensionsv1.JSON{Raw: []byte("0")}}, "z": text,
			"size": {
				Title: "Size", Description: "How\nlarge: <a>.", XIntOrString: true, Pattern: "^[0-9]+$", MaxLength: new(int64(20)),
				AnyOf: []props{{Type: "integer"}, text}, Example: &apiextensionsv1.JSON{Raw: []byte(`"1Gi"`)},
			},
			"list": {Type: "array", XListType: new("set"), Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &object}},
			"map":  {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &object}},
		},
	}
	got, err := marshalJSON(node(p, reflect.TypeFor[*spec]()))
	if err != nil {
		t.Fatal(err)
	}
	const below = `{"type":"object","additionalProperties":false,"properties":{"z":{"type":"string"},"a":{"type":"string"}},"ui:order":["z","a"]}`
	want := `{"type":"object","required":["size"],"additionalProperties":false,"properties":{` +
		`"size":{"title":"Size","description":"How large: <a>.","type":["string","integer"],"examples":["1Gi"],"maxLength":20},` +
		`"z":{"type":"string"},"a":{"type":"integer","default":0,"minimum":0},` +
		`"list":{"type":"array","uniqueItems":true,"items":` + below + `},"map":{"type":"object","additionalProperties":` + below + `}},` +
		`"ui:order":["size","z","a","list","map"]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestForms checks that each claim has a form with the first field first, and without a choice of types.
func TestForms(t *testing.T) {
	first := map[string]string{"ControlPlaneCluster": "openStackRelease", "HypervisorCluster": "controlPlaneRef", "KeystoneService": "controlPlaneRef", "StorageCluster": "", "OpenStackCluster": "openStackRelease"}
	for _, k := range everyKind(t) {
		spec, claimed := claimTypes[k.name]
		if claimed != (k.createdBy == "a tenant") {
			t.Errorf("%s is made by %s, and has a form: %v", k.name, k.createdBy, claimed)
		}
		if !claimed {
			continue
		}
		data, err := form(k, spec)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Properties struct {
				Spec struct {
					Order []string `json:"ui:order"`
				} `json:"spec"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		order := got.Properties.Spec.Order
		if want := first[k.name]; want != "" && order[0] != want || len(order) != len(k.schema.Properties["spec"].Properties) {
			t.Errorf("%s: the order is %v, want %s first", k.name, order, want)
		}
		if strings.Contains(string(data), "anyOf") {
			t.Errorf("%s: a choice of types is left", k.name)
		}
	}
}

// TestPatternsHaveMessages checks that a form has a readable message for each pattern, and no other messages.
func TestPatternsHaveMessages(t *testing.T) {
	unused := maps.Clone(formats)
	for _, k := range everyKind(t) {
		spec, claimed := claimTypes[k.name]
		if !claimed {
			continue
		}
		schema, _ := claimForm{kind: k}.root(spec)
		data, err := schema.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var root any
		if err := json.Unmarshal(data, &root); err != nil {
			t.Fatal(err)
		}
		missing := map[string]bool{}
		walkPatterns(root, func(pattern string, hasMessage bool) {
			delete(unused, pattern)
			if !hasMessage {
				missing[pattern] = true
			}
		})
		for pattern := range missing {
			t.Errorf("%s: the pattern %s has no message; add it to formats", k.name, pattern)
		}
	}
	for pattern := range unused {
		t.Errorf("no field has the pattern %s; remove it from formats", pattern)
	}
}

// walkPatterns calls f for each pattern of a schema.
func walkPatterns(node any, f func(pattern string, hasMessage bool)) {
	switch v := node.(type) {
	case map[string]any:
		if pattern, ok := v["pattern"].(string); ok && v["type"] != nil {
			f(pattern, v["errorMessage"] != nil)
		}
		for _, below := range v {
			walkPatterns(below, f)
		}
	case []any:
		for _, below := range v {
			walkPatterns(below, f)
		}
	}
}

package schema

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// ruledSchema has rules at the root, in lists, in maps, in equal schemas, in an allOf, on changes, and one that does not compile.
const ruledSchema = `
type: object
x-kubernetes-validations:
- {rule: "has(self.spec)", message: "spec is required"}
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object}
  spec:
    type: object
    properties:
      a: &size
        type: object
        description: the first
        properties: {min: {type: integer}, max: {type: integer}}
        x-kubernetes-validations:
        - {rule: "!has(self.min) || !has(self.max) || self.min <= self.max", message: "min exceeds max"}
      b:
        type: object
        description: the second, with the same rule
        properties: {min: {type: integer}, max: {type: integer}}
        x-kubernetes-validations:
        - {rule: "!has(self.min) || !has(self.max) || self.min <= self.max", message: "min exceeds max"}
      c:
        type: object
        description: the same rule of another type
        properties: {min: {type: number}, max: {type: number}}
        x-kubernetes-validations:
        - {rule: "!has(self.min) || !has(self.max) || self.min <= self.max", message: "min exceeds max"}
      list:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name]
          properties:
            name: {type: string}
            kept: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf", message: "is immutable"}]}
      map:
        type: object
        additionalProperties: {type: string, x-kubernetes-validations: [{rule: "self != 'no'", message: "must not be no"}]}
      "with-dash":
        type: object
        properties: {x: {type: string, x-kubernetes-validations: [{rule: "self.size() < 3", message: "is too long"}]}}
      all:
        type: object
        properties: {n: {type: integer}}
        allOf:
        - properties: {n: {x-kubernetes-validations: [{rule: "self < 5", message: "is too large"}]}}
      broken: {type: string, x-kubernetes-validations: [{rule: "self.nonsense()"}]}
`

// TestRulesLikeAPIServer checks that rules which are compiled on demand have the errors of a validator of all rules.
func TestRulesLikeAPIServer(t *testing.T) {
	external := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.Unmarshal([]byte(ruledSchema), external); err != nil {
		t.Fatal(err)
	}
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(external, props, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(props)
	if err != nil {
		t.Fatal(err)
	}
	lazy, all := newRules(structural), cel.NewValidator(structural, true, celconfig.PerCallLimit)
	cases := map[string]struct {
		reason   string
		old, new string
		errors   int
	}{
		"Empty":        {"the rule of the root applies", ``, `{}`, 1},
		"Valid":        {"no rule is violated", ``, `{spec: {a: {min: 1, max: 2}, b: {}, list: [{name: x}], map: {k: v}}}`, 0},
		"SharedRules":  {"equal schemas have their own paths", ``, `{spec: {a: {min: 2, max: 1}, b: {min: 2, max: 1}, c: {min: 2.5, max: 1.5}}}`, 3},
		"Map":          {"each value is checked", ``, `{spec: {map: {a: "no", b: "yes", c: "no"}}}`, 2},
		"Dash":         {"a field whose name CEL escapes is checked", ``, `{spec: {with-dash: {x: long}}}`, 1},
		"AllOf":        {"rules in an allOf are checked", ``, `{spec: {all: {n: 7}}}`, 1},
		"NotCompiled":  {"a rule that does not compile is an error of a value only", ``, `{spec: {broken: x}}`, 1},
		"Created":      {"a rule on changes does not apply to a new item", `{spec: {list: [{name: x, kept: a}]}}`, `{spec: {list: [{name: x, kept: a}, {name: y, kept: b}]}}`, 0},
		"Changed":      {"items are compared by their keys", `{spec: {list: [{name: x, kept: a}, {name: y, kept: b}]}}`, `{spec: {list: [{name: y, kept: c}, {name: x, kept: a}]}}`, 1},
		"NullAndEmpty": {"values without content have no rules", ``, `{spec: {a: null, list: [], map: {}}}`, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object, old := object(t, tc.new), object(t, tc.old)
			validate := func(v *cel.Validator) field.ErrorList {
				errs, _ := v.Validate(context.Background(), nil, structural, object, old, celconfig.RuntimeCELCostBudget)
				return sortErrors(errs)
			}
			want, got := validate(all), validate(lazy.validator(object))
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: -all rules, +rules on demand:\n%s", tc.reason, diff)
			}
			if len(got) != tc.errors {
				t.Errorf("%s: %d errors, want %d: %v", tc.reason, len(got), tc.errors, got)
			}
		})
	}
	if a, b := lazy.properties["spec"].properties["a"].own(), lazy.properties["spec"].properties["b"].own(); a != b {
		t.Error("equal schemas do not share their compiled rules")
	}
	if a, c := lazy.properties["spec"].properties["a"].own(), lazy.properties["spec"].properties["c"].own(); a == c {
		t.Error("schemas of different types share their compiled rules")
	}
}

// object returns an object in the form of an API server; nil without text.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	out, err := Normalize(out)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

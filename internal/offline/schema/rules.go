package schema

import (
	"maps"
	"reflect"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apicel "k8s.io/apiserver/pkg/cel"
)

// rules are the CEL rules of a schema and of the schemas below it. A rule is compiled when an object first has a value to which it applies,
// and equal schemas share their compiled rules: to compile all rules of a control plane takes longer than all other checks together. An API
// server evaluates no other rules either, so the errors are the same.
type rules struct {
	schema *schema.Structural
	// own returns the rules of this schema, without those below it. Nil: it has none.
	own func() *cel.Validator
	// properties, items and additional are the schemas below it that have rules.
	properties        map[string]*rules
	items, additional *rules
}

// newRules returns the rules of a schema, or nil without any.
func newRules(s *schema.Structural) *rules {
	return rulesOf(s, withoutRules(s), true, model.SchemaDeclType(s, true))
}

// rulesOf returns the rules of one schema. bare is the schema without rules. It visits the same schemas as cel.NewValidator: a field whose
// type CEL cannot declare has no rules.
func rulesOf(s, bare *schema.Structural, isRoot bool, declared *apicel.DeclType) *rules {
	out := &rules{schema: s}
	if hasNestedRules(s) {
		out.own = sync.OnceValue(func() *cel.Validator { return compileWhole(s, isRoot) })
		return out
	}
	if len(s.XValidations) > 0 {
		node := *bare
		node.XValidations = s.XValidations
		out.own = sync.OnceValue(func() *cel.Validator { return compile(&node, isRoot) })
	}
	var element *apicel.DeclType
	if declared != nil {
		element = declared.ElemType
	}
	if s.Items != nil {
		out.items = rulesOf(s.Items, bare.Items, s.Items.XEmbeddedResource, element)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		value := s.AdditionalProperties.Structural
		out.additional = rulesOf(value, bare.AdditionalProperties.Structural, value.XEmbeddedResource, element)
	}
	for name, property := range s.Properties {
		declaredProperty, ok := fieldType(name, &property, declared)
		if !ok {
			continue
		}
		bareProperty := bare.Properties[name]
		if p := rulesOf(&property, &bareProperty, property.XEmbeddedResource, declaredProperty); p != nil {
			if out.properties == nil {
				out.properties = map[string]*rules{}
			}
			out.properties[name] = p
		}
	}
	if out.own == nil && out.items == nil && out.additional == nil && out.properties == nil {
		return nil
	}
	return out
}

// fieldType returns the declared type of a field, and false if it has none.
func fieldType(name string, property *schema.Structural, declared *apicel.DeclType) (*apicel.DeclType, bool) {
	escaped, ok := apicel.Escape(name)
	if !ok {
		t := model.SchemaDeclType(property, property.XEmbeddedResource)
		return t, t != nil
	}
	if declared == nil {
		return nil, false
	}
	field, ok := declared.Fields[escaped]
	if !ok {
		return nil, false
	}
	return field.Type, true
}

// hasNestedRules reports whether the allOf of a schema has rules.
func hasNestedRules(s *schema.Structural) bool {
	if s.ValueValidation == nil {
		return false
	}
	for i := range s.ValueValidation.AllOf {
		if nestedHasRules(&s.ValueValidation.AllOf[i]) {
			return true
		}
	}
	return false
}

func nestedHasRules(n *schema.NestedValueValidation) bool {
	if n == nil {
		return false
	}
	if len(n.XValidations) > 0 || nestedHasRules(n.Items) || nestedHasRules(n.AdditionalProperties) {
		return true
	}
	for _, p := range n.Properties {
		if nestedHasRules(&p) {
			return true
		}
	}
	return false
}

// withoutRules returns a copy of a schema without rules, and without texts and defaults, which have no effect on rules.
func withoutRules(s *schema.Structural) *schema.Structural {
	if s == nil {
		return nil
	}
	out := *s
	out.XValidations = nil
	out.Description, out.Title, out.Default, out.Example, out.ExternalDocs = "", "", schema.JSON{}, schema.JSON{}, nil
	out.Items = withoutRules(s.Items)
	if s.AdditionalProperties != nil {
		out.AdditionalProperties = &schema.StructuralOrBool{
			Structural: withoutRules(s.AdditionalProperties.Structural), Bool: s.AdditionalProperties.Bool,
		}
	}
	if s.Properties != nil {
		out.Properties = make(map[string]schema.Structural, len(s.Properties))
		for name, p := range s.Properties {
			out.Properties[name] = *withoutRules(&p)
		}
	}
	return &out
}

// compileWhole returns all rules of a schema and of the schemas below it. cel.NewValidator finds rules in an allOf only below a schema with
// rules.
func compileWhole(s *schema.Structural, isRoot bool) *cel.Validator {
	if isRoot {
		if out := cel.NewValidator(s, isRoot, celconfig.PerCallLimit); out != nil {
			return out
		}
		return &cel.Validator{}
	}
	const field = "field"
	parent := &schema.Structural{Properties: map[string]schema.Structural{field: *s}}
	parent.Type, parent.XValidations = "object", apiextensionsv1.ValidationRules{{Rule: "true"}}
	out := cel.NewValidator(parent, false, celconfig.PerCallLimit).Properties[field]
	return &out
}

// compiledRules are the rules of a schema, which is compiled on first use.
type compiledRules struct {
	schema  *schema.Structural
	isRoot  bool
	compile func() *cel.Validator
}

// compiled contains the compiled rules by the text of the rules.
var compiled = struct {
	sync.Mutex
	by map[string][]compiledRules
}{by: map[string][]compiledRules{}}

// compile returns the rules of a schema whose descendants have none.
func compile(s *schema.Structural, isRoot bool) *cel.Validator {
	var text strings.Builder
	for _, r := range s.XValidations {
		text.WriteString(r.Rule + "\n" + r.Message + "\n")
	}
	return shared(text.String(), s, isRoot).compile()
}

// shared returns the entry of a schema, which is a new one if no schema is equal.
func shared(text string, s *schema.Structural, isRoot bool) compiledRules {
	compiled.Lock()
	defer compiled.Unlock()
	for _, c := range compiled.by[text] {
		if c.isRoot == isRoot && reflect.DeepEqual(c.schema, s) {
			return c
		}
	}
	c := compiledRules{s, isRoot, sync.OnceValue(func() *cel.Validator { return cel.NewValidator(s, isRoot, celconfig.PerCallLimit) })}
	compiled.by[text] = append(compiled.by[text], c)
	return c
}

// validator returns a validator with the rules that apply to values of the schema, and to the values in them.
func (r *rules) validator(values ...any) *cel.Validator {
	if r == nil {
		return nil
	}
	out := cel.Validator{}
	if r.own != nil {
		out = *r.own()
		out.Properties = maps.Clone(out.Properties) // Other values have the same rules, and are checked at the same time.
	}
	out.Schema = r.schema
	items, fields := content(values)
	if r.items != nil && items != nil {
		out.Items = r.items.validator(items...)
	}
	var additional []any
	for name, list := range fields {
		additional = append(additional, list...)
		if r.properties[name] == nil {
			continue
		}
		if out.Properties == nil {
			out.Properties = map[string]cel.Validator{}
		}
		out.Properties[name] = *r.properties[name].validator(list...)
	}
	if r.additional != nil && additional != nil {
		out.AdditionalProperties = r.additional.validator(additional...)
	}
	return &out
}

// content returns the items of all lists, and the values of all objects by field.
func content(values []any) (items []any, fields map[string][]any) {
	fields = map[string][]any{}
	for _, value := range values {
		switch v := value.(type) {
		case []any:
			items = append(items, v...)
		case map[string]any:
			for name, e := range v {
				fields[name] = append(fields[name], e)
			}
		}
	}
	return items, fields
}

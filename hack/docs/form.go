package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

// claimTypes are the Go types of the specs for which portals generate forms, by claim. The order of their fields is the order in the form,
// because the schema of a CustomResourceDefinition has no order.
var claimTypes = func() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, k := range kindregistry.WithForm(kindregistry.Claimed) {
		spec, _ := k.Type.FieldByName("Spec")
		out[k.Kind] = spec.Type
	}
	return out
}()

// form returns a JSON Schema of a claim, for portals and editors. It accepts everything that the schema of the definition accepts, and does
// not have its CEL rules, which JSON Schema cannot express.
func form(k kind, spec reflect.Type) ([]byte, error) {
	root := ordered{
		{"$schema", "http://json-schema.org/draft-07/schema#"},
		{"title", k.name},
		{"description", oneLine(k.schema.Description)},
		{"type", "object"},
		{"required", []string{"apiVersion", "kind", "metadata", "spec"}},
		{"properties", ordered{
			{"apiVersion", apiVersions(k)},
			{"kind", ordered{{"const", k.name}}},
			{"metadata", ordered{
				{"type", "object"},
				{"required", []string{"name"}},
				{"properties", ordered{{"namespace", ordered{{"type", "string"}}}, {"name", ordered{{"type", "string"}}}}},
			}},
			{"spec", append(node(k.schema.Properties["spec"], spec), entry{"patternProperties", ordered{{crossplaneFields(), true}}})},
		}},
	}
	compact, err := root.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// apiVersions returns the values of a kind's apiVersion: a claim has a namespaced form with the same fields.
func apiVersions(k kind) ordered {
	for _, claim := range kindregistry.WithForm(kindregistry.Claimed) {
		if claim.Kind == k.name {
			return ordered{{"enum", []string{k.apiVersion, common.NamespacedOf(claim.GroupVersionKind).GroupVersion().String()}}}
		}
	}
	return ordered{{"const", k.apiVersion}}
}

// crossplaneFields returns a pattern for the fields that Crossplane adds to the spec of a claim. A form does not show them, and an editor
// accepts them in claims of a cluster.
func crossplaneFields() string {
	return "^(" + strings.Join(slices.Sorted(maps.Keys(xcrd.CompositeResourceClaimSpecProps(nil))), "|") + ")$"
}

// node returns the JSON Schema of a field. Its Go type determines the order of the fields below it.
func node(p props, typ reflect.Type) ordered {
	var out ordered
	add := func(key string, value any) {
		if !reflect.ValueOf(value).IsZero() {
			out = append(out, entry{key, value})
		}
	}
	add("title", p.Title)
	add("description", oneLine(p.Description))
	if p.XIntOrString {
		// Editors accept a number and a string, and a form shows the first type: a string is always valid. As anyOf, a form would show a
		// choice of two fields.
		p.Type, p.Pattern = "", ""
		add("type", []string{"string", "integer"})
	}
	add("type", p.Type)
	if p.Default != nil && p.Type != "object" { // A form that fills in an empty object would set optional fields.
		add("default", json.RawMessage(p.Default.Raw))
	}
	if p.Example != nil {
		add("examples", []json.RawMessage{p.Example.Raw})
	}
	add("enum", p.Enum)
	add("pattern", p.Pattern)
	add("minLength", p.MinLength)
	add("maxLength", p.MaxLength)
	add("minimum", p.Minimum)
	add("maximum", p.Maximum)
	add("minItems", p.MinItems)
	add("maxItems", p.MaxItems)
	add("uniqueItems", p.XListType != nil && *p.XListType == "set")
	add("minProperties", p.MinProperties)
	add("maxProperties", p.MaxProperties)
	switch inner, ok := member(p); {
	case ok && p.Items != nil:
		add("items", node(inner, elem(typ)))
	case ok:
		add("additionalProperties", node(inner, elem(typ)))
	case len(p.Properties) > 0:
		add("required", withoutDefaults(p))
		out = append(out, fieldsOf(p, typ)...)
	}
	return out
}

// withoutDefaults returns the required fields that have no default: the API server sets defaults before it checks required fields.
func withoutDefaults(p props) []string {
	var out []string
	for _, name := range p.Required {
		if p.Properties[name].Default == nil {
			out = append(out, name)
		}
	}
	return out
}

// fieldsOf are the properties of an object, in order, and that order again for portals that lose it on the way.
func fieldsOf(p props, typ reflect.Type) ordered {
	var (
		order []string
		below ordered
	)
	for _, f := range goFields(typ) {
		child, ok := p.Properties[f.name]
		if !ok {
			continue // not built yet
		}
		order, below = append(order, f.name), append(below, entry{f.name, node(child, f.typ)})
	}
	if len(order) != len(p.Properties) {
		panic(fmt.Sprintf("%s has other fields than its schema: %v, %v", typ, order, slices.Sorted(maps.Keys(p.Properties))))
	}
	out := ordered{{"additionalProperties", false}, {"properties", below}}
	if len(order) > 1 {
		out = append(out, entry{"ui:order", order})
	}
	return out
}

// goField is a field as JSON has it.
type goField struct {
	name string
	typ  reflect.Type
}

// goFields returns the fields of a struct in the order of the source, with the fields of embedded structs at the position of the struct.
func goFields(typ reflect.Type) []goField {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	var out []goField
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			out = append(out, goFields(f.Type)...)
			continue
		}
		out = append(out, goField{name, f.Type})
	}
	return out
}

// elem is the type of a list's items or a map's values.
func elem(typ reflect.Type) reflect.Type {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return typ.Elem()
}

// ordered is a JSON object whose keys keep their order.
type ordered []entry

type entry struct {
	key   string
	value any
}

// MarshalJSON writes the keys in their order.
func (o ordered) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, e := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		key, err := marshalJSON(e.key)
		if err != nil {
			return nil, err
		}
		value, err := marshalJSON(e.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.key, err)
		}
		out.Write(slices.Concat(key, []byte{':'}, value))
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// marshalJSON returns a value as JSON, without escaping <, > and &.
func marshalJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	w := json.NewEncoder(&out)
	w.SetEscapeHTML(false)
	if err := w.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// claimForm builds the form of a claim for react-jsonschema-form (rjsf). In contrast to the schema for editors, it has no default values of
// optional fields: rjsf would fill them in below optional objects, whose required fields would then be missing. The form shows a default as
// the placeholder of the input.
type claimForm struct {
	kind kind
	// basic omits the expert fields.
	basic bool
	// inline adds the uiSchema to the schema, in the form of a Backstage template.
	inline bool
}

// claimForms writes the forms of all claimed kinds.
func claimForms(root string) error {
	for _, folder := range apis.Folders() {
		kinds, err := kindsOf(folder)
		if err != nil {
			return err
		}
		for _, k := range kinds {
			if err := writeClaimForm(root, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeClaimForm writes the forms of a claimed kind: docs/reference/form/<kind>.json for portals, with all fields, and
// examples/portal/backstage/<kind>.json for Backstage, with the basic fields, and its template.
func writeClaimForm(root string, k kind) error {
	spec, ok := claimTypes[k.name]
	if !ok {
		return nil
	}
	schema, ui := claimForm{kind: k}.root(spec)
	template, _ := claimForm{kind: k, basic: true, inline: true}.root(spec)
	for folder, form := range map[string]ordered{
		"docs/reference/form":       {{"schema", schema}, {"uiSchema", ui}},
		"examples/portal/backstage": template,
	} {
		compact, err := form.MarshalJSON()
		if err != nil {
			return fmt.Errorf("cannot write the form of %s: %w", k.name, err)
		}
		var out bytes.Buffer
		if err := json.Indent(&out, compact, "", " "); err != nil {
			return err
		}
		out.WriteByte('\n')
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return err
		}
		if err := write(filepath.Join(root, folder, strings.ToLower(k.name)+".json"), out.Bytes()); err != nil {
			return err
		}
	}
	return writeTemplate(root, k)
}

// root returns the schema and the uiSchema of a claim. The data of the form is the claim.
func (f claimForm) root(spec reflect.Type) (schema, ui ordered) {
	hidden := ordered{{"ui:widget", "hidden"}}
	text := ordered{{"type", "string"}}
	labels := ordered{{"type", "object"}, {"additionalProperties", text}}
	name := props{
		Type: "string", Title: "Name", Description: "Name of the claim.", Pattern: `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, MaxLength: new(int64(63)),
	}
	namespace := name
	namespace.Title, namespace.Description = "Namespace", "Namespace of the tenant."
	nameSchema, nameUI := f.value(name, "", true)
	namespaceSchema, namespaceUI := f.value(namespace, "", true)
	namespaceSchema = append(namespaceSchema, entry{"default", "default"}) // Portals replace it with the namespace of the tenant.
	metadata := ordered{{"namespace", namespaceSchema}, {"name", nameSchema}}
	if !f.basic {
		metadata = append(metadata,
			entry{"labels", append(ordered{{"title", "Labels"}}, labels...)},
			entry{"annotations", append(ordered{{"title", "Annotations"}}, labels...)})
	}
	fixed := func(value string) ordered {
		out := ordered{{"type", "string"}, {"const", value}, {"default", value}}
		if f.inline {
			out = append(out, hidden...)
		}
		return out
	}
	specSchema, specUI := f.node(f.kind.schema.Properties["spec"], spec, "", true)
	description, _, _ := strings.Cut(oneLine(f.kind.schema.Description), " The type describes") // Users of a portal know claims only.
	unlabeled := entry{"ui:label", false}
	schema = ordered{
		{"title", f.kind.name}, {"description", description}, {"type", "object"},
		{"required", []string{"apiVersion", "kind", "metadata", "spec"}},
		{"properties", ordered{
			{"apiVersion", fixed(f.kind.apiVersion)},
			{"kind", fixed(f.kind.name)},
			{"metadata", ordered{{"title", "Metadata"}, {"type", "object"}, {"required", []string{"namespace", "name"}}, {"properties", metadata}}},
			{"spec", append(ordered{{"title", "Spec"}}, specSchema...)},
		}},
	}
	if !f.inline {
		schema = append(ordered{{"$schema", "http://json-schema.org/draft-07/schema#"}}, schema...)
	}
	expert := ordered{{"ui:classNames", "expert"}, alwaysShown}
	ui = ordered{
		{"ui:globalOptions", ordered{{"enableOptionalDataFieldForType", []string{"object"}}}},
		{"apiVersion", hidden}, {"kind", hidden},
		{"metadata", ordered{unlabeled, {"namespace", namespaceUI}, {"name", nameUI}, {"labels", expert}, {"annotations", expert}}},
		{"spec", append(ordered{unlabeled}, specUI...)},
	}
	return schema, ui
}

// alwaysShown shows an optional object without a button that adds it.
var alwaysShown = entry{"ui:enableOptionalDataFieldForType", []string{}}

// node returns the schema and the uiSchema of a field at a path of the spec.
func (f claimForm) node(p props, typ reflect.Type, path string, required bool) (schema, ui ordered) {
	schema, ui = f.value(p, path, required)
	switch inner, ok := member(p); {
	case ok && p.Items != nil:
		below, belowUI := f.node(inner, elem(typ), path, true)
		schema, ui = append(schema, entry{"items", below}), append(ui, entry{"items", belowUI})
	case ok:
		below, belowUI := f.node(inner, elem(typ), path, true)
		schema, ui = append(schema, entry{"additionalProperties", below}), append(ui, entry{"additionalProperties", belowUI}, alwaysShown)
	case len(p.Properties) > 0:
		fields, fieldsUI := f.fields(p, typ, path, required)
		schema, ui = append(schema, fields...), append(ui, fieldsUI...)
	}
	return schema, ui
}

// value returns the schema and the uiSchema of a field, without the fields below it.
func (f claimForm) value(p props, path string, required bool) (schema, ui ordered) {
	add := func(key string, value any) {
		if !reflect.ValueOf(value).IsZero() {
			schema = append(schema, entry{key, value})
		}
	}
	add("title", p.Title)
	add("description", oneLine(p.Description))
	if p.XIntOrString {
		p.Type = ""
		add("type", []string{"string", "integer"})
	}
	limitNumbers(&p)
	add("type", p.Type)
	if preset, ok := presets[f.kind.name+":"+path]; ok {
		add("default", preset)
	}
	add("enum", p.Enum)
	add("pattern", p.Pattern)
	if message, ok := formats[p.Pattern]; ok {
		add("errorMessage", ordered{{"pattern", message}})
	}
	add("minLength", p.MinLength)
	add("maxLength", p.MaxLength)
	add("minimum", p.Minimum)
	add("maximum", p.Maximum)
	if !f.inline { // By default, rjsf adds this number of empty items to optional lists.
		add("minItems", p.MinItems)
	}
	add("maxItems", p.MaxItems)
	add("uniqueItems", p.XListType != nil && *p.XListType == "set")
	add("minProperties", p.MinProperties)
	add("maxProperties", p.MaxProperties)
	if path != "" && !f.isBasic(path) {
		ui = append(ui, entry{"ui:classNames", "expert"})
	}
	if p.Type == "boolean" && !required {
		ui = append(ui, entry{"ui:widget", "select"}) // A checkbox has no state for a field that is not set.
	}
	if hint := placeholder(p); hint != "" {
		ui = append(ui, entry{"ui:placeholder", hint})
	}
	if f.inline {
		schema = append(schema, ui...)
	}
	return schema, ui
}

// placeholder returns the default of a field, or an example, for the empty input.
func placeholder(p props) string {
	if p.Type == "object" || p.Type == "array" {
		return ""
	}
	for _, hint := range []struct {
		label string
		value *[]byte
	}{{"Default: ", rawDefault(p)}, {"Example: ", rawExample(p)}} {
		if hint.value != nil {
			return hint.label + strings.Trim(string(*hint.value), `"`)
		}
	}
	return ""
}

func rawDefault(p props) *[]byte {
	if p.Default == nil {
		return nil
	}
	return &p.Default.Raw
}

func rawExample(p props) *[]byte {
	if p.Example == nil {
		return nil
	}
	return &p.Example.Raw
}

// fields returns the parts of a schema and a uiSchema for the fields of an object: the properties, and the choices between them.
func (f claimForm) fields(p props, typ reflect.Type, path string, required bool) (schema, ui ordered) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	var (
		names      []string
		properties = map[string]ordered{}
		inputs     = map[string]ordered{}
		mandatory  = withoutDefaults(p)
	)
	for _, field := range goFields(typ) {
		child, ok := p.Properties[field.name]
		if !ok {
			continue // not built yet
		}
		at := strings.TrimPrefix(path+"."+field.name, ".")
		if f.basic && !f.isBasic(at) {
			continue
		}
		below, belowUI := f.node(child, field.typ, at, slices.Contains(mandatory, field.name))
		names = append(names, field.name)
		properties[field.name], inputs[field.name] = below, belowUI
	}
	c := choices[typ]
	common := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return c.by == "" && slices.Contains(c.fields(), name) })
	order := entry{"ui:order", append(slices.Clone(names), "*")}
	ui = append(pick(inputs, common), order)
	var visible ordered
	if !slices.ContainsFunc(common, func(name string) bool { return p.Properties[name].Type != "object" }) {
		visible = ordered{alwaysShown} // rjsf cannot add an object without values.
	}
	ui = append(ui, visible...)
	mandatory = slices.DeleteFunc(mandatory, func(name string) bool { return !slices.Contains(common, name) })
	switch {
	case len(mandatory) > 0 && f.inline && !required:
		// A browser does not submit a form with an empty required input, also if its object is optional.
		var set []ordered
		for _, name := range names {
			set = append(set, ordered{{"required", []string{name}}})
		}
		schema = append(schema, entry{"if", ordered{{"anyOf", set}}}, entry{"then", ordered{{"required", mandatory}}})
	case len(mandatory) > 0:
		schema = append(schema, entry{"required", mandatory})
	}
	if f.inline {
		schema = append(schema, order)
	}
	schema = append(schema, entry{"properties", pick(properties, common)})
	if c.by != "" {
		schema = append(schema, entry{"not", ordered{{"anyOf", c.conflicts(names)}}}, entry{"errorMessage", ordered{{"not", c.message(p)}}})
	}
	if c.by != "" || len(c.options) == 0 {
		return append(schema, entry{"additionalProperties", false}), ui
	}
	schema = append(schema, entry{"propertyNames", ordered{{"enum", names}}})
	options, optionsUI := c.schemas(names, common, properties, inputs, append(ordered{order}, visible...))
	return append(schema, entry{"oneOf", options}), append(ui, entry{"oneOf", optionsUI})
}

// schemas returns the schema and the uiSchema of each option, for the properties with names. Common properties belong to all options, and
// settings to the uiSchema of each.
func (c choice) schemas(names, common []string, properties, inputs map[string]ordered, settings ordered) (options, optionsUI []ordered) {
	for _, o := range c.options {
		option := ordered{{"title", o.title}, {"type", "object"}}
		selected := pick(properties, o.fields)
		for name, value := range o.values {
			at := slices.IndexFunc(selected, func(e entry) bool { return e.key == name })
			if at >= 0 {
				selected[at].value = append(slices.Clone(properties[name]), entry{"enum", []any{value}}, entry{"default", value})
			}
		}
		if len(o.required) > 0 {
			option = append(option, entry{"required", o.required})
		}
		allowed := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return !slices.Contains(common, name) && !slices.Contains(o.fields, name)
		})
		option = append(option, entry{"properties", selected})
		if len(allowed) == 0 { // An enum cannot be empty.
			option = append(option, entry{"maxProperties", 0})
		} else {
			option = append(option, entry{"propertyNames", ordered{{"enum", allowed}}})
		}
		options = append(options, option)
		optionUI := append(ordered{{"ui:label", false}}, pick(inputs, o.fields)...) // The select shows the title of the option.
		optionsUI = append(optionsUI, append(optionUI, settings...))
	}
	return options, optionsUI
}

// pick returns the selected properties, in order.
func pick(from map[string]ordered, selected []string) ordered {
	out := ordered{}
	for _, name := range selected {
		if s, ok := from[name]; ok {
			out = append(out, entry{name, s})
		}
	}
	return out
}

// isBasic reports whether a form shows a field without the expert fields: a field of the list, its parents, and required fields below it.
func (f claimForm) isBasic(path string) bool {
	if path == "" {
		return true
	}
	for _, listed := range basicFields[f.kind.name] {
		prefix, all := strings.CutSuffix(listed, ".*")
		if path == prefix || strings.HasPrefix(prefix, path+".") || all && strings.HasPrefix(path, prefix+".") {
			return true
		}
	}
	parent, name := "", path
	if at := strings.LastIndexByte(path, '.'); at >= 0 {
		parent, name = path[:at], path[at+1:]
	}
	return f.isBasic(parent) && slices.Contains(withoutDefaults(f.at(parent)), name)
}

// at returns the schema of an object at a path, in which lists and maps have no segment.
func (f claimForm) at(path string) props {
	p := f.kind.schema.Properties["spec"]
	for name := range strings.SplitSeq(path, ".") {
		if path != "" {
			p = p.Properties[name]
		}
		for inner, ok := member(p); ok; inner, ok = member(p) {
			p = inner
		}
	}
	return p
}

// presets are the values with which a form starts, for fields that are required and have an obvious value: by kind and path.
var presets = func() map[string]any {
	releases := release.Releases()
	return map[string]any{"ControlPlaneCluster:openStackRelease": releases[len(releases)-1]}
}()

// numberRules are CEL rules of numbers with units that a pattern and limits can express, by the start of the rule's message.
var numberRules = []struct {
	message          string
	pattern          string
	minimum, maximum *float64
}{
	{"must be at least 1Mi", memoryPattern, new(1048576.0), nil},
	{"must be more than 0 cores", coresPattern, new(1.0), nil},
	{"must be more than 0 and at most 128", ratioPattern, new(1.0), new(128.0)},
}

// limitNumbers adds the constraints of rules to a field that accepts numbers and text.
func limitNumbers(p *props) {
	for _, rule := range p.XValidations {
		for _, number := range numberRules {
			if strings.HasPrefix(rule.Message, number.message) {
				p.Pattern, p.Minimum, p.Maximum = number.pattern, number.minimum, number.maximum
			}
		}
	}
}

// fields returns the fields that belong to an option of a choice.
func (c choice) fields() []string {
	out := map[string]bool{}
	for _, o := range c.options {
		for _, name := range o.fields {
			out[name] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// message returns the error of an object with fields of another option, or without required fields.
func (c choice) message(p props) string {
	titles := func(names []string) string {
		var out []string
		for _, name := range names {
			out = append(out, p.Properties[name].Title)
		}
		return strings.Join(out, ", ")
	}
	var rules []string
	for _, o := range c.options {
		by := strings.Join(o.by, ", ")
		if len(o.required) > 0 {
			rules = append(rules, by+" requires "+titles(o.required))
		}
		optional := slices.DeleteFunc(slices.Clone(o.fields), func(name string) bool { return slices.Contains(o.required, name) })
		if len(optional) > 0 {
			rules = append(rules, by+" permits "+titles(optional))
		}
	}
	return "must match " + p.Properties[c.by].Title + ": " + strings.Join(rules, "; ")
}

// conflicts returns the schemas of objects that set fields of another option, or do not set required fields. They are part of not, because
// rjsf adds empty objects to the data of a form with conditional schemas.
func (c choice) conflicts(names []string) []ordered {
	var out []ordered
	for _, o := range c.options {
		var conflicts []ordered
		for _, name := range names {
			if name != c.by && slices.Contains(c.fields(), name) && !slices.Contains(o.fields, name) {
				conflicts = append(conflicts, ordered{{"required", []string{name}}})
			}
		}
		for _, name := range o.required {
			conflicts = append(conflicts, ordered{{"not", ordered{{"required", []string{name}}}}})
		}
		if len(conflicts) > 0 {
			out = append(out, ordered{{"properties", ordered{{c.by, ordered{{"enum", o.by}}}}}, {"required", []string{c.by}}, {"anyOf", conflicts}})
		}
	}
	return out
}

package main

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
)

// sharedDefinitions are the Go types that occur more than once in a schema. They are described once, at the end of the page.
type sharedDefinitions struct {
	names map[string]string // by fingerprint
	parts []*sharedDefinition
}

// maxInline is the number of fields up to which an object is repeated instead of moved to a shared section.
const maxInline = 2

// sharedDefinition is an object in a schema, with the field that holds it first, and the number of fields that have it.
type sharedDefinition struct {
	id, holder string
	schema     props
	count      int
}

// sharedParts finds the objects of a schema that are described in separate sections. The name of a section is the name of the Go type. A
// type of another package with the same name also has its folder. A type of which the markers of a field change the rules also has the
// field that holds it.
func sharedParts(schema props) *sharedDefinitions {
	out := &sharedDefinitions{names: map[string]string{}}
	types := map[string]string{}
	for _, p := range pieces(schema) {
		if p.count < 2 || leaves(p.schema) <= maxInline {
			continue
		}
		folder, name := path.Split(p.schema.ID)
		if id, used := types[name]; used && id != p.schema.ID {
			name += " (" + path.Base(path.Dir(path.Clean(folder))) + ")"
		}
		if _, used := types[name]; used {
			name += " of " + p.holder
		}
		types[name] = p.schema.ID
		out.names[p.id], out.parts = name, append(out.parts, p)
	}
	return out
}

// pieces lists the objects below a kind's spec and status, in the order in which they are met.
func pieces(schema props) []*sharedDefinition {
	var (
		list  []*sharedDefinition
		known = map[string]*sharedDefinition{}
		visit func(holder, field string, p props)
	)
	visit = func(holder, field string, p props) {
		if id := fingerprint(p); p.ID != "" {
			if known[id] == nil {
				known[id] = &sharedDefinition{id: id, holder: holder, schema: p}
				list = append(list, known[id])
			}
			known[id].count++
		}
		for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
			visit(field, name, p.Properties[name])
		}
		if inner, ok := member(p); ok {
			visit(holder, field, inner)
		}
	}
	for _, part := range []string{"spec", "status"} {
		visit("", part, schema.Properties[part])
	}
	return list
}

// member is the schema of a list's items or a map's values.
func member(p props) (props, bool) {
	switch {
	case p.Items != nil:
		return *p.Items.Schema, true
	case p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil:
		return *p.AdditionalProperties.Schema, true
	}
	return props{}, false
}

// name returns the name of the shared section of an object, or "".
func (s *sharedDefinitions) name(p props) string {
	if p.ID == "" {
		return ""
	}
	return s.names[fingerprint(p)]
}

// sections are the tables of the shared objects, by name. docs are the comments of their types.
func (s *sharedDefinitions) sections(docs map[string]string) []section {
	slices.SortFunc(s.parts, func(a, b *sharedDefinition) int { return strings.Compare(s.names[a.id], s.names[b.id]) })
	var out []section
	for _, part := range s.parts {
		p := part.schema
		of := section{heading: s.names[part.id], text: docs[p.ID], rules: rules("", p)}
		for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
			of.add(name, p, p.Properties[name], s)
		}
		out = append(out, of)
	}
	return out
}

// fingerprint returns the same value for schemas of the same Go type with the same fields, independent of their own descriptions.
func fingerprint(p props) string {
	p.Title, p.Description, p.Default = "", "", nil
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // A schema that was read from JSON can be written as JSON.
	}
	return string(data)
}

// leaves counts the fields below a schema that have none themselves.
func leaves(p props) int {
	n := 0
	for _, child := range p.Properties {
		n += max(1, leaves(child))
	}
	return n
}

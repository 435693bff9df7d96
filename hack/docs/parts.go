package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// sharedDefinitions are the pieces of a schema that occur more than once. They are described once, at the end of the page.
type sharedDefinitions struct {
	names  map[string]string // by fingerprint
	order  []string
	schema map[string]props
}

// definitionNames are the names of pieces, by their fields. A piece that is not in it has the title of the field that holds it
// first. When two pieces have the same name, the second has its holder's name as well.
var definitionNames = map[string]string{
	"digest,repository,tag":                                                     "Image",
	"effect,key,operator,tolerationSeconds,value":                               "Toleration",
	"command,name,quiesced,repeatCodes,successCodes":                            "Step",
	"limits,requests":                                                           "Resources",
	"cpu,ephemeral-storage,memory":                                              "Amounts",
	"bucket,credentialsSecretRef,endpoint,prefix,privateCA,region":              "Bucket",
	"enabled,resources":                                                         "Agent",
	"bulk,deviceClass,erasureCoded,failureDomain,minPlacementGroups,replicated": "Data pool",
}

// fewest is the number of fields below which a part is repeated instead of moved to a shared section.
const fewest = 2

// sharedDefinition is an object in a schema, where it was met first and how often.
type sharedDefinition struct {
	id, title, holder string
	schema            props
	count             int
}

// sharedParts finds the pieces of a schema that are described by themselves.
func sharedParts(schema props) *sharedDefinitions {
	out := &sharedDefinitions{names: map[string]string{}, schema: map[string]props{}}
	used := map[string]bool{}
	for _, p := range pieces(schema) {
		name, ok := definitionNames[strings.Join(slices.Sorted(maps.Keys(p.schema.Properties)), ",")]
		if p.count < 2 || !ok && leaves(p.schema) <= fewest {
			continue
		}
		if !ok {
			name = p.title
		}
		if used[name] {
			name += " of " + p.holder
		}
		used[name] = true
		out.names[p.id], out.schema[p.id] = name, p.schema
		out.order = append(out.order, p.id)
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
		if id := fingerprint(p); len(p.Properties) > 0 {
			if known[id] == nil {
				known[id] = &sharedDefinition{id: id, title: p.Title, holder: holder, schema: p}
				list = append(list, known[id])
			}
			known[id].count++
		}
		for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
			visit(field, name, p.Properties[name])
		}
		if inner, ok := member(p); ok {
			inner.Title = p.Title
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

// name returns the name of the shared section of a part, or "".
func (s *sharedDefinitions) name(p props) string {
	if len(p.Properties) == 0 {
		return ""
	}
	return s.names[fingerprint(p)]
}

// sections are the tables of the pieces, by name.
func (s *sharedDefinitions) sections() []section {
	slices.SortFunc(s.order, func(a, b string) int { return strings.Compare(s.names[a], s.names[b]) })
	var out []section
	for _, id := range s.order {
		p := s.schema[id]
		part := section{heading: s.names[id], rules: rules("", p)}
		for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
			part.add(name, p, p.Properties[name], s)
		}
		out = append(out, part)
	}
	return out
}

// fingerprint returns the same value for schemas with the same fields, independent of their own descriptions.
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

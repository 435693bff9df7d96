package main

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

// quantity is the pattern that controller-gen gives to every Kubernetes quantity.
const quantity = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$`

// typeOf names the type of a field.
func typeOf(p apiextensionsv1.JSONSchemaProps) string {
	switch {
	case p.XIntOrString && p.Pattern == quantity:
		return "quantity"
	case p.XIntOrString:
		return "number or text"
	case p.Format == "date-time":
		return "time"
	case p.Type == "array":
		return "list of " + pluralOf(typeOf(*p.Items.Schema))
	case p.Type == "object" && p.AdditionalProperties != nil:
		return "map of " + pluralOf(typeOf(*p.AdditionalProperties.Schema))
	case p.Type == "":
		return "any value"
	}
	return p.Type
}

func pluralOf(t string) string {
	switch {
	case t == "number or text" || strings.HasSuffix(t, "s") || strings.Contains(t, " of "):
		return t
	case strings.HasSuffix(t, "y"):
		return strings.TrimSuffix(t, "y") + "ies"
	}
	return t + "s"
}

// allowed returns the values that a field accepts; for lists and maps, the values of their members.
func allowed(p apiextensionsv1.JSONSchemaProps) string {
	switch {
	case len(p.Enum) > 0:
		values := make([]string, len(p.Enum))
		for i, e := range p.Enum {
			values[i] = code(strings.Trim(string(e.Raw), `"`))
		}
		return strings.Join(values, ", ")
	case p.Items != nil && p.Items.Schema != nil:
		return join(bounds(p.MinItems, p.MaxItems, "entries"), allowed(*p.Items.Schema))
	case p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil:
		return join(bounds(p.MinProperties, p.MaxProperties, "entries"), allowed(*p.AdditionalProperties.Schema))
	case p.Minimum != nil && p.Maximum != nil:
		return fmt.Sprintf("%.0f to %.0f", *p.Minimum, *p.Maximum)
	case p.Minimum != nil:
		return fmt.Sprintf("%.0f or more", *p.Minimum)
	case p.Pattern != "" && p.Pattern != quantity:
		if name, ok := schema.Patterns[p.Pattern]; ok {
			return name
		}
		return code(p.Pattern)
	case p.Type == "string" && p.Format == "" && p.MaxLength != nil:
		return bounds(nil, p.MaxLength, "characters")
	}
	return ""
}

func bounds(least, most *int64, unit string) string {
	switch {
	case least != nil && most != nil && *least == *most:
		return fmt.Sprintf("%d %s", *most, unit)
	case least != nil && most != nil:
		return fmt.Sprintf("%d to %d %s", *least, *most, unit)
	case most != nil:
		return fmt.Sprintf("up to %d %s", *most, unit)
	}
	return ""
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}

// code quotes text for a cell of a table.
func code(text string) string { return "`" + strings.ReplaceAll(text, "|", `\|`) + "`" }

// cell makes a description fit into a cell.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`).Replace(oneLine(text))
}

// maxCell is the number of words in a cell of a table that is still easy to read.
const maxCell = 30

// shorten shortens a text for a cell of a table to its first sentences, up to maxCell words. If it does, the complete text belongs below
// the table. The cell of a text with a long first sentence only refers to it.
func shorten(text string) (short, complete string) {
	if len(strings.Fields(text)) <= maxCell {
		return text, ""
	}
	sentences := strings.SplitAfter(text, ". ")
	const more = "More below."
	n := 0
	for words := len(strings.Fields(more)); n < len(sentences); n++ {
		words += len(strings.Fields(sentences[n]))
		if words > maxCell {
			break
		}
	}
	if n == 0 {
		return "See below.", text
	}
	return strings.Join(sentences[:n], "") + more, text
}

// Package explain describes fields of claims, conditions and alerts, as the reference and the runbooks do.
package explain

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/c5c3/crossplane-cobaltcore/docs"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
	"github.com/c5c3/crossplane-cobaltcore/internal/suggest"
)

// componentSection is the heading of the section about all conditions of components, such as DatabaseReady.
const componentSection = "A component is not ready"

// Runbook returns the runbook of an alert or of a condition, in Markdown; empty if there is none. Case does not matter.
func Runbook(name string) (string, error) {
	pages, err := runbooks()
	if err != nil {
		return "", err
	}
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		if strings.EqualFold(page, name) {
			return pages[page], nil
		}
	}
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		if strings.HasSuffix(page, "Conditions") {
			if section := section(pages[page], name); section != "" {
				return section, nil
			}
		}
	}
	if strings.HasSuffix(strings.ToLower(name), "ready") {
		return section(pages["ClaimConditions"], componentSection), nil
	}
	return "", nil
}

// runbooks returns the runbooks by the name of their alert or condition.
func runbooks() (map[string]string, error) {
	pages, err := fs.Glob(docs.Runbooks, "runbooks/*.md")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, page := range pages {
		content, err := docs.Runbooks.ReadFile(page)
		if err != nil {
			return nil, err
		}
		out[strings.TrimSuffix(path.Base(page), ".md")] = string(content)
	}
	return out, nil
}

// section returns the section of a condition in a page about several conditions. The heading can be followed by the kind: LockoutExempt of
// an IdentityCheck.
func section(page, name string) string {
	var out strings.Builder
	for line := range strings.Lines(page) {
		heading, ok := strings.CutPrefix(strings.TrimSpace(line), "## ")
		condition, _, _ := strings.Cut(heading, " of a")
		switch {
		case ok && out.Len() > 0:
			return out.String()
		case out.Len() > 0, ok && strings.EqualFold(condition, name):
			out.WriteString(line)
		}
	}
	return out.String()
}

// Reason returns the objects with a reason of a condition, such as ClaimDiffers, with their runbooks, and the messages that follow the
// reason; empty if no condition has it. Case does not matter.
func Reason(name string) string {
	_, table, _ := strings.Cut(docs.Conditions, "\n## Reasons\n")
	var objects strings.Builder
	for _, row := range reasonRow.FindAllStringSubmatch(table, -1) {
		for known := range strings.SplitSeq(row[2], ", ") {
			if !strings.EqualFold(strings.Trim(known, "`"), name) {
				continue
			}
			name = strings.Trim(known, "`")
			fmt.Fprintf(&objects, "  %s\n", row[1])
			for _, runbook := range link.FindAllStringSubmatch(row[3], -1) {
				fmt.Fprintf(&objects, "    cobaltcore explain %s\n", runbook[1])
			}
		}
	}
	if objects.Len() == 0 {
		return ""
	}
	var messages strings.Builder
	for line := range strings.Lines(docs.Messages) {
		if found := reasonLine.FindStringSubmatch(line); found != nil && found[1] == name {
			messages.WriteString("  " + line)
		}
	}
	out := name + " is a reason of conditions and components of these objects. Runbooks describe the next steps:\n\n" + objects.String()
	if messages.Len() > 0 {
		out += "\nMessages, where braces contain a value:\n\n" + messages.String()
	}
	return out
}

// reasonRow matches a row of the table of reasons: the objects, the reasons, and links to runbooks, which link matches.
var (
	reasonRow = regexp.MustCompile("(?m)^\\| ([^|]+) \\| (`[^|]+`) \\| (.+) \\|$")
	link      = regexp.MustCompile(`\[(\w+)\]`)
)

// reasonLine matches a line of the list of messages: optionally the type of the condition, then its reason, and the message.
var reasonLine = regexp.MustCompile(`^(?:[A-Z]\w*: )?([A-Z]\w*): `)

// index matches the index of a list in a path: a field is the same in each element.
var index = regexp.MustCompile(`\[[^\]]*\]`)

// Field returns the description of a field of a kind, such as spec.size or spec.services.nova.cells[0].name, and of the fields below it.
// The error names the first part of the path that does not exist, with a suggestion.
func Field(kind, field string) (string, error) {
	crds, err := definition.All()
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(crds, func(c *apiextensionsv1.CustomResourceDefinition) bool {
		return strings.EqualFold(c.Spec.Names.Kind, kind)
	})
	if i < 0 {
		return "", unknownName(kind, crds)
	}
	crd := crds[i]
	at := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	known := crd.Spec.Names.Kind
	var parent *apiextensionsv1.JSONSchemaProps
	name := ""
	for part := range strings.SplitSeq(index.ReplaceAllString(field, ""), ".") {
		if part == "" {
			continue
		}
		in := element(at)
		next, ok := in.Properties[part]
		if !ok && in.AdditionalProperties != nil && in.AdditionalProperties.Schema != nil {
			next, ok = *in.AdditionalProperties.Schema, true
		}
		if !ok {
			return "", fmt.Errorf("%s has no field %s%s", known, part, suggestion(part, slices.Sorted(maps.Keys(in.Properties))))
		}
		parent, at, name, known = in, &next, part, known+"."+part
	}
	return describe(known, name, parent, at), nil
}

// unknownName returns the error for a name that is neither a kind nor the name of a runbook.
func unknownName(name string, crds []*apiextensionsv1.CustomResourceDefinition) error {
	pages, err := runbooks()
	if err != nil {
		return err
	}
	names := slices.Collect(maps.Keys(pages))
	for _, c := range crds {
		names = append(names, c.Spec.Names.Kind)
	}
	hint := ""
	if closest := suggest.Closest(name, slices.Values(names)); closest != "" {
		hint = "; did you mean " + closest + "?"
	}
	return fmt.Errorf("%s is not an alert, a condition, a reason or a kind; the path of a field starts with spec, or with a kind: "+
		"HypervisorCluster.spec; for another reason, explain its condition%s", name, hint)
}

// suggestion returns the end of a message about an unknown name.
func suggestion(name string, names []string) string {
	switch closest := suggest.Closest(name, slices.Values(names)); {
	case closest != "":
		return "; did you mean " + closest + "?"
	case len(names) > 0:
		return "; use one of " + strings.Join(names, ", ")
	}
	return ""
}

// element returns the schema of the elements of a list, or the schema itself.
func element(s *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	for s.Items != nil && s.Items.Schema != nil {
		s = s.Items.Schema
	}
	return s
}

// describe returns the text for a field.
func describe(known, name string, parent, at *apiextensionsv1.JSONSchemaProps) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s <%s>\n", known, typeName(at))
	for _, line := range []struct{ label, text string }{
		{"", at.Description},
		{"Required", required(parent, name)},
		{"Default", raw(at.Default)},
		{"Values", values(at)},
		{"Range", interval(at)},
		{"Format", schema.Patterns[at.Pattern]},
	} {
		if line.text == "" {
			continue
		}
		if line.label != "" {
			line.label += ": "
		}
		fmt.Fprintf(&b, "  %s%s\n", line.label, strings.ReplaceAll(line.text, "\n", "\n  "))
	}
	for _, rule := range slices.Concat(at.XValidations, rulesOfElements(at)) {
		fmt.Fprintf(&b, "  Rule: %s\n", cmp.Or(rule.Message, rule.Rule))
	}
	fields := element(at).Properties
	if len(fields) == 0 {
		return b.String()
	}
	b.WriteString("\nFields:\n")
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		below := fields[f]
		first, _, _ := strings.Cut(below.Description, "\n")
		fmt.Fprintf(&b, "  %s <%s>\n", f, typeName(&below))
		if first != "" {
			fmt.Fprintf(&b, "      %s\n", first)
		}
	}
	return b.String()
}

// rulesOfElements returns the rules of the elements of a list.
func rulesOfElements(s *apiextensionsv1.JSONSchemaProps) apiextensionsv1.ValidationRules {
	if of := element(s); of != s {
		return of.XValidations
	}
	return nil
}

// typeName returns the type of a field and of its elements.
func typeName(s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		return "[]" + typeName(s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeName(s.AdditionalProperties.Schema)
	case s.XIntOrString:
		return "integer or string"
	}
	return cmp.Or(s.Type, "any")
}

func required(parent *apiextensionsv1.JSONSchemaProps, name string) string {
	if parent != nil && slices.Contains(parent.Required, name) {
		return "yes"
	}
	return ""
}

func raw(v *apiextensionsv1.JSON) string {
	if v == nil {
		return ""
	}
	return string(v.Raw)
}

func values(s *apiextensionsv1.JSONSchemaProps) string {
	var out []string
	for _, v := range element(s).Enum {
		out = append(out, string(v.Raw))
	}
	return strings.Join(out, ", ")
}

// interval returns the limits of a number, or of the length of a list.
func interval(s *apiextensionsv1.JSONSchemaProps) string {
	var out []string
	for _, limit := range []struct {
		text string
		of   *float64
	}{{"at least", s.Minimum}, {"at most", s.Maximum}} {
		if limit.of != nil {
			out = append(out, fmt.Sprintf("%s %g", limit.text, *limit.of))
		}
	}
	for _, limit := range []struct {
		text, noun string
		of         *int64
	}{
		{"at least", "elements", s.MinItems}, {"at most", "elements", s.MaxItems},
		{"at least", "characters", s.MinLength}, {"at most", "characters", s.MaxLength},
	} {
		if limit.of != nil {
			out = append(out, fmt.Sprintf("%s %d %s", limit.text, *limit.of, limit.noun))
		}
	}
	return strings.Join(out, ", ")
}

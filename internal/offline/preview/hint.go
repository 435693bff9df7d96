package preview

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
	"github.com/c5c3/crossplane-cobaltcore/internal/suggest"
)

// hint returns a suggestion for a value that a schema rejects, or "".
func hint(v *schema.Validator, e *field.Error, at located) string {
	switch {
	case e.Type == field.ErrorTypeTypeInvalid && strings.Contains(e.Detail, "of type string") && at.text != "" && !at.quoted:
		return "quote it: " + strconv.Quote(at.text)
	case unknown(e):
		if reason := unimplemented[v.Kind()][e.Field]; reason != "" {
			return "not implemented: " + reason
		}
		if _, name := suggestField(v, e.Field); name != "" {
			return fmt.Sprintf("did you mean %s?", name)
		}
	}
	if m := pattern.FindStringSubmatch(e.Detail); m != nil && schema.Patterns[m[1]] != "" {
		return "expected: " + schema.Patterns[m[1]]
	}
	return ""
}

// missingClaim matches the message about a reference to a claim that does not exist.
var missingClaim = regexp.MustCompile(`: there is no \w+Cluster \S+ in namespace `)

// referenceHint returns a hint on a reference to a claim that does not exist: a preview knows only the claims that it gets. Otherwise, it
// returns "".
func referenceHint(sentence string) string {
	if missingClaim.MatchString(sentence) {
		return "if that claim is in another file, pass both files with -f"
	}
	return ""
}

// pattern matches the message of a schema for a value that does not match a pattern.
var pattern = regexp.MustCompile(`should match '(.*)'$`)

// unknown reports whether an error is about an unknown field.
func unknown(e *field.Error) bool {
	return e.Type == field.ErrorTypeForbidden && e.Detail == "unknown field"
}

// suggestField suggests a field for an unknown one: its parent's path and its name, which is empty without a suggestion.
func suggestField(v *schema.Validator, path string) (parent, name string) {
	name = path
	if i := strings.LastIndex(path, "."); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	return parent, suggest.Closest(name, slices.Values(v.Fields(parent)))
}

// misspelled returns the paths of fields that are set with a misspelled name.
func misspelled(v *schema.Validator, errs field.ErrorList) map[string]bool {
	out := map[string]bool{}
	for _, e := range errs {
		if unknown(e) {
			parent, name := suggestField(v, e.Field)
			out[strings.TrimPrefix(parent+"."+name, ".")] = true
		}
	}
	return out
}

// yamlHint returns a hint on a frequent cause of invalid YAML, or "".
func yamlHint(doc []byte, message string) string {
	if strings.Contains(message, `key "apiVersion" already set`) {
		return "separate objects with a line ---"
	}
	for line := range bytes.Lines(doc) {
		switch {
		case bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("\t")):
			return "a line starts with a tab: indent with spaces"
		case bytes.Contains(line, []byte("{{")):
			return "it contains a template, {{ … }}: render it first"
		}
	}
	return ""
}

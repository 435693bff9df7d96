package preview

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
	"github.com/c5c3/crossplane-cobaltcore/internal/spelling"
)

// hint is what was probably meant by a value that a schema refuses; empty where nothing can be guessed.
func hint(v *schema.Validator, e *field.Error, at located) string {
	switch {
	case e.Type == field.ErrorTypeTypeInvalid && strings.Contains(e.Detail, "of type string") && at.text != "" && !at.quoted:
		return "quote it: " + strconv.Quote(at.text)
	case unknown(e) && apis.IsUnimplemented(v.Kind(), e.Field):
		return "it is planned, and not built yet in this version; leave it out"
	case unknown(e):
		if _, name := suggestField(v, e.Field); name != "" {
			return fmt.Sprintf("did you mean %s?", name)
		}
	}
	if m := pattern.FindStringSubmatch(e.Detail); m != nil && schema.Patterns[m[1]] != "" {
		return "expected: " + schema.Patterns[m[1]]
	}
	return ""
}

// pattern is how a schema says that a value does not match one.
var pattern = regexp.MustCompile(`should match '(.*)'$`)

// unknown reports whether an error is about a field that there is not.
func unknown(e *field.Error) bool {
	return e.Type == field.ErrorTypeForbidden && e.Detail == "unknown field"
}

// suggestField guesses what an unknown field was meant to be: its parent's path and its name, which is empty where nothing can be guessed.
func suggestField(v *schema.Validator, path string) (parent, name string) {
	name = path
	if i := strings.LastIndex(path, "."); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	return parent, spelling.Closest(name, slices.Values(v.Fields(parent)))
}

// misspelled are the paths of fields that are there under a name which is not theirs.
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

// yamlHint says what often makes a document that is not YAML.
func yamlHint(doc []byte) string {
	for line := range bytes.Lines(doc) {
		switch {
		case bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("\t")):
			return "a line begins with a tab: indent with spaces"
		case bytes.Contains(line, []byte("{{")):
			return "a template is left in it, as {{ … }}: render it first"
		}
	}
	return ""
}

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
	case e.Type == field.ErrorTypeForbidden && e.Detail == "unknown field" && apis.IsUnbuilt(v.Kind(), e.Field):
		return "it is planned, and not built yet in this version; leave it out"
	case e.Type == field.ErrorTypeForbidden && e.Detail == "unknown field":
		return meant(v, e.Field)
	}
	if m := pattern.FindStringSubmatch(e.Detail); m != nil && schema.Patterns[m[1]] != "" {
		return "expected: " + schema.Patterns[m[1]]
	}
	return ""
}

// pattern is how a schema says that a value does not match one.
var pattern = regexp.MustCompile(`should match '(.*)'$`)

// meant guesses what an unknown field was meant to be.
func meant(v *schema.Validator, path string) string {
	parent, name := "", path
	if i := strings.LastIndex(path, "."); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	if other := spelling.Closest(name, slices.Values(v.Fields(parent))); other != "" {
		return fmt.Sprintf("did you mean %s?", other)
	}
	return ""
}

// hintUnreadable says what often makes a document that is not YAML.
func hintUnreadable(doc []byte) string {
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

package preview

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
	"github.com/c5c3/crossplane-cobaltcore/internal/terminal"
)

// Source is the invalid input.
type Source int

// Sources.
const (
	SourceClaim Source = iota
	SourceOldClaim
	SourcePlatform
)

// ValidationErrors reports an input that the API server or the function rejects, with one sentence for each error.
type ValidationErrors struct {
	// Source is the invalid input, File its file name, if the caller sets it.
	Source Source
	File   string
	// Input is the kind and name of the object.
	Input string
	// Sentences contain the field, the constraint and the remedy, as in errors of the API server or the claim's condition.
	Sentences []string

	// hints and lines belong to the sentences: suggestions, and the lines of the fields in the input, from 1.
	hints []string
	lines []int
}

// ValidationError is an error of ValidationErrors.
type ValidationError struct {
	// Field is the path of the field; empty if the error is about the whole input.
	Field string
	// Message contains the field, the constraint and the remedy; Hint is a suggestion, which API servers do not make.
	Message, Hint string
	// Line in the input, from 1; 0 if it is unknown.
	Line int
}

// fieldPath matches the path of a field, with which most sentences start.
var fieldPath = regexp.MustCompile(`^[A-Za-z]\S*$`)

// List returns the errors with their hints and lines.
func (e *ValidationErrors) List() []ValidationError {
	out := make([]ValidationError, len(e.Sentences))
	for i, s := range e.Sentences {
		out[i].Message = terminal.Escape(s)
		if path, _, ok := strings.Cut(s, ": "); ok && fieldPath.MatchString(path) {
			out[i].Field = terminal.Escape(path)
		}
		if i < len(e.hints) {
			out[i].Hint = terminal.Escape(e.hints[i])
		}
		if i < len(e.lines) {
			out[i].Line = e.lines[i]
		}
	}
	return out
}

// Error returns the sentences, one on each line, in the format of compilers: file, line, sentence. They contain text of tenants, so
// invisible characters are escaped.
func (e *ValidationErrors) Error() string {
	var out []string
	for _, m := range e.List() {
		text := terminal.Escape(e.Input) + ": " + m.Message
		if m.Hint != "" {
			text += "; " + m.Hint
		}
		switch {
		case e.File != "" && m.Line > 0:
			text = fmt.Sprintf("%s:%d: %s", terminal.Escape(e.File), m.Line, text)
		case e.File != "":
			text = terminal.Escape(e.File) + ": " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

// WithoutLines removes the lines: the input is not in a file of the user.
func (e *ValidationErrors) WithoutLines() { e.lines = nil }

// from sets the source of ValidationErrors.
func from(source Source, err error) error {
	if r := (*ValidationErrors)(nil); errors.As(err, &r) {
		r.Source = source
	}
	return err
}

// WithoutReferences returns validation errors without those about references to invalid claims: the errors of these claims are the cause.
// If no error remains, it reports that the claim is not checked.
func WithoutReferences(err error, invalid []Identity) error {
	r := (*ValidationErrors)(nil)
	if !errors.As(err, &r) {
		return err
	}
	out := &ValidationErrors{Source: r.Source, File: r.File, Input: r.Input}
	var cause Identity
	for i, s := range r.Sentences {
		c := slices.IndexFunc(invalid, func(c Identity) bool {
			return strings.Contains(s, fmt.Sprintf("there is no %s %s in namespace %s ", c.Kind, c.Name, c.Namespace))
		})
		if c >= 0 {
			cause = invalid[c]
			continue
		}
		out.Sentences = append(out.Sentences, s)
		out.lines, out.hints = appendAt(out.lines, r.lines, i), appendAt(out.hints, r.hints, i)
	}
	if len(out.Sentences) == 0 {
		out.Sentences = []string{fmt.Sprintf("not checked, because %s %s, to which it refers, is invalid; correct that claim first",
			cause.Kind, cause.Name)}
	}
	return out
}

// appendAt appends the element of a list at an index, or the zero value if the list is too short.
func appendAt[T any](out, list []T, i int) []T {
	var v T
	if i < len(list) {
		v = list[i]
	}
	return append(out, v)
}

type jsonValidationErrors struct {
	APIVersion string                `json:"apiVersion"`
	Refused    []jsonValidationError `json:"refused"`
}

type jsonValidationError struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Input   string `json:"input"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// PrintErrors writes validation errors in the JSON format, in place of a result.
func PrintErrors(w io.Writer, errs []*ValidationErrors) error {
	out := jsonValidationErrors{APIVersion: JSONVersion, Refused: []jsonValidationError{}}
	for _, e := range errs {
		for _, m := range e.List() {
			out.Refused = append(out.Refused, jsonValidationError{
				File: e.File, Line: m.Line, Input: e.Input, Field: m.Field, Message: m.Message, Hint: m.Hint,
			})
		}
	}
	return printJSON(w, out)
}

// newError returns an error without a position in the input.
func newError(input, format string, args ...any) *ValidationErrors {
	return &ValidationErrors{Input: input, Sentences: []string{fmt.Sprintf(format, args...)}}
}

// newFieldErrors returns errors for sentences that start with their field.
func newFieldErrors(doc []byte, input string, sentences ...string) *ValidationErrors {
	r := &ValidationErrors{Input: input, Sentences: sentences}
	fields := newLocator(doc)
	for _, s := range sentences {
		path, _, _ := strings.Cut(s, ": ")
		r.lines = append(r.lines, fields.locate(path).line)
		r.hints = append(r.hints, referenceHint(s))
	}
	return r
}

// newSchemaErrors returns the errors of a schema. It omits the error for a missing field that is only misspelled.
func newSchemaErrors(v *schema.Validator, doc []byte, input string, errs field.ErrorList) *ValidationErrors {
	r := &ValidationErrors{Input: input}
	existing, fields := misspelled(v, errs), newLocator(doc)
	for _, e := range errs {
		if e.Type == field.ErrorTypeRequired && existing[e.Field] {
			continue
		}
		at := fields.locate(e.Field)
		r.Sentences = append(r.Sentences, oneLine(e.Error()))
		r.lines = append(r.lines, at.line)
		r.hints = append(r.hints, hint(v, e, at))
	}
	return r
}

// yamlErrorLine matches the line number in an error of a YAML decoder.
var yamlErrorLine = regexp.MustCompile(`^line ([0-9]+): `)

// newYAMLError returns the error for invalid YAML.
func newYAMLError(subject string, doc []byte, message string) *ValidationErrors {
	if strings.HasPrefix(message, "invalid map key: ") {
		message = "field names must not be mappings or lists"
	}
	r := newError(subject, "invalid YAML: %s", message)
	line := 0
	if m := yamlErrorLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	r.lines, r.hints = []int{line}, []string{yamlHint(doc, message)}
	return r
}

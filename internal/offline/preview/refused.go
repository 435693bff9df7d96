package preview

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

// Source is the input that is refused.
type Source int

// Sources.
const (
	SourceClaim Source = iota
	SourceOldClaim
	SourcePlatform
)

// ValidationErrors is an input that the API server or the function refuses: one sentence for each mistake.
type ValidationErrors struct {
	// Source is which input it is, File what it was read from, where the caller says so.
	Source Source
	File   string
	// Input names what is refused: the kind and name.
	Input string
	// Sentences name the field, what is wrong and what to do, as the API server or the claim's condition does.
	Sentences []string

	// hints and lines belong to the sentences: what was probably meant, and where in the input the field stands, from 1.
	hints []string
	lines []int
}

// ValidationError is one of the mistakes of a Refused.
type ValidationError struct {
	// Message names the field, what is wrong and what to do; Hint is what was probably meant, which no API server says.
	Message, Hint string
	// Line of the input, from 1; 0 where it is not known.
	Line int
}

// List are the sentences with what else is known of them.
func (e *ValidationErrors) List() []ValidationError {
	out := make([]ValidationError, len(e.Sentences))
	for i, s := range e.Sentences {
		out[i].Message = visible(s)
		if i < len(e.hints) {
			out[i].Hint = visible(e.hints[i])
		}
		if i < len(e.lines) {
			out[i].Line = e.lines[i]
		}
	}
	return out
}

// Error is the sentences, one a line, as compilers write them: file, line, sentence. What a tenant wrote stands in them, so
// everything that is not to be seen is escaped.
func (e *ValidationErrors) Error() string {
	var out []string
	for _, m := range e.List() {
		text := visible(e.Input) + ": " + m.Message
		if m.Hint != "" {
			text += "; " + m.Hint
		}
		switch {
		case e.File != "" && m.Line > 0:
			text = fmt.Sprintf("%s:%d: %s", visible(e.File), m.Line, text)
		case e.File != "":
			text = visible(e.File) + ": " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

// from says of a refusal which input it is about.
func from(source Source, err error) error {
	if r := (*ValidationErrors)(nil); errors.As(err, &r) {
		r.Source = source
	}
	return err
}

type jsonValidationErrors struct {
	APIVersion string                `json:"apiVersion"`
	Refused    []jsonValidationError `json:"refused"`
}

type jsonValidationError struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Input   string `json:"input"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// PrintJSON writes the refusal as the JSON output has it instead of a result.
func (e *ValidationErrors) PrintJSON(w io.Writer) error {
	out := jsonValidationErrors{APIVersion: JSONVersion}
	for _, m := range e.List() {
		out.Refused = append(out.Refused, jsonValidationError{File: e.File, Line: m.Line, Input: e.Input, Message: m.Message, Hint: m.Hint})
	}
	return printJSON(w, out)
}

// newError makes a refusal of one sentence that has no place in the input.
func newError(input, format string, args ...any) *ValidationErrors {
	return &ValidationErrors{Input: input, Sentences: []string{fmt.Sprintf(format, args...)}}
}

// refused makes a refusal of sentences that begin with their field.
func refused(doc []byte, input string, sentences ...string) *ValidationErrors {
	r := &ValidationErrors{Input: input, Sentences: sentences}
	for _, s := range sentences {
		path, _, _ := strings.Cut(s, ": ")
		r.lines = append(r.lines, locate(doc, path).line)
	}
	return r
}

// newSchemaErrors makes a refusal of what a schema says. A field that is only misspelled is not missing.
func newSchemaErrors(v *schema.Validator, doc []byte, input string, errs field.ErrorList) *ValidationErrors {
	r := &ValidationErrors{Input: input}
	existing := misspelled(v, errs)
	for _, e := range errs {
		if e.Type == field.ErrorTypeRequired && existing[e.Field] {
			continue
		}
		at := locate(doc, e.Field)
		r.Sentences = append(r.Sentences, oneLine(e.Error()))
		r.lines = append(r.lines, at.line)
		r.hints = append(r.hints, hint(v, e, at))
	}
	return r
}

// yamlErrorLine is where a YAML decoder found a mistake.
var yamlErrorLine = regexp.MustCompile(`^line ([0-9]+): `)

// newYAMLError makes a refusal of what is not YAML.
func newYAMLError(what string, doc []byte, message string) *ValidationErrors {
	if strings.HasPrefix(message, "invalid map key: ") {
		message = "a mapping or a list cannot be the name of a field"
	}
	r := newError(what, "it is not valid YAML: %s", message)
	line := 0
	if m := yamlErrorLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	r.lines, r.hints = []int{line}, []string{yamlHint(doc)}
	return r
}

// visible escapes what moves a terminal's cursor, or reads otherwise than it is.
func visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool { return r != ' ' && !unicode.IsGraphic(r) }

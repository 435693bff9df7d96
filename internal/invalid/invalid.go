// Package invalid holds the one error that a tenant can fix: something in the spec is wrong. Every other error is ours or the platform's.
package invalid

import (
	"errors"
	"fmt"
	"strings"
)

// Spec is a mistake in a spec: which field, what is wrong, what to do.
type Spec struct {
	// Field is the path of the field, such as spec.services.keystone.config.token.expiration.
	Field string
	// Sentence says what is wrong and what to do.
	Sentence string
}

// Error is the field and the sentence.
func (e *Spec) Error() string { return e.Field + ": " + e.Sentence }

// Field makes the error of one field. The format is a sentence without a full stop.
func Field(field, format string, args ...any) error {
	return &Spec{Field: field, Sentence: fmt.Sprintf(format, args...)}
}

// Is reports whether the tenant can fix the error, or at least one of several joined ones.
func Is(err error) bool {
	var s *Spec
	return errors.As(err, &s)
}

// Path joins the parts of a field's path.
func Path(parts ...string) string { return strings.Join(parts, ".") }

// Distinct joins errors as errors.Join does, without those whose text is that of an earlier one: two checks may report the same value.
func Distinct(errs ...error) error {
	var out []error
	seen := map[string]bool{}
	var add func(error)
	add = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				add(e)
			}
			return
		}
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			out = append(out, err)
		}
	}
	for _, err := range errs {
		add(err)
	}
	return errors.Join(out...)
}

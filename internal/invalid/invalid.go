// Package invalid defines the error that a tenant can fix: an invalid spec. All other errors are bugs or errors of the platform.
package invalid

import (
	"errors"
	"fmt"
	"strings"
)

// Spec is an error in a spec: the field, the constraint and the remedy.
type Spec struct {
	// Field is the path of the field, such as spec.services.keystone.config.token.expiration.
	Field string
	// Sentence contains the constraint and the remedy.
	Sentence string
}

// Error returns the field and the sentence.
func (e *Spec) Error() string { return e.Field + ": " + e.Sentence }

// Field returns the error of one field. The format is a sentence without a full stop.
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

// Distinct joins errors like errors.Join, without duplicate texts, because two checks may report the same value.
func Distinct(errs ...error) error {
	var out []error
	reported := map[string]bool{}
	var add func(error)
	add = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				add(e)
			}
			return
		}
		if err != nil && !reported[err.Error()] {
			reported[err.Error()] = true
			out = append(out, err)
		}
	}
	for _, err := range errs {
		add(err)
	}
	return errors.Join(out...)
}

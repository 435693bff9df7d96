package schema

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// root names the object as a whole, which has no path, in errors.
const root = "object"

// misplaced are the sentences of OpenAPI validation that name their field instead of carrying it.
var misplaced = []*regexp.Regexp{
	regexp.MustCompile(`^"(?P<field>[^"]+)" (?P<detail>must .*)$`),
	regexp.MustCompile(`^Checked value (?P<detail>must be .*) in (?P<field>\S+)$`),
}

// blocksRules reports whether CEL rules must not run because the object does not have the shape they were compiled for. The list of types
// is that of the API server, which then adds a note that some rules were not checked. We leave the note out: the cause stands beside it.
func blocksRules(errs field.ErrorList) bool {
	return slices.ContainsFunc(errs, func(e *field.Error) bool {
		switch e.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		default:
			return false
		}
	})
}

// sortErrors sorts the errors by field, since schemas are walked in random order, and keeps one of those that say the same. A
// value of the wrong type breaks everything else that is asked of it, so there only the type is reported.
func sortErrors(errs field.ErrorList) field.ErrorList {
	wrongType := map[string]*field.Error{}
	for _, e := range errs {
		place(e)
		// With alternatives, the longest sentence is the one that lists them all.
		if requested := wrongType[e.Field]; e.Type == field.ErrorTypeTypeInvalid && (requested == nil || len(e.Detail) > len(requested.Detail)) {
			wrongType[e.Field] = e
		}
	}
	errs = slices.DeleteFunc(errs, func(e *field.Error) bool {
		return wrongType[e.Field] != nil && wrongType[e.Field] != e
	})
	slices.SortStableFunc(errs, compare)
	return slices.CompactFunc(errs, func(a, b *field.Error) bool { return compare(a, b) == 0 })
}

// place puts the field's path where it belongs, and there only.
func place(e *field.Error) {
	e.Detail = strings.TrimPrefix(e.Detail, e.Field+" in body ")
	if e.Field != "" && e.Field != (*field.Path)(nil).String() {
		return
	}
	e.Field = root
	for _, message := range misplaced {
		if m := message.FindStringSubmatch(e.Detail); m != nil {
			e.Field, e.Detail = m[message.SubexpIndex("field")], m[message.SubexpIndex("detail")]
			return
		}
	}
}

func compare(a, b *field.Error) int {
	return cmp.Or(strings.Compare(a.Field, b.Field), strings.Compare(string(a.Type), string(b.Type)), strings.Compare(a.Detail, b.Detail))
}

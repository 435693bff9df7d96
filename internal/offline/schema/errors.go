package schema

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// root is the field of errors on the object as a whole, which has no path.
const root = "object"

// misplaced lists messages of OpenAPI validation that contain the field in the text.
var misplaced = []*regexp.Regexp{
	regexp.MustCompile(`^"(?P<field>[^"]+)" (?P<detail>must .*)$`),
	regexp.MustCompile(`^Checked value (?P<detail>must be .*) in (?P<field>\S+)$`),
}

// formats is a message on a number where another format is required. Validation then names formats instead of types.
var formats = regexp.MustCompile(`^must be of type (\w+): "(int32|int64|float32|float64)"$`)

// jsonTypes contains the type in JSON of each format of numbers.
var jsonTypes = map[string]string{"int32": "integer", "int64": "integer", "float32": "number", "float64": "number"}

// blocksRules reports whether CEL rules must not run because the object does not have the shape they were compiled for. The list of types
// equals the list of the API server, which then adds a note that some rules were not checked. The note is omitted here, because the errors
// show the cause.
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

// sortErrors sorts the errors by field, because schemas are walked in random order, and removes duplicates. A value of the
// wrong type causes further errors, so only the error for the type is reported.
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

// place moves the field's path from the message to the field of an error, and names types as JSON does.
func place(e *field.Error) {
	e.Detail = strings.TrimPrefix(e.Detail, e.Field+" in body ")
	if m := formats.FindStringSubmatch(e.Detail); m != nil && e.BadValue == any(m[2]) {
		e.BadValue = jsonTypes[m[2]]
		e.Detail = fmt.Sprintf("must be of type %s: %q", cmp.Or(jsonTypes[m[1]], m[1]), e.BadValue)
	}
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

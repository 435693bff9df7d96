// Package merge merges settings, field by field.
package merge

import "reflect"

// Overlay returns the fields that are set in over, and the fields of under otherwise: a struct field by field, a map key by key. The zero
// value and the empty list are unset; a pointer to a zero value is set. Lists are not merged. Neither argument changes; the result shares
// values with both.
func Overlay[T any](over, under T) T {
	var out T
	mergeValue(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&over).Elem(), reflect.ValueOf(&under).Elem())
	return out
}

func mergeValue(out, over, under reflect.Value) {
	switch {
	case empty(over):
		out.Set(under)
	case over.Kind() == reflect.Pointer && !under.IsNil() && open(over.Type().Elem()):
		out.Set(reflect.New(over.Type().Elem()))
		mergeValue(out.Elem(), over.Elem(), under.Elem())
	case open(over.Type()):
		for i := range over.NumField() {
			mergeValue(out.Field(i), over.Field(i), under.Field(i))
		}
	case over.Kind() == reflect.Map && !under.IsNil():
		out.Set(reflect.MakeMap(over.Type()))
		for _, m := range []reflect.Value{under, over} {
			for i := m.MapRange(); i.Next(); {
				out.SetMapIndex(i.Key(), i.Value())
			}
		}
	default:
		out.Set(over)
	}
}

// empty reports whether a value is unset.
func empty(v reflect.Value) bool {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		return v.Len() == 0
	}
	return v.IsZero()
}

// open reports whether a type is a struct whose fields are merged separately. A struct with unexported fields, such as a quantity, is a
// value.
func open(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for f := range t.Fields() {
		if !f.IsExported() {
			return false
		}
	}
	return true
}

package limit

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Walk calls visit for each value in an API object with its path, outer values first: structs, fields by their JSON names,
// items of lists, and values of maps. Zero values are skipped.
func Walk(path string, object any, visit func(path string, value any)) {
	walk(path, reflect.ValueOf(object), visit)
}

func walk(path string, v reflect.Value, visit func(path string, value any)) {
	if v.Kind() == reflect.Pointer {
		if !v.IsNil() {
			walk(path, v.Elem(), visit)
		}
		return
	}
	if v.IsZero() {
		return
	}
	visit(path, v.Interface())
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				walk(FieldPath(path, f), v.Field(i), visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i), visit)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, k := range keys {
			walk(fmt.Sprintf("%s[%s]", path, k), v.MapIndex(k), visit)
		}
	default:
	}
}

// FieldPath returns the path of a struct's field. For an inlined field, it is the path of the struct.
func FieldPath(path string, f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return path
	}
	return path + "." + name
}

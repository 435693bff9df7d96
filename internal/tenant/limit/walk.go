package limit

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
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
		for _, f := range fieldsOf(v.Type()) {
			if field := v.Field(f.index); !field.IsZero() { // Most fields are, and a path costs an allocation.
				walk(path+f.suffix, field, visit)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(path+"["+strconv.Itoa(i)+"]", v.Index(i), visit)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, k := range keys {
			walk(path+"["+k.String()+"]", v.MapIndex(k), visit)
		}
	default:
	}
}

// structField is an exported field of a struct, by its index, and the suffix of its path.
type structField struct {
	index  int
	suffix string
}

// structFields are the results of fieldsOf. A function walks each claim several times.
var structFields sync.Map

// fieldsOf returns the exported fields of a type of structs.
func fieldsOf(t reflect.Type) []structField {
	if known, ok := structFields.Load(t); ok {
		return known.([]structField) //nolint:forcetypeassert // it contains nothing else
	}
	var out []structField
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			out = append(out, structField{i, FieldPath("", f)})
		}
	}
	structFields.Store(t, out)
	return out
}

// FieldPath returns the path of a struct's field. For an inlined field, it is the path of the struct.
func FieldPath(path string, f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return path
	}
	return path + "." + name
}

package encode

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var (
	stringMap     = reflect.TypeFor[map[string]string]()
	anyMap        = reflect.TypeFor[map[string]any]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	quantityType  = reflect.TypeFor[resource.Quantity]()
	intStringType = reflect.TypeFor[intstr.IntOrString]()
	extensionType = reflect.TypeFor[runtime.RawExtension]()
	plans         sync.Map // reflect.Type to *plan.
	plainPlan     = &plan{}
)

// plan contains the cached properties of a type.
type plan struct {
	own    func(w writer, v reflect.Value, depth int) error // How the type is encoded, if not according to its kind.
	fields []field                                          // Fields of a struct, sorted by name.
}

// field is a field of a struct, or of an embedded struct.
type field struct {
	name  string // Name in JSON.
	index []int
}

// of returns the field of the struct v. ok is false if an embedded pointer on the path is nil.
func (f field) of(v reflect.Value) (reflect.Value, bool) {
	for _, i := range f.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v, true
}

// planOf returns the plan of a type.
func planOf(t reflect.Type) *plan {
	if t.PkgPath() == "" && t.Kind() != reflect.Struct {
		return plainPlan // These types have no methods: string, []T, map[K]V, *T.
	}
	if p, ok := plans.Load(t); ok {
		return p.(*plan) //nolint:forcetypeassert // Nothing else is stored.
	}
	p := &plan{}
	switch pointer := reflect.PointerTo(t); {
	case t == quantityType:
		p.own = writer.quantity
	case t == intStringType:
		p.own = writer.intOrString
	case t == extensionType:
		p.own = writer.extension
	case pointer.Implements(jsonMarshaler):
		p.own = writer.viaJSON
	case pointer.Implements(textMarshaler):
		p.own = writer.viaText
	case t.Kind() == reflect.Struct:
		p.fields = fieldsOf(t, nil, map[string]bool{})
		slices.SortFunc(p.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	}
	plans.Store(t, p)
	return p
}

// fieldsOf returns the fields of a struct with the names that encoding/json uses, ignoring the options of the tags. A
// struct's own fields come first and hide fields with the same name in embedded structs.
func fieldsOf(t reflect.Type, index []int, observed map[string]bool) []field {
	var fields []field
	var embedded []reflect.StructField
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
			continue
		case f.Anonymous && name == "" && element(f.Type).Kind() == reflect.Struct:
			embedded = append(embedded, f)
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		if !observed[name] {
			observed[name] = true
			fields = append(fields, field{name: name, index: slices.Concat(index, f.Index)})
		}
	}
	for _, f := range embedded {
		fields = append(fields, fieldsOf(element(f.Type), slices.Concat(index, f.Index), observed)...)
	}
	return fields
}

// element returns the element type of a pointer type, or the type itself.
func element(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

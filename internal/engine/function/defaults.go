package function

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/c5c3/crossplane-cobaltcore/apis"
)

// SetDefaults sets absent fields in the spec of a composite resource or PlatformConfig to the defaults of its schema. xr is a pointer to
// it; a type outside of apis has no schema and is not changed.
//
// An API server sets the same defaults at admission. Three kinds of specs still lack some of them: the last valid spec, which may have been
// stored before a default was added; a spec that a function builds for a check; and a spec that never reached an API server. Unlike an API
// server, SetDefaults also sets the defaults below an absent parent if the Go type always contains the parent.
//
// A field is absent if it has the zero value of its type. A field whose zero value means something else than its default is a pointer.
func SetDefaults(xr any) {
	v := reflect.ValueOf(xr).Elem()
	if d := specDefaultsOf(v.Type()); d != nil {
		d.set(v.FieldByName("Spec"))
	}
}

// fieldDefaults contains the default of a field, and the defaults below it.
type fieldDefaults struct {
	// index is the position of the field in the struct of its parent.
	index []int
	// value is the default in JSON. Nil: none.
	value json.RawMessage
	// fields are the fields of a struct with defaults, and items the defaults of each item of a list. Nil: none.
	fields []*fieldDefaults
	items  *fieldDefaults
}

func (d *fieldDefaults) set(v reflect.Value) {
	if d.value != nil && v.IsZero() {
		if err := json.Unmarshal(d.value, v.Addr().Interface()); err != nil {
			panic(fmt.Sprintf("the default %s does not fit the type %s: %v", d.value, v.Type(), err))
		}
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	for _, f := range d.fields {
		f.set(v.FieldByIndex(f.index))
	}
	if d.items != nil {
		for i := range v.Len() {
			d.items.set(v.Index(i))
		}
	}
}

// schema contains the parts of an OpenAPI schema that are relevant for defaults. No map of this project has defaults in its values.
type schema struct {
	Default    json.RawMessage    `json:"default"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
}

// defaultsOf returns the defaults of a type and of the fields below it, or nil without any.
func (s *schema) defaultsOf(t reflect.Type) *fieldDefaults {
	out := &fieldDefaults{value: s.Default}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			property, ok := s.Properties[name]
			if !ok {
				continue
			}
			if below := property.defaultsOf(f.Type); below != nil {
				below.index = f.Index
				out.fields = append(out.fields, below)
			}
		}
	case t.Kind() == reflect.Slice && s.Items != nil:
		out.items = s.Items.defaultsOf(t.Elem())
	}
	if out.value == nil && out.fields == nil && out.items == nil {
		return nil
	}
	return out
}

// specDefaults contains the defaults by the type of the resource: reflect.Type to func() *fieldDefaults.
var specDefaults sync.Map

// specDefaultsOf returns the defaults of the spec of a resource, or nil without any. A definition is read on first use.
func specDefaultsOf(t reflect.Type) *fieldDefaults {
	read, ok := specDefaults.Load(t)
	if !ok {
		read, _ = specDefaults.LoadOrStore(t, sync.OnceValue(func() *fieldDefaults { return readDefaults(t) }))
	}
	return read.(func() *fieldDefaults)() //nolint:forcetypeassert // Nothing else is stored.
}

// apisPath is the import path of the folder with the definitions.
const apisPath = "github.com/c5c3/crossplane-cobaltcore/apis/"

// readDefaults reads the defaults of a resource's spec from its definition. The Go types of the definition apis/<folder> are in
// apis/<folder>/<version>.
func readDefaults(t reflect.Type) *fieldDefaults {
	path, ok := strings.CutPrefix(t.PkgPath(), apisPath)
	if !ok {
		return nil
	}
	spec, ok := t.FieldByName("Spec")
	if !ok {
		panic(fmt.Sprintf("%s has no spec", t))
	}
	folder, version, _ := strings.Cut(path, "/")
	documents, err := apis.JSON(folder)
	if err != nil {
		panic(err) // The definition is part of the program.
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Name   string `json:"name"`
				Schema struct {
					OpenAPIV3Schema schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(documents[0], &definition); err != nil {
		panic(fmt.Sprintf("cannot read the definition of %s: %v", folder, err))
	}
	for _, v := range definition.Spec.Versions {
		if v.Name == version {
			return v.Schema.OpenAPIV3Schema.Properties["spec"].defaultsOf(spec.Type)
		}
	}
	panic(fmt.Sprintf("the definition of %s has no version %s", folder, version))
}

package observe

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// composedOwner is the prefix of the field manager with which Crossplane applies composed resources (ComposedFieldOwnerName in
// internal/controller/apiextensions/composite of crossplane v2.3).
const composedOwner = "apiextensions.crossplane.io/composed/"

// applied returns an object with only its identity and the fields that Crossplane applied. It returns false if the object has no such
// managed fields. A later change by another manager to a field that Crossplane applied cannot be detected.
func applied(raw encoded.Struct) (encoded.Struct, bool) {
	for entry := range raw.At("metadata", "managedFields").Elements() {
		if entry.Field("operation").Text() != "Apply" || entry.Field("subresource").Text() != "" ||
			!strings.HasPrefix(entry.Field("manager").Text(), composedOwner) {
			continue
		}
		fields := entry.Field("fieldsV1").Map()
		if len(fields) == 0 {
			continue
		}
		full := raw.Map()
		out, _ := owned(full, fields).(map[string]any)
		out["apiVersion"], out["kind"] = full["apiVersion"], full["kind"]
		meta, _ := out["metadata"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		for _, name := range []string{"name", "namespace"} {
			if v := raw.At("metadata", name).Text(); v != "" {
				meta[name] = v
			}
		}
		out["metadata"] = meta
		s, err := encode.Struct(out)
		return s, err == nil
	}
	return nil, false
}

// owned returns the part of a value that a manager owns, by its fields in the form of FieldsV1: f: is a field, k: an element of a list by
// its keys, v: one by its value, and a dot the value itself. A value without any of these is owned completely.
// https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#FieldsV1
func owned(value any, fields map[string]any) any {
	if len(fields) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, of := range fields {
			name, isField := strings.CutPrefix(key, "f:")
			if inside, existing := v[name]; isField && existing {
				below, _ := of.(map[string]any)
				out[name] = owned(inside, below)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, element := range v {
			if of, ok := elementOf(element, fields); ok {
				out = append(out, owned(element, of))
			}
		}
		return out
	}
	return value
}

// elementOf returns the owned fields of a list element, and reports whether the element is owned.
func elementOf(element any, fields map[string]any) (map[string]any, bool) {
	for key, of := range fields {
		below, _ := of.(map[string]any)
		var want any
		switch {
		case strings.HasPrefix(key, "v:"):
			if json.Unmarshal([]byte(key[2:]), &want) == nil && reflect.DeepEqual(element, want) {
				return below, true
			}
		case strings.HasPrefix(key, "k:"):
			if json.Unmarshal([]byte(key[2:]), &want) == nil && hasKeys(element, want) {
				return below, true
			}
		}
	}
	return nil, false
}

// hasKeys reports whether an element has the given key fields.
func hasKeys(element, keys any) bool {
	e, ok := element.(map[string]any)
	want, is := keys.(map[string]any)
	for k, v := range want {
		ok = ok && reflect.DeepEqual(e[k], v)
	}
	return ok && is
}

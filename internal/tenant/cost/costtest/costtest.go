// Package costtest lists the fields of claims that cost something, for tests that require a limit of each.
package costtest

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// costly matches the names of fields that request pods, CPU, memory or storage.
var costly = regexp.MustCompile(
	`(?i)(replicas|cpu|memory|storageSize|conversionSize|processes|concurrency|count|servers|daemons|gateways)$`,
)

// Field is a costly field of a claim.
type Field struct {
	// Path of the field, with [] after each list.
	Path string
	// Value exceeds every default maximum.
	Value any
}

// Fields lists the costly fields of a type: pods, resources, storage, and schedules of Jobs.
func Fields(path string, t reflect.Type) []Field {
	for ; t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice; t = t.Elem() {
		if t.Kind() == reflect.Slice {
			path += "[]"
		}
	}
	switch {
	case t == reflect.TypeFor[common.Cron]():
		return []Field{{path, "* * * * *"}}
	case t == reflect.TypeFor[common.Resources]():
		var out []Field
		for name, value := range map[string]string{"cpu": "5000", "memory": "9000Ti", "ephemeral-storage": "9000Ti"} {
			out = append(out, Field{path + ".requests." + name, value}, Field{path + ".limits." + name, value})
		}
		slices.SortFunc(out, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
		return out
	case costly.MatchString(path) && (t == reflect.TypeFor[resource.Quantity]() || t.Kind() == reflect.String):
		if strings.HasSuffix(path, ".cpu") {
			return []Field{{path, "5000"}}
		}
		return []Field{{path, "9000Ti"}}
	case costly.MatchString(path) && t.Kind() == reflect.Int32:
		return []Field{{path, 77}}
	case t.Kind() != reflect.Struct || t == reflect.TypeFor[resource.Quantity]():
		return nil
	}
	var out []Field
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		below := path
		if name != "" {
			below += "." + name
		}
		out = append(out, Fields(below, f.Type)...)
	}
	return out
}

// Set sets a field of an object, by its path without the name of the object. A part of the path with [] is the first element of a list.
func Set(object map[string]any, path string, value any) {
	name, rest, below := strings.Cut(path, ".")
	name, isList := strings.CutSuffix(name, "[]")
	switch {
	case isList:
		list, _ := object[name].([]any)
		if len(list) == 0 {
			list = []any{map[string]any{}}
		}
		element, _ := list[0].(map[string]any)
		object[name] = list
		Set(element, rest, value)
	case !below:
		object[name] = value
	default:
		child, _ := object[name].(map[string]any)
		if child == nil {
			child = map[string]any{}
			object[name] = child
		}
		Set(child, rest, value)
	}
}

// Package encode converts Kubernetes objects to protobuf Structs, the format of a composition function's response.
//
// The rules follow from server-side apply: the function owns each field that it emits, so a value that the builder did not
// set must not be emitted, and a value that it did set must not be lost. The omitempty tags of the Kubernetes types do not
// implement this: they emit "replicas: 0" in a status and omit a map that was set to an empty one. A field is emitted
//
//   - never, if it is a zero scalar or struct, or a nil pointer, map, slice or interface;
//   - always otherwise: a pointer to 0, false, "" or an empty struct, and an empty map or slice that is not nil.
//
// Elements of slices and maps, and all values in a tree of map[string]any, were set explicitly and are emitted unchanged.
package encode

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// serverOwned are the metadata fields that the API server writes. In a desired object, they would cause a patch in every
// reconciliation, or take ownership of fields of the API server.
// https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#metadata
var serverOwned = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
	"resourceVersion", "selfLink", "uid",
}

// Object encodes a Kubernetes object: a pointer to a typed object, or an unstructured object, whose tree is encoded
// unchanged. It neither changes nor keeps references to the object.
//
// It returns an error if the object has no apiVersion or kind, has a status or a metadata field that the API server owns,
// or contains a value that a protobuf Struct cannot represent (see Struct). The error contains the object and the field.
func Object(o runtime.Object) (encoded.Struct, error) {
	v := reflect.ValueOf(o)
	if o == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("cannot encode an object that is nil")
	}
	var content any = o
	if u, ok := o.(runtime.Unstructured); ok {
		content = u.UnstructuredContent()
	}
	out, err := Struct(content)
	if err == nil {
		err = owned(out)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot encode %s: %w", describe(o), err)
	}
	return out, nil
}

// Struct encodes a value that is an object in JSON with the rules of this package: a typed struct or a map. Unlike Object,
// it accepts all fields, so that it can be used for parts of objects, such as the status of a composite resource. Encoded
// values are copied unchanged.
//
// It returns an error if v is not an object, or contains an integer beyond ±2^53 (a Struct stores numbers as float64), a
// number that is not finite, a string that is not UTF-8, a type without a JSON representation, or more than 1000 levels.
// The error contains the path within v; for several errors, the result is deterministic.
func Struct(v any) (encoded.Struct, error) {
	w := writer{encoded.NewWriter()}
	defer w.Free()
	if err := w.tree(v, 0); err != nil {
		return nil, err
	}
	out, ok := encoded.Parse(w.Since(0)).Struct()
	if !ok {
		return nil, fmt.Errorf("a %T is not an object", v)
	}
	return bytes.Clone(out), nil
}

// owned returns an error unless s is an object with only fields that a client may own.
func owned(s encoded.Struct) error {
	if s.At("apiVersion").Text() == "" || s.At("kind").Text() == "" {
		return errors.New("it has no apiVersion or no kind: set both in its TypeMeta")
	}
	for name := range s.At().Fields() {
		if string(name) == "status" {
			return &fieldError{path: ".status", err: errors.New("a status belongs to the object's controller: remove it")}
		}
	}
	for name := range s.At("metadata").Fields() {
		if slices.Contains(serverOwned, string(name)) {
			return &fieldError{path: ".metadata." + string(name), err: errors.New("the API server owns it: remove it")}
		}
	}
	return nil
}

// describe returns the description of an object for errors: its kind, or else its Go type, and its name if it has one.
func describe(o runtime.Object) string {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = fmt.Sprintf("%T", o)
	}
	if n, ok := o.(interface{ GetName() string }); ok && n.GetName() != "" {
		return fmt.Sprintf("%s %q", kind, n.GetName())
	}
	return kind
}

// fieldError is an error with a path, to which callers prepend segments.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string {
	return fmt.Sprintf("field %s: %v", strings.TrimPrefix(e.path, "."), e.err)
}

func (e *fieldError) Unwrap() error { return e.err }

// withPathSegment prepends a segment, ".name" or "[0]", to the path of an error.
func withPathSegment(segment string, err error) error {
	var fe *fieldError
	if errors.As(err, &fe) {
		return &fieldError{path: segment + fe.path, err: fe.err}
	}
	return &fieldError{path: segment, err: err}
}

// withKeySegment prepends the key of a map to the path of an error.
func withKeySegment(key string, err error) error {
	if strings.ContainsAny(key, ".[]/ ") {
		return withPathSegment(fmt.Sprintf("[%q]", key), err)
	}
	return withPathSegment("."+key, err)
}

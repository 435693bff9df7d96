// Package encode turns Kubernetes objects into protobuf Structs, the form in which a composition function answers.
//
// The rule is that of server-side apply: what is emitted is owned, so a value that the builder did not set must not
// appear, and one that it did set must not be lost. The omitempty tags of the Kubernetes types decide neither: they
// emit "replicas: 0" in a status and drop a map that was set empty. So a field is emitted
//
//   - never, if it is a zero scalar or struct, or a nil pointer, map, slice or interface;
//   - always otherwise: a pointer to 0, false, "" or an empty struct, and an empty map or slice that is not nil.
//
// Elements of slices and maps, and everything in a tree of map[string]any, were put there by someone: they are emitted as they are.
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

// serverOwned are the fields of metadata that the API server writes. One of them in a desired object makes a patch of
// every reconciliation, or claims what is not ours.
// https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#metadata
var serverOwned = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
	"resourceVersion", "selfLink", "uid",
}

// Object encodes a Kubernetes object: a pointer to a typed one, or an unstructured one, whose tree is taken as it is.
// Neither the object nor anything it refers to is changed or kept.
//
// It is an error if the object has no apiVersion and kind, has a status or a field of metadata that the API server
// owns, or holds a value that a protobuf Struct cannot carry (see Struct). The error names the object and the field.
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

// Struct encodes any value that is an object in JSON by the rules of the package: a typed struct, a map. Unlike Object it
// refuses no field, so it also serves for what is no object of its own, such as the status of a composite resource. What is
// encoded already is taken as it is.
//
// It is an error if v is no object, or holds a whole number beyond ±2^53 (a Struct carries numbers as float64), a number that
// is not finite, a string that is not UTF-8, a type that JSON has no form for, or more than 1000 levels. The error names the
// path within v; of several it is always the same one.
func Struct(v any) (encoded.Struct, error) {
	w := writer{encoded.NewWriter()}
	defer w.Free()
	if err := w.tree(v, 0); err != nil {
		return nil, err
	}
	out, ok := encoded.Parse(w.Since(0)).Struct()
	if !ok {
		return nil, fmt.Errorf("a %T is no object", v)
	}
	return bytes.Clone(out), nil
}

// owned is an error unless s is an object with nothing but fields that a client may own.
func owned(s encoded.Struct) error {
	if s.At("apiVersion").Text() == "" || s.At("kind").Text() == "" {
		return errors.New("it has no apiVersion or no kind: set both in its TypeMeta")
	}
	for name := range s.At().Fields() {
		if string(name) == "status" {
			return &fieldError{path: ".status", err: errors.New("a status belongs to the object's controller: leave it out")}
		}
	}
	for name := range s.At("metadata").Fields() {
		if slices.Contains(serverOwned, string(name)) {
			return &fieldError{path: ".metadata." + string(name), err: errors.New("the API server owns it: leave it out")}
		}
	}
	return nil
}

// describe names an object in an error: its kind, or else its Go type, and its name if it has one.
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

// A fieldError is an error at a path, which grows at its front on the way up.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string {
	return fmt.Sprintf("field %s: %v", strings.TrimPrefix(e.path, "."), e.err)
}

func (e *fieldError) Unwrap() error { return e.err }

// withPathSegment puts the segment of a path, ".name" or "[0]", in front of an error's path.
func withPathSegment(segment string, err error) error {
	var fe *fieldError
	if errors.As(err, &fe) {
		return &fieldError{path: segment + fe.path, err: fe.err}
	}
	return &fieldError{path: segment, err: err}
}

// withKeySegment is under for the key of a map.
func withKeySegment(key string, err error) error {
	if strings.ContainsAny(key, ".[]/ ") {
		return withPathSegment(fmt.Sprintf("[%q]", key), err)
	}
	return withPathSegment("."+key, err)
}

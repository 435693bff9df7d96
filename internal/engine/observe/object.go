package observe

import (
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Object is an observed composed resource. If it is wrapped in an Object of provider-kubernetes, it is the object that the wrapper last
// observed in its cluster, and Wrapper returns the wrapper.
//
// A field that does not exist, or has another type than requested, is absent, and so is every field of a nil Object. Returned values are
// copies.
type Object struct {
	raw     encoded.Struct
	exists  bool
	wrapper *Object
}

// unwrap returns the object inside if o is a wrapper, or else o.
func unwrap(o *Object) *Object {
	if !wrapper.IsObject(o.raw) {
		return o
	}
	inner := &Object{wrapper: o}
	inner.raw, inner.exists = wrapper.Observed(o.raw)
	return inner
}

// Exists reports whether the object was observed. It is false for a wrapped object that is not created or observed yet.
func (o *Object) Exists() bool { return o != nil && o.exists }

// Wrapped reports whether the object is inside an Object of provider-kubernetes.
func (o *Object) Wrapped() bool { return o.Wrapper() != nil }

// Wrapper returns the Object of provider-kubernetes around the object, itself not unwrapped, or nil.
func (o *Object) Wrapper() *Object {
	if o == nil {
		return nil
	}
	return o.wrapper
}

// Desired returns the last desired state of the object, without fields of the API server and other managers as far as these can be
// detected: the manifest of its wrapper, or else the fields that Crossplane applied. Without such managed fields, it returns the object.
func (o *Object) Desired() *Object {
	if o == nil {
		return nil
	}
	if o.Wrapped() {
		raw, ok := wrapper.Desired(o.wrapper.raw)
		return &Object{raw: raw, exists: ok}
	}
	if raw, ok := applied(o.raw); ok {
		return &Object{raw: raw, exists: o.exists}
	}
	return o
}

// OrphansOnDelete reports whether the object is a wrapper whose deletion does not delete the object inside.
func (o *Object) OrphansOnDelete() bool { return o != nil && wrapper.OrphansOnDelete(o.raw) }

// APIVersion returns the object's apiVersion.
func (o *Object) APIVersion() string { return o.String("apiVersion") }

// Kind returns the object's kind.
func (o *Object) Kind() string { return o.String("kind") }

// Name returns the object's name in its cluster.
func (o *Object) Name() string { return o.String("metadata", "name") }

// Namespace returns the object's namespace, or "" for a cluster-scoped object.
func (o *Object) Namespace() string { return o.String("metadata", "namespace") }

// Annotation returns the value of an annotation.
func (o *Object) Annotation(key string) string { return o.String("metadata", "annotations", key) }

// Generation returns metadata.generation, or 0 if the object's kind has no generations.
func (o *Object) Generation() int64 {
	n, _ := o.Int("metadata", "generation")
	return n
}

// Deleting reports whether the object is being deleted.
func (o *Object) Deleting() bool { return o.String("metadata", "deletionTimestamp") != "" }

// String returns the text at a path of field names, or "".
func (o *Object) String(path ...string) string { return o.at(path...).Text() }

// Keep returns the text at a path of an existing object, even if it is empty, or want if the object does not exist. Use it for a field that
// is immutable: an existing object keeps its value.
func (o *Object) Keep(want string, path ...string) string {
	if !o.Exists() {
		return want
	}
	return o.String(path...)
}

// Int returns the whole number at a path. It returns false if it does not exist, has a fraction, or it is beyond ±2^53.
func (o *Object) Int(path ...string) (int64, bool) { return o.at(path...).Int64() }

// Bool returns the boolean at a path. The second result is false if it does not exist.
func (o *Object) Bool(path ...string) (b, ok bool) { return o.at(path...).Bool() }

// List returns the list at a path, with elements of type nil, bool, float64, string, []any and map[string]any, or nil.
func (o *Object) List(path ...string) []any { return o.at(path...).List() }

// Map returns the object at a path, with values as in List, or nil. Without a path it returns the whole object, with its
// managedFields, unlike Full.
func (o *Object) Map(path ...string) map[string]any { return o.at(path...).Map() }

// Full returns the whole object, with values as in List, without metadata.managedFields, or nil if the object does not exist. It includes
// the status and the fields that the API server sets: remove these before composing the object again.
func (o *Object) Full() map[string]any {
	if !o.Exists() {
		return nil
	}
	full := o.Map()
	if metadata, ok := full["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	return full
}

// Condition is a condition in an object's status.
type Condition struct {
	// Status is True, False or Unknown.
	Status string
	// Reason is a CamelCase word, Message a sentence.
	Reason, Message string
	// ObservedGeneration is the generation that the condition refers to, or 0 if it is not reported.
	ObservedGeneration int64
}

// Condition returns the condition of a type in status.conditions. It returns false if it does not exist.
func (o *Object) Condition(kind string) (Condition, bool) {
	for c := range o.at("status", "conditions").Elements() {
		if c.Field("type").Text() == kind {
			generation, _ := c.Field("observedGeneration").Int64()
			return Condition{
				Status:             c.Field("status").Text(),
				Reason:             c.Field("reason").Text(),
				Message:            c.Field("message").Text(),
				ObservedGeneration: generation,
			}, true
		}
	}
	return Condition{}, false
}

// Since returns the time when one of the object's conditions last changed (RFC 3339), or "".
func (o *Object) Since() string {
	newest := ""
	for c := range o.at("status", "conditions").Elements() {
		newest = max(newest, c.Field("lastTransitionTime").Text())
	}
	return newest
}

// at returns the value at a path.
func (o *Object) at(path ...string) encoded.Value {
	if o == nil {
		return encoded.Value{}
	}
	return o.raw.At(path...)
}

package observe

import (
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Object is an observed composed resource. If it is wrapped in an Object of provider-kubernetes, it is what the wrapper
// last saw in its cluster, and Wrapper is the rest.
//
// A field that is not there, or has another type than was asked for, is absent, and so is every field of a nil Object.
// Values that are returned are copies.
type Object struct {
	raw     encoded.Struct
	exists  bool
	wrapper *Object
}

// unwrap is the object inside, if o is a wrapper, or else o.
func unwrap(o *Object) *Object {
	if !wrapper.IsObject(o.raw) {
		return o
	}
	inner := &Object{wrapper: o}
	inner.raw, inner.exists = wrapper.Observed(o.raw)
	return inner
}

// Exists reports whether the object was seen: a wrapped one that is yet to be created, or observed, does not exist.
func (o *Object) Exists() bool { return o != nil && o.exists }

// Wrapped reports whether the object is inside an Object of provider-kubernetes.
func (o *Object) Wrapped() bool { return o.Wrapper() != nil }

// Wrapper is the Object of provider-kubernetes around the object, itself not unwrapped. It is nil if there is none.
func (o *Object) Wrapper() *Object {
	if o == nil {
		return nil
	}
	return o.wrapper
}

// Desired is the object as it was desired last, seen or not, as far as that can be told from what its server and others wrote: what its
// wrapper holds, or else the fields that Crossplane applied. If an object does not say which these are, it is the object itself.
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

// OrphansOnDelete reports whether the object is a wrapper that lets go of what it is around when it is deleted.
func (o *Object) OrphansOnDelete() bool { return o != nil && wrapper.OrphansOnDelete(o.raw) }

// APIVersion is the object's apiVersion.
func (o *Object) APIVersion() string { return o.String("apiVersion") }

// Kind is the object's kind.
func (o *Object) Kind() string { return o.String("kind") }

// Name is the object's name in its cluster.
func (o *Object) Name() string { return o.String("metadata", "name") }

// Namespace is the object's namespace. It is empty if the object is cluster-scoped.
func (o *Object) Namespace() string { return o.String("metadata", "namespace") }

// Annotation is the value of an annotation.
func (o *Object) Annotation(key string) string { return o.String("metadata", "annotations", key) }

// Generation counts the changes of the object's spec. It is 0 if the object's kind has no generations.
func (o *Object) Generation() int64 {
	n, _ := o.Int("metadata", "generation")
	return n
}

// Deleting reports whether the object is being deleted.
func (o *Object) Deleting() bool { return o.String("metadata", "deletionTimestamp") != "" }

// String is the text at a path of field names. It is empty if there is none.
func (o *Object) String(path ...string) string { return o.at(path...).Text() }

// Keep is the text at a path of an object that exists, even if there is none, or else what is wanted. It is for a field that cannot change
// in the life of an object: a new object gets what is wanted, one that is there keeps what it has.
func (o *Object) Keep(want string, path ...string) string {
	if !o.Exists() {
		return want
	}
	return o.String(path...)
}

// Int is the whole number at a path. It is false if there is none, or it has a fraction, or is beyond ±2^53.
func (o *Object) Int(path ...string) (int64, bool) { return o.at(path...).Int64() }

// Bool is the boolean at a path. The second result is false if there is none.
func (o *Object) Bool(path ...string) (b, ok bool) { return o.at(path...).Bool() }

// List is the list at a path: of nil, bool, float64, string, []any and map[string]any. It is nil if there is none.
func (o *Object) List(path ...string) []any { return o.at(path...).List() }

// Map is the object at a path, with values as in List. It is nil if there is none. No path gives the whole object, with
// its managedFields, unlike Full.
func (o *Object) Map(path ...string) map[string]any { return o.at(path...).Map() }

// Full is the whole object, with values as in List, without metadata.managedFields. It has what the server owns and the
// status: whoever composes the object again must take these away. It is nil if the object does not exist.
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

// Condition is one of the conditions in an object's status.
type Condition struct {
	// Status is True, False or Unknown.
	Status string
	// Reason is a word, and Message a sentence, of why.
	Reason, Message string
	// ObservedGeneration is the generation of the object that the condition was found for. It is 0 if it does not say.
	ObservedGeneration int64
}

// Condition is the condition of a type in status.conditions. It is false if there is none.
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

// Since is when one of the object's conditions last changed (RFC 3339). It is empty if none reports.
func (o *Object) Since() string {
	newest := ""
	for c := range o.at("status", "conditions").Elements() {
		newest = max(newest, c.Field("lastTransitionTime").Text())
	}
	return newest
}

// at is the value at a path.
func (o *Object) at(path ...string) encoded.Value {
	if o == nil {
		return encoded.Value{}
	}
	return o.raw.At(path...)
}

// Package object builds objects of third-party kinds from literals. It does not use the third parties' Go types, because
// those write zero values that differ in meaning from absent fields. Tests validate all built objects against the
// real CRD.
package object

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Map is a JSON object. Whole numbers in it are int64.
type Map = map[string]any

// List is a JSON array. Whole numbers in it are int64.
type List = []any

// Meta is the metadata of a composed object.
type Meta struct {
	// Name and namespace.
	Name, Namespace string
	// Labels.
	Labels map[string]string
	// Annotations.
	Annotations map[string]string
}

// New builds an object with a spec. A nil spec is omitted.
func New(apiVersion, kind string, meta Meta, spec Map) *unstructured.Unstructured {
	m := Map{"name": meta.Name}
	if meta.Namespace != "" {
		m["namespace"] = meta.Namespace
	}
	if len(meta.Labels) > 0 {
		m["labels"] = Strings(meta.Labels)
	}
	if len(meta.Annotations) > 0 {
		m["annotations"] = Strings(meta.Annotations)
	}
	o := Map{"apiVersion": apiVersion, "kind": kind, "metadata": m}
	if spec != nil {
		o["spec"] = spec
	}
	return &unstructured.Unstructured{Object: o}
}

// Strings returns a map of strings as a JSON object.
func Strings[K, V ~string](in map[K]V) Map {
	out := Map{}
	for k, v := range in {
		out[string(k)] = string(v)
	}
	return out
}

// Array returns a slice of strings as a JSON array.
func Array[S ~string](in ...S) List {
	out := List{}
	for _, s := range in {
		out = append(out, string(s))
	}
	return out
}

// WithOptional adds the entries of optional to m, except a nil Map or List, an empty string or nil.
func WithOptional(m Map, optional Map) Map {
	for k, v := range optional {
		switch t := v.(type) {
		case nil:
		case Map:
			if t != nil {
				m[k] = v
			}
		case List:
			if t != nil {
				m[k] = v
			}
		case string:
			if t != "" {
				m[k] = v
			}
		default:
			m[k] = v
		}
	}
	return m
}

// textOf returns an amount as text. String stores its result in the amount, and requests share the amounts of sizes.
func textOf(amount *resource.Quantity) string {
	own := amount.DeepCopy()
	return own.String()
}

// Resources returns resources in the form of custom resources, or nil.
func Resources(r *common.Resources) Map {
	if r == nil {
		return nil
	}
	out := Map{}
	for name, a := range map[string]*common.ResourceAmounts{"requests": r.Requests, "limits": r.Limits} {
		if a == nil {
			continue
		}
		amounts := Map{}
		if a.CPU != nil {
			amounts["cpu"] = textOf(a.CPU)
		}
		if a.Memory != nil {
			amounts["memory"] = textOf(a.Memory)
		}
		if a.EphemeralStorage != nil {
			amounts["ephemeral-storage"] = textOf(a.EphemeralStorage)
		}
		out[name] = amounts
	}
	return out
}

// Tolerations returns tolerations in the form of custom resources, or nil for an empty list.
func Tolerations(in []common.Toleration) List {
	var out List
	for _, t := range in {
		m := WithOptional(Map{}, Map{"key": t.Key, "operator": t.Operator, "value": t.Value, "effect": t.Effect})
		if t.TolerationSeconds != nil {
			m["tolerationSeconds"] = *t.TolerationSeconds
		}
		out = append(out, m)
	}
	return out
}

// NodeSelector returns a node selector in the form of custom resources, or nil if it is empty.
func NodeSelector(in map[string]common.LabelValue) Map {
	if len(in) == 0 {
		return nil
	}
	return Strings(in)
}

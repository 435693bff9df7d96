// Package wrapper builds and reads Objects of provider-kubernetes. An Object contains another object; with it Crossplane reaches other
// clusters and can orphan objects. No other package uses its kind or fields.
//
// https://github.com/crossplane-contrib/provider-kubernetes/tree/main/apis
package wrapper

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

const kind = "Object"

// Kinds of an Object: for cluster-scoped composite resources, and for namespaced ones.
var (
	ClusterScoped = schema.GroupVersionKind{Group: "kubernetes.crossplane.io", Version: "v1alpha2", Kind: kind}
	Namespaced    = schema.GroupVersionKind{Group: "kubernetes.m.crossplane.io", Version: "v1alpha1", Kind: kind}
)

// Kinds of the configurations of a cluster, to which Objects of the two kinds refer.
var (
	ClusterScopedConfig = schema.GroupVersionKind{Group: ClusterScoped.Group, Version: "v1alpha1", Kind: "ProviderConfig"}
	NamespacedConfig    = schema.GroupVersionKind{Group: Namespaced.Group, Version: "v1alpha1", Kind: namespacedConfigKind}
)

const namespacedConfigKind = "ClusterProviderConfig"

var (
	desiredPath  = []string{"spec", "forProvider", "manifest"}
	observedPath = []string{"status", "atProvider", "manifest"}
)

// Wrapper describes a desired Object.
type Wrapper struct {
	// Name of the Object, and its namespace: empty for a cluster-scoped one.
	Name, Namespace string
	// ProviderConfig names the cluster of the object inside.
	ProviderConfig string
	// Keep: deletion of the Object does not delete the object inside.
	Keep bool
	// Observe: the object inside is external and only observed.
	Observe bool
	// ReadyCEL is the readiness query of the Object. Empty: it is ready as soon as the object inside exists.
	ReadyCEL string
	// Desired is the object inside.
	Desired encoded.Struct
}

// managementPoliciesAll is the default, managementPoliciesNoDelete all of that except Delete, managementPoliciesObserve only Observe.
// https://docs.crossplane.io/latest/managed-resources/managed-resources/#managementpolicies
var (
	managementPoliciesAll      = encoded.List(encoded.Text("*"))
	managementPoliciesNoDelete = encoded.List(encoded.Text("Observe"), encoded.Text("Create"), encoded.Text("Update"),
		encoded.Text("LateInitialize"))
	managementPoliciesObserve = encoded.List(encoded.Text("Observe"))
)

// Struct returns the desired Object.
func (w Wrapper) Struct() encoded.Struct {
	gvk, meta, config := ClusterScoped, encoded.Fields{"name": encoded.Text(w.Name)}, encoded.Fields{"name": encoded.Text(w.ProviderConfig)}
	if w.Namespace != "" {
		gvk = Namespaced
		meta["namespace"] = encoded.Text(w.Namespace)
		config["kind"] = encoded.Text(namespacedConfigKind)
	}
	policies := managementPoliciesAll
	switch {
	case w.Observe:
		policies = managementPoliciesObserve
	case w.Keep:
		policies = managementPoliciesNoDelete
	}
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	return encoded.Fields{
		"apiVersion": encoded.Text(apiVersion),
		"kind":       encoded.Text(kind),
		"metadata":   meta.Value(),
		"spec": encoded.Fields{
			"forProvider":        encoded.Fields{"manifest": w.Desired.Value()}.Value(),
			"managementPolicies": policies,
			"providerConfigRef":  config.Value(),
			"readiness":          w.readiness(),
			// Without it, the provider polls every 30 s, which delays each stage of a start, and every 10 minutes once the Object is ready.
			// It takes effect if the provider runs with --enable-watches, which the chart of this project sets.
			"watch": encoded.Bool(true),
		}.Value(),
	}.Struct()
}

func (w Wrapper) readiness() encoded.Value {
	if w.ReadyCEL == "" {
		return encoded.Fields{"policy": encoded.Text("SuccessfulCreate")}.Value()
	}
	return encoded.Fields{"policy": encoded.Text("DeriveFromCelQuery"), "celQuery": encoded.Text(w.ReadyCEL)}.Value()
}

// IsObject reports whether o is an Object.
func IsObject(o encoded.Struct) bool {
	if o.At("kind").Text() != kind {
		return false
	}
	gv, err := schema.ParseGroupVersion(o.At("apiVersion").Text())
	return err == nil && (gv.Group == ClusterScoped.Group || gv.Group == Namespaced.Group)
}

// Desired returns the manifest of the object inside. It returns false if o is not an Object.
func Desired(o encoded.Struct) (encoded.Struct, bool) {
	if !IsObject(o) {
		return nil, false
	}
	return o.At(desiredPath...).Struct()
}

// WithoutDesired returns an Object without the manifest of the object inside.
func WithoutDesired(o encoded.Struct) map[string]any {
	out := o.Map()
	unstructured.RemoveNestedField(out, desiredPath...)
	return out
}

// Observed returns the object inside as last observed. It returns false if it was not observed yet.
func Observed(o encoded.Struct) (encoded.Struct, bool) { return o.At(observedPath...).Struct() }

// WithObserved returns an Object that observed the object inside.
func WithObserved(o, inside encoded.Struct) encoded.Struct {
	return o.With(inside.Value(), observedPath...)
}

// ProviderConfig returns the name of the provider config, or "" if o is not an Object.
func ProviderConfig(o encoded.Struct) string { return o.At("spec", "providerConfigRef", "name").Text() }

// IsObserveOnly reports whether the object inside is only observed.
func IsObserveOnly(o encoded.Struct) bool {
	policies := o.At("spec", "managementPolicies").List()
	return IsObject(o) && len(policies) == 1 && policies[0] == any("Observe")
}

// OrphansOnDelete reports whether the object inside outlives the Object, because the Object may not delete it. It is false if o is not an
// Object.
func OrphansOnDelete(o encoded.Struct) bool {
	if !IsObject(o) {
		return false
	}
	policies := o.At("spec", "managementPolicies").List()
	return len(policies) > 0 && !slices.Contains(policies, any("*")) && !slices.Contains(policies, any("Delete"))
}

// Package wrapper knows what an Object of provider-kubernetes looks like: what holds another object, by which Crossplane reaches a
// cluster that is not its own, and lets go of what it made. Nobody else spells its kind or a field of it.
//
// https://github.com/crossplane-contrib/provider-kubernetes/tree/main/apis
package wrapper

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

const kind = "Object"

// Kinds of an Object: that of cluster-scoped composite resources, and that of namespaced ones.
var (
	ClusterScoped = schema.GroupVersionKind{Group: "kubernetes.crossplane.io", Version: "v1alpha2", Kind: kind}
	Namespaced    = schema.GroupVersionKind{Group: "kubernetes.m.crossplane.io", Version: "v1alpha1", Kind: kind}
)

var (
	desiredPath  = []string{"spec", "forProvider", "manifest"}
	observedPath = []string{"status", "atProvider", "manifest"}
)

// Wrapper is an Object that is to be composed.
type Wrapper struct {
	// Name of the Object, and its namespace: empty for a cluster-scoped one.
	Name, Namespace string
	// ProviderConfig names the cluster that the object inside lives in.
	ProviderConfig string
	// Keep says that the object inside outlives the Object.
	Keep bool
	// Observe says that the object inside is somebody else's, and only looked at.
	Observe bool
	// ReadyCEL is the question by which the Object is ready. Empty: as soon as the object inside exists.
	ReadyCEL string
	// Desired is the object inside.
	Desired encoded.Struct
}

// managementPoliciesAll is what an Object may do by default, keepPolicies all of that but Delete, lookPolicies nothing but to look.
// https://docs.crossplane.io/latest/managed-resources/managed-resources/#managementpolicies
var (
	managementPoliciesAll      = encoded.List(encoded.Text("*"))
	managementPoliciesNoDelete = encoded.List(encoded.Text("Observe"), encoded.Text("Create"), encoded.Text("Update"), encoded.Text("LateInitialize"))
	managementPoliciesObserve  = encoded.List(encoded.Text("Observe"))
)

// Struct is the Object as it is composed.
func (w Wrapper) Struct() encoded.Struct {
	gvk, meta, config := ClusterScoped, encoded.Fields{"name": encoded.Text(w.Name)}, encoded.Fields{"name": encoded.Text(w.ProviderConfig)}
	if w.Namespace != "" {
		gvk = Namespaced
		meta["namespace"] = encoded.Text(w.Namespace)
		config["kind"] = encoded.Text("ClusterProviderConfig")
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
			// Without it, the provider looks every 30 s, so that each stage of a start would take that long, and at what is ready every
			// 10 minutes. It is honoured where the provider runs with --enable-watches, as our chart makes it.
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

// IsObject reports whether something is an Object.
func IsObject(o encoded.Struct) bool {
	if o.At("kind").Text() != kind {
		return false
	}
	gv, err := schema.ParseGroupVersion(o.At("apiVersion").Text())
	return err == nil && (gv.Group == ClusterScoped.Group || gv.Group == Namespaced.Group)
}

// Desired is the object inside as it is desired. It is false of what is no Object.
func Desired(o encoded.Struct) (encoded.Struct, bool) {
	if !IsObject(o) {
		return nil, false
	}
	return o.At(desiredPath...).Struct()
}

// Observed is the object inside as the Object saw it last. It is false where it was not seen yet.
func Observed(o encoded.Struct) (encoded.Struct, bool) { return o.At(observedPath...).Struct() }

// WithObserved is an Object that saw an object.
func WithObserved(o, inside encoded.Struct) encoded.Struct {
	return o.With(inside.Value(), observedPath...)
}

// ProviderConfig names the cluster that the object inside lives in. It is empty of what is no Object.
func ProviderConfig(o encoded.Struct) string { return o.At("spec", "providerConfigRef", "name").Text() }

// IsObserveOnly reports whether the object inside is only looked at.
func IsObserveOnly(o encoded.Struct) bool {
	policies := o.At("spec", "managementPolicies").List()
	return IsObject(o) && len(policies) == 1 && policies[0] == any("Observe")
}

// OrphansOnDelete reports whether the object inside outlives the Object, which may do everything but delete it. What is no Object keeps nothing.
func OrphansOnDelete(o encoded.Struct) bool {
	if !IsObject(o) {
		return false
	}
	policies := o.At("spec", "managementPolicies").List()
	return len(policies) > 0 && !slices.Contains(policies, any("*")) && !slices.Contains(policies, any("Delete"))
}

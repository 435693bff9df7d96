package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion of claims, of the composite resources that Crossplane creates for them, and of PlatformConfig.
var GroupVersion = schema.GroupVersion{Group: "crossplane.c5c3.io", Version: "v1alpha1"}

// CompositeOf returns the kind of the composite resource that Crossplane creates for a claim.
func CompositeOf(claim schema.GroupVersionKind) schema.GroupVersionKind {
	claim.Kind = "X" + claim.Kind
	return claim
}

// namespacedPrefix precedes a claim's group in the group of its namespaced form, as in Crossplane's groups of namespaced managed resources.
const namespacedPrefix = "m."

// NamespacedOf returns the namespaced form of a claim: a composite resource of Crossplane 2 with the same kind and spec.
func NamespacedOf(claim schema.GroupVersionKind) schema.GroupVersionKind {
	claim.Group = namespacedPrefix + claim.Group
	return claim
}

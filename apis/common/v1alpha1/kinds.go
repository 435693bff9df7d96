package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion of claims, of the composite resources that Crossplane creates for them, and of PlatformConfig.
var GroupVersion = schema.GroupVersion{Group: "crossplane.c5c3.io", Version: "v1alpha1"}

// CompositeOf returns the kind of the composite resource that Crossplane creates for a claim.
func CompositeOf(claim schema.GroupVersionKind) schema.GroupVersionKind {
	claim.Kind = "X" + claim.Kind
	return claim
}

package v1alpha1

import common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"

// GroupVersionKind of the claim, and CompositeGroupVersionKind of the composite resource that Crossplane creates for it.
var (
	GroupVersionKind          = common.GroupVersion.WithKind("OpenStackCluster")
	CompositeGroupVersionKind = common.CompositeOf(GroupVersionKind)
)

package v1alpha1

import common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"

// GroupVersionKind of a WorkloadCluster.
var GroupVersionKind = common.GroupVersion.WithKind("WorkloadCluster")

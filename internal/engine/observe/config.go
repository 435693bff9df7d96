package observe

import "github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"

// Kinds of the configurations with which provider-kubernetes reaches a cluster: for Objects of cluster-scoped composite resources, and of
// namespaced ones.
var (
	ClusterScopedConfig = wrapper.ClusterScopedConfig
	NamespacedConfig    = wrapper.NamespacedConfig
)

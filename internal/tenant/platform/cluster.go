package platform

import (
	"cmp"
	"fmt"
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// Management returns the provider config of the management cluster.
func Management(p *platformv1.PlatformConfigSpec) string {
	return string(p.ProviderConfig)
}

// IPFamily returns the first address family of the cluster with a provider config. Empty: IPv4, the default of specs.
func IPFamily(p *platformv1.PlatformConfigSpec, providerConfig string) common.IPFamily {
	family := p.IPFamily
	for _, c := range p.Clusters {
		if string(c.ProviderConfig) == providerConfig {
			family = cmp.Or(c.IPFamily, family)
		}
	}
	if family == common.IPv6 {
		return family
	}
	return ""
}

// Cluster returns the provider config of the cluster that a claim references, or of the management cluster if it references
// none. A name that does not exist and a name that is not allowed for the namespace result in the same error, so that
// tenants cannot discover the clusters of others.
func Cluster(p *platformv1.PlatformConfigSpec, namespace string, c *common.Cluster) (string, error) {
	if c == nil || c.Ref == nil {
		return Management(p), nil
	}
	i := slices.IndexFunc(p.Clusters, func(o platformv1.Cluster) bool {
		return o.Name == c.Ref.Name && limit.Namespace(o.AllowedNamespaces, namespace)
	})
	if i < 0 {
		return "", invalid.Field("spec.cluster.ref.name",
			"cluster %q is not available in namespace %q; ask the platform team, or remove cluster", c.Ref.Name, namespace)
	}
	return string(p.Clusters[i].ProviderConfig), nil
}

// ClusterOf returns the provider config of a cluster by its name, without a check of permissions, for objects that already
// exist there. Without a name, it returns the provider config of the management cluster. If the cluster was removed, this
// is an error of the platform, not of a tenant.
func ClusterOf(p *platformv1.PlatformConfigSpec, subject string, name common.ObjectName) (string, error) {
	if name == "" {
		return Management(p), nil
	}
	i := slices.IndexFunc(p.Clusters, func(o platformv1.Cluster) bool { return o.Name == name })
	if i < 0 {
		return "", fmt.Errorf("%s is in cluster %q, which is neither a WorkloadCluster nor in clusters of the PlatformConfig; the "+
			"platform team has to register it again", subject, name)
	}
	return string(p.Clusters[i].ProviderConfig), nil
}

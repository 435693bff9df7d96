package platform

import (
	"cmp"
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// Management is the provider config of the management cluster.
func Management(p *platformv1.PlatformConfigSpec) string {
	return cmp.Or(string(p.ProviderConfig), "in-cluster")
}

// Cluster is the provider config of the cluster that a claim of a namespace names, if the platform offers it to that namespace, or else of
// the management cluster. The answer to a name that does not exist and to one that is not allowed is the same: what others have is
// nobody's business.
func Cluster(p *platformv1.PlatformConfigSpec, namespace string, c *common.Cluster) (string, error) {
	if c == nil || c.Ref == nil {
		return Management(p), nil
	}
	i := slices.IndexFunc(p.Clusters, func(o platformv1.Cluster) bool {
		return o.Name == c.Ref.Name && limit.Namespace(o.AllowedNamespaces, namespace)
	})
	if i < 0 {
		return "", invalid.Field("spec.cluster.ref.name",
			"the platform offers no cluster %q to claims in namespace %q; ask the platform team, or leave cluster out", c.Ref.Name, namespace)
	}
	return string(p.Clusters[i].ProviderConfig), nil
}

// ClusterOf is the provider config of a cluster by its name, whoever may use it. Without a name it is that of the management cluster.
// False: there is none any more.
func ClusterOf(p *platformv1.PlatformConfigSpec, name common.ObjectName) (string, bool) {
	if name == "" {
		return Management(p), true
	}
	i := slices.IndexFunc(p.Clusters, func(o platformv1.Cluster) bool { return o.Name == name })
	if i < 0 {
		return "", false
	}
	return string(p.Clusters[i].ProviderConfig), true
}

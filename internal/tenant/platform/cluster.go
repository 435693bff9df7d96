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

// ClusterOf is the provider config of a cluster by its name, whoever may use it, for what somebody has there. Without a name it is that of
// the management cluster. If there is none any more that is the platform's to say, and not a tenant's mistake.
func ClusterOf(p *platformv1.PlatformConfigSpec, what string, name common.ObjectName) (string, error) {
	if name == "" {
		return Management(p), nil
	}
	i := slices.IndexFunc(p.Clusters, func(o platformv1.Cluster) bool { return o.Name == name })
	if i < 0 {
		return "", fmt.Errorf("%s is in cluster %q, which the PlatformConfig does not name any more; the platform team has to add it to "+
			"clusters again", what, name)
	}
	return string(p.Clusters[i].ProviderConfig), nil
}

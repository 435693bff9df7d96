package controlplane

import (
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// findCluster returns the cluster that a claim names, if the platform offers it to the claim's namespace. The answer to a name that does
// not exist and to one that is not allowed is the same: what others have is nobody's business.
func findCluster(p *platformv1.PlatformConfigSpec, namespace string, name common.ObjectName) (*platformv1.Cluster, error) {
	for i, c := range p.Clusters {
		if c.Name == name && limit.Namespace(c.AllowedNamespaces, namespace) {
			return &p.Clusters[i], nil
		}
	}
	return nil, invalid.Field("spec.cluster.ref.name",
		"the platform offers no cluster %q to claims in namespace %q; ask the platform team, or leave cluster out", name, namespace)
}

func join[S ~string](in []S) string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}

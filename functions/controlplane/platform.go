package controlplane

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// platformRequirement is the name under which the Composition asks for the PlatformConfig.
const platformRequirement = "platform"

// platform reads the PlatformConfig. Without it nothing is composed: a cloud with other defaults would be a smaller one.
func platform(in function.Input[controlplanev1.ControlPlaneCluster]) (*platformv1.PlatformConfigSpec, error) {
	found := in.Required[platformRequirement]
	if len(found) == 0 {
		return nil, errors.New("there is no PlatformConfig named default; the platform team has to make one")
	}
	p := platformv1.PlatformConfig{}
	if err := function.Decode(found[0], &p); err != nil {
		return nil, fmt.Errorf("cannot read the PlatformConfig: %w", err)
	}
	return &p.Spec, nil
}

// findCluster returns the cluster that a claim names, if the platform offers it to the claim's namespace. The answer to a name that does
// not exist and to one that is not allowed is the same: what others have is nobody's business.
func findCluster(p *platformv1.PlatformConfigSpec, namespace string, name common.ObjectName) (*platformv1.Cluster, error) {
	for i, c := range p.Clusters {
		if c.Name == name && matches(c.AllowedNamespaces, namespace) {
			return &p.Clusters[i], nil
		}
	}
	return nil, invalid.Field("spec.cluster.ref.name",
		"the platform offers no cluster %q to claims in namespace %q; ask the platform team, or leave cluster out", name, namespace)
}

// matches reports whether a namespace is among the patterns, in which * stands for any run of characters.
func matches(patterns []common.NamespacePattern, namespace string) bool {
	return slices.ContainsFunc(patterns, func(p common.NamespacePattern) bool {
		ok, err := path.Match(string(p), namespace)
		return ok && err == nil
	})
}

func join[S ~string](in []S) string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}

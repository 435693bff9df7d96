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
	"github.com/c5c3/crossplane-cobaltcore/internal/function"
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

// findCluster gives the cluster that a claim names, if the platform offers it to the claim's namespace. The answer to a
// name that does not exist and to one that is not allowed is the same: what others have is nobody's business.
func findCluster(p *platformv1.PlatformConfigSpec, namespace string, name common.ObjectName) (*platformv1.Cluster, error) {
	for i, c := range p.Clusters {
		if c.Name == name && matches(c.AllowedNamespaces, namespace) {
			return &p.Clusters[i], nil
		}
	}
	return nil, invalid.Field("spec.cluster.ref.name",
		"the platform offers no cluster %q to claims in namespace %q; ask the platform team, or leave cluster out", name, namespace)
}

// checkLimits refuses what the platform does not allow in the claim's namespace.
func (m *model) checkLimits(p *platformv1.PlatformConfigSpec) error {
	for _, l := range p.Limits {
		if !matches(l.Namespaces, m.claim.Namespace) {
			continue
		}
		if err := m.checkLimit(l); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) checkLimit(l platformv1.Limit) error {
	if len(l.Sizes) > 0 && !slices.Contains(l.Sizes, platformv1.Size(m.spec.Size)) {
		return invalid.Field("spec.size", "the platform's limit %q allows %s; choose one of these", l.Name, join(l.Sizes))
	}
	if len(l.Releases) > 0 && !slices.Contains(l.Releases, platformv1.Release(m.spec.OpenStackRelease)) {
		return invalid.Field("spec.openStackRelease", "the platform's limit %q allows %s; choose one of these", l.Name, join(l.Releases))
	}
	named := map[string]common.Hostname{
		"spec.global.domain":              m.spec.Global.Domain,
		"spec.services.keystone.hostname": m.spec.Services.Keystone.Hostname,
	}
	for _, field := range sortedKeys(named) {
		host := named[field]
		if host != "" && len(l.Domains) > 0 && !slices.ContainsFunc(l.Domains, func(d common.Hostname) bool {
			return host == d || strings.HasSuffix(string(host), "."+string(d))
		}) {
			return invalid.Field(field, "the platform's limit %q allows %s and what lies below; choose a name there", l.Name, join(l.Domains))
		}
	}
	return m.checkRegistries(l)
}

// checkRegistries looks at every image that the claim names itself.
func (m *model) checkRegistries(l platformv1.Limit) error {
	if len(l.Registries) == 0 {
		return nil
	}
	named := map[string]string{}
	if i := m.spec.Global.Images; i != nil {
		named["spec.global.images.registry"] = i.Registry
	}
	k := m.spec.Services.Keystone
	if k.Image != nil {
		named["spec.services.keystone.image.repository"] = k.Image.Repository
	}
	if k.Federation != nil && k.Federation.ProxyImage != nil {
		named["spec.services.keystone.federation.proxyImage.repository"] = k.Federation.ProxyImage.Repository
	}
	if i := m.spec.Infrastructure.Memcached.Image; i != nil {
		named["spec.infrastructure.memcached.image.repository"] = i.Repository
	}
	for _, field := range sortedKeys(named) {
		image := named[field]
		if image != "" && !slices.ContainsFunc(l.Registries, func(r platformv1.Registry) bool {
			return image == string(r) || strings.HasPrefix(image, string(r)+"/")
		}) {
			return invalid.Field(field, "the platform's limit %q allows images from %s; choose one of these", l.Name, join(l.Registries))
		}
	}
	return nil
}

// matches tells whether a namespace is among the patterns, in which * stands for any run of characters.
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

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

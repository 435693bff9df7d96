package controlplane

import (
	"strings"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// global merges the settings of the claim with the platform's.
func (m *model) global() {
	g, p := m.spec.Global, m.platform
	m.domain = string(g.Domain)
	if m.domain == "" {
		m.domain = m.defaultDomain()
	}
	g.Domain = common.Hostname(m.domain)
	g.Exposure = mergeExposure(g.Exposure, p.Exposure)
	g.TLS = merge.Overlay(g.TLS, p.TLS)
	g.Monitoring = merge.Overlay(g.Monitoring, p.Monitoring)
	g.SecretStore = merge.Overlay(g.SecretStore, p.SecretStore)
	g.Images = merge.Overlay(g.Images, p.Images)
	m.settings = g

	m.exposure = ptr.Deref(g.Exposure, common.Exposure{Type: exposure.None})
	m.tls = ptr.Deref(g.TLS, common.TLS{})
	if !ptr.Deref(m.tls.Enabled, true) {
		// Without TLS, the platform's issuer has no certificate to issue.
		m.tls.IssuerRef = nil
	}
	monitoring := ptr.Deref(g.Monitoring, common.MonitoringSettings{})
	m.monitoring = common.Monitoring{Enabled: ptr.Deref(monitoring.Enabled, false), Labels: monitoring.Labels}
	m.secretStore = g.SecretStore
	m.images = ptr.Deref(g.Images, common.Images{})
}

// checkTLS returns an error for an issuer in the claim if the platform disables TLS. Admission rejects an issuer if the claim disables it.
func (m *model) checkTLS() error {
	if t := m.spec.Global.TLS; t != nil && t.IssuerRef != nil && !ptr.Deref(m.tls.Enabled, true) {
		return invalid.Field("spec.global.tls.issuerRef", "has no effect, because the platform disables TLS; "+
			"set tls.enabled to true, or remove issuerRef")
	}
	return nil
}

// mergeExposure merges a claim's exposure with the platform's. If the types differ, only allowedNamespaces of the platform applies:
// Gateways, classes and annotations are for the controllers of one type.
func mergeExposure(claim, platform *common.Exposure) *common.Exposure {
	if claim != nil && platform != nil && claim.Type != platform.Type {
		platform = &common.Exposure{AllowedNamespaces: platform.AllowedNamespaces}
	}
	return merge.Overlay(claim, platform)
}

// expand inserts the claim's namespace into a limit's pattern. A composite resource without a claim belongs to the platform team and has no
// namespace.
func (m *model) expand(pattern string) string {
	return strings.TrimPrefix(limit.Expand(pattern, m.claim.Namespace), ".")
}

// claimDomain returns the parent domain of all claims of the namespace if no limit sets one.
func (m *model) claimDomain() string { return m.expand("{namespace}." + string(m.platform.Domain)) }

// defaultDomain returns the claim's own domain: below the first domain of its limits that all of its limits allow, or else below the
// platform's domain.
func (m *model) defaultDomain() string {
	for _, pattern := range m.limitDomains() {
		if !strings.Contains(pattern, "{namespace}") {
			pattern = "{namespace}." + pattern
		}
		if domain := m.claim.Name + "." + m.expand(pattern); m.allowsDomain(domain) {
			return domain
		}
	}
	return m.claim.Name + "." + m.claimDomain()
}

// ofThePlatform returns a workload that has permissions of the platform, and its image. Image, pull secrets, nodes and resources come from
// the PlatformConfig and never from the claim: otherwise a tenant could run code with these permissions.
func (m *model) ofThePlatform(name string) (workload.Workload, string, error) {
	c, images := ptr.Deref(m.platform.Companion, platformv1.Companion{}), ptr.Deref(m.platform.Images, common.Images{})
	w := m.workload(name)
	w.Replicas = m.size.companion
	w.Resources = merge.Overlay(c.Resources, resources("50m", "128Mi", "256Mi"))
	w.Placement = c.Placement
	w.PullSecrets = m.platformPull
	image, err := release.ImageFor(name, m.release, release.Override{Registry: images.Registry})
	return w, image, err
}

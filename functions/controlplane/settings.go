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

// global lays the claim's settings over the platform's.
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
		// The platform's issuer has nothing to issue for a claim that switches TLS off.
		m.tls.IssuerRef = nil
	}
	monitoring := ptr.Deref(g.Monitoring, common.MonitoringSettings{})
	m.monitoring = common.Monitoring{Enabled: ptr.Deref(monitoring.Enabled, false), Labels: monitoring.Labels}
	m.secretStore = g.SecretStore
	m.images = ptr.Deref(g.Images, common.Images{})
}

// checkTLS refuses an issuer that has nothing to issue, because it is the platform that has no TLS. Admission refuses one where it is the
// claim.
func (m *model) checkTLS() error {
	if t := m.spec.Global.TLS; t != nil && t.IssuerRef != nil && !ptr.Deref(m.tls.Enabled, true) {
		return invalid.Field("spec.global.tls.issuerRef", "the platform serves without TLS, so that there is no certificate to issue; "+
			"say tls.enabled: true, or leave issuerRef out")
	}
	return nil
}

// mergeExposure lays a claim's exposure over the platform's. Of one of another type, all that holds is who is let in: Gateways, classes
// and annotations are for the controllers of one type.
func mergeExposure(claim, platform *common.Exposure) *common.Exposure {
	if claim != nil && platform != nil && claim.Type != platform.Type {
		platform = &common.Exposure{AllowedNamespaces: platform.AllowedNamespaces}
	}
	return merge.Overlay(claim, platform)
}

// expand puts the claim's namespace into a limit's pattern. What has no claim is the platform team's own, and has no namespace.
func (m *model) expand(pattern string) string {
	return strings.TrimPrefix(limit.Expand(pattern, m.claim.Namespace), ".")
}

// claimDomain is that of all claims of the namespace, where no limit says otherwise.
func (m *model) claimDomain() string { return m.expand("{namespace}." + string(m.platform.Domain)) }

// defaultDomain is the claim's own domain, below the first of its limits' domains that all of its limits allow, or below the platform's.
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

// ofThePlatform is a workload that holds rights of the platform, and its image. Images, pull secrets, nodes and resources are those of the
// PlatformConfig, whatever the claim says: who chooses what runs has its rights.
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

package claim

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// Limits returns the limits of the claim's namespace.
func (c *Claim) Limits() []platformv1.Limit { return limit.In(c.Platform.Limits, c.Ref.Namespace) }

// limitDomains returns the domains of the limits of the claim's namespace, without the pattern for all domains.
func (c *Claim) limitDomains() []string {
	var out []string
	for _, l := range c.Limits() {
		for _, d := range l.Domains {
			if d != "*" {
				out = append(out, string(d))
			}
		}
	}
	return out
}

// allowsDomain reports whether every limit that has domains allows this one.
func (c *Claim) allowsDomain(domain string) bool {
	return !slices.ContainsFunc(c.Limits(), func(l platformv1.Limit) bool {
		return l.Domains != nil && !slices.ContainsFunc(l.Domains, func(d platformv1.DomainPattern) bool {
			return limit.Domain(c.Expand(string(d)), domain)
		})
	})
}

// mergedSettings merges the settings of the claim with the platform's.
func (c *Claim) mergedSettings() controlplanev1.Global {
	g, p := c.Spec.Global, c.Platform
	g.Domain = cmp.Or(g.Domain, common.Hostname(c.defaultDomain()))
	g.Exposure = mergeExposure(g.Exposure, p.Exposure)
	g.TLS = merge.Overlay(g.TLS, p.TLS)
	g.Monitoring = merge.Overlay(g.Monitoring, p.Monitoring)
	g.SecretStore = merge.Overlay(g.SecretStore, p.SecretStore)
	g.Images = merge.Overlay(g.Images, p.Images)
	return g
}

// effectiveTLS returns the TLS settings without an issuer if TLS is disabled, because there is no certificate to issue.
func effectiveTLS(merged *common.TLS) common.TLS {
	out := ptr.Deref(merged, common.TLS{})
	if !ptr.Deref(out.Enabled, true) {
		out.IssuerRef = nil
	}
	return out
}

// checkTLS returns an error for an issuer in the claim if the platform disables TLS. Admission rejects an issuer if the claim disables it.
func (c *Claim) checkTLS() error {
	if t := c.Spec.Global.TLS; t != nil && t.IssuerRef != nil && !ptr.Deref(c.TLS.Enabled, true) {
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

// Expand inserts the claim's namespace into a limit's pattern. A composite resource without a claim belongs to the platform team and has no
// namespace.
func (c *Claim) Expand(pattern string) string {
	return strings.TrimPrefix(limit.Expand(pattern, c.Ref.Namespace), ".")
}

// ClaimDomain returns the parent domain of all claims of the namespace if no limit sets one.
func (c *Claim) ClaimDomain() string { return c.Expand("{namespace}." + string(c.Platform.Domain)) }

// defaultDomain returns the claim's own domain: below the first domain of its limits that all of its limits allow, or else below the
// platform's domain.
func (c *Claim) defaultDomain() string {
	for _, pattern := range c.limitDomains() {
		if !strings.Contains(pattern, "{namespace}") {
			pattern = "{namespace}." + pattern
		}
		if domain := c.Ref.Name + "." + c.Expand(pattern); c.allowsDomain(domain) {
			return domain
		}
	}
	return c.Ref.Name + "." + c.ClaimDomain()
}

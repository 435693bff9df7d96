package claim

import (
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
)

// CheckExposure returns an error for settings that Kubernetes accepts and that have no effect. Settings that were accepted before, or that
// repeat the platform's, remain valid: identity is the observed identity service, which always has the exposure.
func (c *Claim) CheckExposure(identity *observe.Object) error {
	unknown := c.Exposure.Type == exposure.Ingress && c.Exposure.IngressController == ""
	if unknown && identity.String("spec", "exposure", "type") != exposure.Ingress {
		return invalid.Field("spec.global.exposure.ingressController",
			"required, because the backends use HTTPS, which Ingress has no field for; set it to ingress-nginx, haproxy.org, "+
				"haproxy-ingress, or other with your own annotations; or use type GatewayAPI")
	}
	own := ptr.Deref(c.Spec.Global.TLS, common.TLS{}).IssuerRef
	if c.Exposure.Type != exposure.GatewayAPI || own == nil {
		return nil
	}
	platform := ptr.Deref(c.Platform.TLS, common.TLS{}).IssuerRef
	if platform != nil && own.Name == platform.Name || identity.String("spec", "exposure", "tls", "issuerRef", "name") == string(own.Name) {
		return nil
	}
	return invalid.Field("spec.global.tls.issuerRef",
		"has no effect with a Gateway, whose listener holds the certificate; remove it, and ask the platform team for a "+
			"listener with a certificate for %s", c.Domain)
}

package controlplane

import (
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
)

// checkExposure refuses what would be accepted and lead nowhere. What was accepted before goes on, and what only repeats the platform.
func (m *model) checkExposure() error {
	before := m.identity.seen
	unknown := m.exposure.Type == exposure.Ingress && m.exposure.IngressController == ""
	if unknown && before.String("spec", "exposure", "type") != exposure.Ingress {
		return invalid.Field("spec.global.exposure.ingressController",
			"the APIs speak https, which an Ingress has no field for: say which controller serves it (ingress-nginx, haproxy.org or "+
				"haproxy-ingress), or other, and configure it by annotations; or use type GatewayAPI")
	}
	own := ptr.Deref(m.spec.Global.TLS, common.TLS{}).IssuerRef
	if m.exposure.Type != exposure.GatewayAPI || own == nil {
		return nil
	}
	platform := ptr.Deref(m.platform.TLS, common.TLS{}).IssuerRef
	if platform != nil && own.Name == platform.Name || before.String("spec", "exposure", "tls", "issuerRef", "name") == string(own.Name) {
		return nil
	}
	return invalid.Field("spec.global.tls.issuerRef",
		"at a Gateway it is the listener that has the certificate, so that no issuer is asked: leave it out, and ask the platform team for a "+
			"listener with a certificate for %s", m.domain)
}

package controlplane

import (
	"cmp"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
)

// TestExposure: what would lead nowhere is refused, and what was accepted before goes on.
func TestExposure(t *testing.T) {
	const (
		gateway = "{domain: a.b, exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways}}, tls: {issuerRef: {name: other}}}"
		issuer  = "{global: {tls: {issuerRef: {name: acme}}}}"
	)
	for name, tc := range map[string]struct {
		reason, spec, platform, keystone, field, words string
	}{
		"NoController": {
			reason: "An Ingress speaks http to its backend.", spec: "{global: {exposure: {type: Ingress}}}",
			field: "spec.global.exposure.ingressController", words: "ingress-nginx",
		},
		"Controller": {reason: "It is told.", spec: "{global: {exposure: {type: Ingress, ingressController: ingress-nginx}}}"},
		"Before":     {reason: "It may know by itself.", spec: "{global: {exposure: {type: Ingress}}}", keystone: "{exposure: {type: Ingress}}"},
		"Issuer": {
			reason: "Nobody would ask it.", spec: issuer, platform: gateway, field: "spec.global.tls.issuerRef", words: "cloud.tenant-a.a.b",
		},
		"IssuerBefore": {
			reason: "It did no harm.", spec: issuer, platform: gateway, keystone: "{exposure: {type: GatewayAPI, tls: {issuerRef: {name: acme}}}}",
		},
		"Repeated":       {reason: "It says nothing new.", spec: "{global: {tls: {issuerRef: {name: other}}}}", platform: gateway},
		"PlatformIssuer": {reason: "It is for those who have an Ingress.", spec: "{}", platform: gateway},
	} {
		t.Run(name, func(t *testing.T) {
			var observed map[string]*structpb.Struct
			if tc.keystone != "" {
				observed = observedAs(t, identityService, tc.keystone)
			}
			_, err := derive(input(t, tc.spec, open(cmp.Or(tc.platform, bare)), observed))
			if tc.field != "" {
				requireFieldError(t, tc.reason, err, tc.field, tc.words)
			} else if err != nil {
				t.Errorf("%s\n%v", tc.reason, err)
			}
		})
	}
}

package controlplane

import (
	"cmp"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
)

// TestRejectsExposureWithoutEffect checks that settings without effect are rejected, and that settings that were accepted before remain
// valid.
func TestRejectsExposureWithoutEffect(t *testing.T) {
	const (
		gateway = "{domain: a.b, exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways}}, tls: {issuerRef: {name: other}}}"
		issuer  = "{global: {tls: {issuerRef: {name: acme}}}}"
	)
	for name, tc := range map[string]struct {
		reason, spec, platform, keystone, field, message string
	}{
		"NoController": {
			reason: "An Ingress uses HTTP for its backend.", spec: "{global: {exposure: {type: Ingress}}}",
			field: "spec.global.exposure.ingressController", message: "ingress-nginx",
		},
		"Controller": {reason: "The controller is set.", spec: "{global: {exposure: {type: Ingress, ingressController: ingress-nginx}}}"},
		"Before":     {reason: "The existing controller may need no annotations.", spec: "{global: {exposure: {type: Ingress}}}", keystone: "{exposure: {type: Ingress}}"},
		"Issuer": {
			reason: "The issuer would not be used.", spec: issuer, platform: gateway, field: "spec.global.tls.issuerRef", message: "cloud.tenant-a.a.b",
		},
		"IssuerBefore": {
			reason: "The setting was accepted before.", spec: issuer, platform: gateway, keystone: "{exposure: {type: GatewayAPI, tls: {issuerRef: {name: acme}}}}",
		},
		"Repeated":       {reason: "It repeats the setting of the platform.", spec: "{global: {tls: {issuerRef: {name: other}}}}", platform: gateway},
		"PlatformIssuer": {reason: "It is used by claims with an Ingress.", spec: "{}", platform: gateway},
	} {
		t.Run(name, func(t *testing.T) {
			var observed map[string]*structpb.Struct
			if tc.keystone != "" {
				observed = observedAs(t, services.IdentityService, tc.keystone)
			}
			_, err := derive(input(t, tc.spec, open(cmp.Or(tc.platform, bare)), observed))
			if tc.field != "" {
				requireFieldError(t, tc.reason, err, tc.field, tc.message)
			} else if err != nil {
				t.Errorf("%s\n%v", tc.reason, err)
			}
		})
	}
}

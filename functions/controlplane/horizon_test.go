package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dashboard is a claim with a dashboard at a Gateway.
func dashboard(routing, horizon, keystone string) string {
	const placement = `{enabled: true, policy: {"placement:usages": "role:auditor"}}`
	return "{services: {placement: " + placement + ", horizon: {enabled: true" + horizon + "}, keystone: {" + keystone + "}}, " +
		"global: {region: eu, domain: a.org, exposure: {type: GatewayAPI, routing: " + routing + ", gateway: {name: public, namespace: gateways}}}}"
}

const (
	identityProvider = "federation: {provider: keycloak, metadataURL: \"https://k.org/m\", issuer: \"https://k.org\", clientID: c, " +
		"clientSecretRef: {name: s, key: k}, trustedDashboards: [\"https://other.org/auth/websso/\"]}"
	singleSignOn = ", websso: {choices: [{name: company, label: Company account}], initialChoice: company}"
)

// TestDashboard: it is told where the services are that the claim enables, and their rules; it has a host of its own whatever the others
// have, and no database.
func TestDashboard(t *testing.T) {
	for _, routing := range []string{"Hostnames", "Paths"} {
		objects := desired(t, ready(t, dashboard(routing, ", title: Cloud, memory: 1Gi", ""), bare))
		spec, _ := at(objects["horizon"].Map(), "spec").(map[string]any)
		keystone := "https://keystone." + instance + ".svc:5000/v3"
		for field, want := range map[string]any{
			"endpoints": map[string]any{"public": "https://horizon.a.org", "internal": "https://horizon." + instance + ".svc:8443"},
			"services": []any{
				map[string]any{"type": "identity", "internalURL": keystone},
				map[string]any{
					"type": "placement", "internalURL": "https://placement." + instance + ".svc:8778",
					"policy": map[string]any{"placement:usages": "role:auditor"},
				},
			},
			"title": "Cloud", "uwsgi": map[string]any{"processes": 4.0, "threads": 8.0}, "database": nil, "websso": nil,
		} {
			if diff := cmp.Diff(want, spec[field]); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", routing, field, diff)
			}
		}
		if host := at(spec, "exposure", "hostname"); host != "horizon.a.org" || at(spec, "exposure", "path") != nil {
			t.Errorf("%s: it is at %v%v", routing, host, at(spec, "exposure", "path"))
		}
		if at(spec, "identity", "internalURL") != keystone || at(spec, "identity", "adminCloudRef") != nil {
			t.Errorf("%s: it is told %v of Keystone", routing, spec["identity"])
		}
	}
}

// TestSingleSignOn: the ways to log in lead to the identity provider, and Keystone trusts the dashboard besides those that the claim names.
func TestSingleSignOn(t *testing.T) {
	objects := desired(t, ready(t, dashboard("Hostnames", singleSignOn, identityProvider), bare))
	want := []any{map[string]any{"name": "company", "label": "Company account", "provider": "keycloak"}}
	if diff := cmp.Diff(want, at(objects["horizon"].Map(), "spec", "websso", "choices")); diff != "" {
		t.Errorf("ways to log in (-want +got):\n%s", diff)
	}
	trusted := []any{"https://other.org/auth/websso/", "https://horizon.a.org/auth/websso/"}
	if diff := cmp.Diff(trusted, at(objects["keystone"].Map(), "spec", "federation", "trustedDashboards")); diff != "" {
		t.Errorf("trusted dashboards (-want +got):\n%s", diff)
	}
	objects = desired(t, ready(t, dashboard("Hostnames", "", identityProvider), bare))
	if diff := cmp.Diff(trusted[:1], at(objects["keystone"].Map(), "spec", "federation", "trustedDashboards")); diff != "" {
		t.Errorf("without single sign-on (-want +got):\n%s", diff)
	}
}

// TestDashboardValidation: what leads nowhere is refused by its field.
func TestDashboardValidation(t *testing.T) {
	for name, tc := range map[string]struct{ reason, horizon, keystone, field, message string }{
		"NoProvider": {
			"Keystone would refuse everybody.", singleSignOn, "", "spec.services.horizon.websso", "say which in services.keystone.federation",
		},
		"OtherProvider": {
			"There is one.", ", websso: {choices: [{name: a, label: A, provider: b}]}", identityProvider,
			"spec.services.horizon.websso.choices[0].provider", "is keycloak, and there is no other",
		},
		"Twice": {
			"One would hide the other.", ", websso: {choices: [{name: a, label: A}, {name: a, label: B}]}", identityProvider,
			"spec.services.horizon.websso.choices[1].name", "there is a choice \"a\" already",
		},
		"Password": {
			"It would take the place of the password.", ", websso: {choices: [{name: credentials, label: A}]}", identityProvider,
			"spec.services.horizon.websso.choices[0].name", "which is always there",
		},
		"Unknown": {
			"Nobody could choose it.", ", websso: {choices: [{name: a, label: A}], initialChoice: b}", identityProvider,
			"spec.services.horizon.websso.initialChoice", "there is no choice \"b\"",
		},
		"Memory": {
			"The kernel would end it.", ", memory: 64Mi", "", "spec.services.horizon.memory", "cannot hold",
		},
		"Image": {
			"It would be of another release.", ", image: {tag: 25.3.2}", "", "spec.services.horizon.image.tag", "belongs to OpenStack 2025.1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := derive(input(t, dashboard("Hostnames", tc.horizon, tc.keystone), bare, nil))
			requireFieldError(t, tc.reason, err, tc.field, tc.message)
		})
	}
}

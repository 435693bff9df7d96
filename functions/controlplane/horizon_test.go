package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dashboard returns a claim with a dashboard at a Gateway.
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

// TestDashboardHasAddressesOfServices checks that the dashboard gets the addresses and access rules of the enabled services, and has its
// own host name with any routing, and no database.
func TestDashboardHasAddressesOfServices(t *testing.T) {
	for _, routing := range []string{"Hostnames", "Paths"} {
		objects := desired(t, readyCluster(t, dashboard(routing, ", title: Cloud, memory: 1Gi", ""), bare))
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
			t.Errorf("%s: its Keystone settings are %v", routing, spec["identity"])
		}
	}
}

// TestSingleSignOn checks that login choices use the identity provider, and that Keystone trusts the dashboard in addition to the
// dashboards of the claim.
func TestSingleSignOn(t *testing.T) {
	objects := desired(t, readyCluster(t, dashboard("Hostnames", singleSignOn, identityProvider), bare))
	want := []any{map[string]any{"name": "company", "label": "Company account", "provider": "keycloak"}}
	if diff := cmp.Diff(want, at(objects["horizon"].Map(), "spec", "websso", "choices")); diff != "" {
		t.Errorf("ways to log in (-want +got):\n%s", diff)
	}
	trusted := []any{"https://other.org/auth/websso/", "https://horizon.a.org/auth/websso/"}
	if diff := cmp.Diff(trusted, at(objects["keystone"].Map(), "spec", "federation", "trustedDashboards")); diff != "" {
		t.Errorf("trusted dashboards (-want +got):\n%s", diff)
	}
	objects = desired(t, readyCluster(t, dashboard("Hostnames", "", identityProvider), bare))
	if diff := cmp.Diff(trusted[:1], at(objects["keystone"].Map(), "spec", "federation", "trustedDashboards")); diff != "" {
		t.Errorf("without single sign-on (-want +got):\n%s", diff)
	}
}

// TestRejectsUnusableDashboardSettings checks the fields of errors for settings that cannot work.
func TestRejectsUnusableDashboardSettings(t *testing.T) {
	for name, tc := range map[string]struct{ reason, horizon, keystone, field, message string }{
		"NoProvider": {
			"Keystone would reject all users.", singleSignOn, "", "spec.services.horizon.websso", "add one to services.keystone.federation",
		},
		"OtherProvider": {
			"Keystone has one provider.", ", websso: {choices: [{name: a, label: A, provider: b}]}", identityProvider,
			"spec.services.horizon.websso.choices[0].provider", "which is keycloak; set it to keycloak",
		},
		"Twice": {
			"The names must be unique.", ", websso: {choices: [{name: a, label: A}, {name: a, label: B}]}", identityProvider,
			"spec.services.horizon.websso.choices[1].name", "choice \"a\" already exists",
		},
		"Password": {
			"It would replace login with a password.", ", websso: {choices: [{name: credentials, label: A}]}", identityProvider,
			"spec.services.horizon.websso.choices[0].name", "which is always available",
		},
		"Unknown": {
			"It could not be chosen.", ", websso: {choices: [{name: a, label: A}], initialChoice: b}", identityProvider,
			"spec.services.horizon.websso.initialChoice", "choice \"b\" does not exist",
		},
		"Memory": {
			"The kernel would kill it.", ", memory: 64Mi", "", "spec.services.horizon.memory", "cannot hold",
		},
		"volumes of nothing": {
			"No service creates them.", ", bootFromVolume: false", "", "spec.services.horizon.bootFromVolume", "requires Cinder",
		},
		"Image": {
			"It would be an image of another release.", ", image: {tag: 25.3.2}", "", "spec.services.horizon.image.tag", "belongs to OpenStack 2025.1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := derive(input(t, dashboard("Hostnames", tc.horizon, tc.keystone), bare, nil))
			requireFieldError(t, tc.reason, err, tc.field, tc.message)
		})
	}
}

package keystone

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// setExternal changes a spec to an external Keystone.
func setExternal(spec map[string]any) {
	spec["endpoints"] = map[string]any{"public": "https://identity.example.com/v3", "internal": "https://identity.example.com/v3"}
	spec["external"] = map[string]any{
		"authURL": "https://identity.example.com/v3", "user": "cloud@example.com", "project": "clouds", "userDomain": "staff",
		"caSecretRef":       map[string]any{"name": "tenant-corporate", "key": "authority.pem"},
		"passwordSecretRef": map[string]any{"name": "tenant-corporate", "key": "password"},
	}
}

// TestExternalKeystoneHasOnlyCredentials verifies that an external Keystone has only the objects with credentials for clients, with the
// same names as for an internal one: no pod, no database, no key.
func TestExternalKeystoneHasOnlyCredentials(t *testing.T) {
	w := ready(t, xr(t, "small", setExternal, set(map[string]any{"enabled": true}, "monitoring")))
	all := desired(t, w)
	if diff := cmp.Diff([]string{
		"authorities", "authority", "authority-certificate", "clouds", "companion-role", "companion-role-binding", "korc-clouds", "korc-credential", "login",
	}, slices.Sorted(maps.Keys(all))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	own := desired(t, ready(t, xr(t, "small")))
	for _, name := range []string{"clouds", "korc-clouds", "korc-credential", "login"} {
		for _, path := range [][]any{{"kind"}, {"metadata", "name"}, {"spec", "targetSecretName"}, {"spec", "secretName"}, {"spec", "cloudCredentialsRef"}} {
			if diff := cmp.Diff(at(own[name], path...), at(all[name], path...)); diff != "" {
				t.Errorf("%s %v (-internal +external):\n%s", name, path, diff)
			}
		}
	}
	for name, want := range map[string]string{
		"authority-certificate": `{secretName: keystone-authority, dnsNames: [keystone-authority], issuerRef: {name: internal-ca, kind: Issuer, group: cert-manager.io}}`,
		"authorities": `{targetSecretName: keystone-tls, template: {ca.crt: "{{ .external }}\n{{ .own }}"}, sources: [
  {name: external, secretKeyRef: {name: tenant-corporate, key: authority.pem}}, {name: own, secretKeyRef: {name: keystone-authority, key: ca.crt}}]}`,
		"login": `{cloudCredentialsRef: {secretName: keystone-clouds, cloudName: admin}}`,
		"clouds": `{targetSecretName: keystone-clouds, sources: [
  {name: password, secretKeyRef: {name: tenant-corporate, key: password}}, {name: ca, secretKeyRef: {name: keystone-tls, key: ca.crt}}],
  template: {cacert: "{{ .ca }}", clouds.yaml: "clouds:\n  admin:\n    auth_type: password\n    auth:\n      auth_url: https://identity.example.com/v3\n      username: \"cloud@example.com\"\n      password: {{ .password | quote }}\n      project_name: \"clouds\"\n      user_domain_name: \"staff\"\n      project_domain_name: \"Default\"\n    identity_api_version: 3\n    interface: public\n    endpoint_type: public\n"}}`,
		"korc-clouds": `{targetSecretName: keystone-korc-clouds, sources: [{name: id, secretKeyRef: {name: keystone-korc, key: application_credential_id}},
  {name: secret, secretKeyRef: {name: keystone-korc, key: application_credential_secret}}, {name: ca, secretKeyRef: {name: keystone-tls, key: ca.crt}}],
  template: {cacert: "{{ .ca }}", clouds.yaml: "clouds:\n  korc:\n    auth_type: v3applicationcredential\n    auth:\n      auth_url: https://identity.example.com/v3\n      application_credential_id: {{ .id | quote }}\n      application_credential_secret: {{ .secret | quote }}\n    identity_api_version: 3\n    interface: public\n    endpoint_type: public\n"}}`,
	} {
		var expected any
		if err := yaml.Unmarshal([]byte(want), &expected); err != nil {
			t.Fatal(err)
		}
		got, _ := at(all[name], "spec").(map[string]any)
		delete(got, "privateKey")
		delete(got, "usages")
		if diff := cmp.Diff(expected, any(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if user := at(all["korc-credential"], "spec", "userName"); user != "cloud@example.com" {
		t.Errorf("the credential is of %v", user)
	}
	status, _ := at(w.XR.AsMap(), "status").(map[string]any)
	if status["phase"] != "Ready" || status["release"] != "2025.2" || status["endpoint"] != "https://identity.example.com/v3" || status["refs"] != nil || status["version"] != nil {
		t.Errorf("status %v", status)
	}
}

// TestExternalKeystoneLimitsCompanionPermissions verifies that the companion may read the tenant's copy and write the credentials for
// clients, and may not read a key of an authority.
func TestExternalKeystoneLimitsCompanionPermissions(t *testing.T) {
	rules, _ := desired(t, ready(t, xr(t, "small", setExternal)))["companion-role"]["rules"].([]any)
	got := map[any]any{}
	for _, r := range rules {
		verbs, _ := at(r, "verbs").([]any)
		got[verbs[0]] = at(r, "resourceNames")
	}
	if diff := cmp.Diff(map[any]any{
		"get":    []any{"keystone-authority", "keystone-clouds", "keystone-korc", "keystone-korc-clouds", "keystone-tls", "tenant-corporate"},
		"update": []any{"keystone-clouds", "keystone-korc", "keystone-korc-clouds", "keystone-tls"},
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

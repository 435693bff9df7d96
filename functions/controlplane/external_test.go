package controlplane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

// aKeystone contains an external Keystone, as part of a spec.
const aKeystone = `global: {region: eu-de-2}, services: {placement: {enabled: true}, keystone: {external: {authURL: "https://identity.example.org:5001/v3", ` +
	`user: cloud-admin, userDomain: staff, caSecretRef: {name: corporate, key: ca.crt}, passwordSecretRef: {name: corporate, key: password}}}}`

const trusting = "{domain: example.com, limits: [" + limittest.Everything + "]}"

// TestServicesUseExternalKeystone checks that services use an external Keystone like the control plane's own, and that it is marked as
// shared.
func TestServicesUseExternalKeystone(t *testing.T) {
	all := desired(t, readyCluster(t, "{"+aKeystone+"}", trusting))
	const url = "https://identity.example.org:5001/v3"
	if diff := cmp.Diff(any(fields(t, `{authURL: "`+url+`", user: cloud-admin, userDomain: staff, project: admin, projectDomain: Default,
		caSecretRef: {name: tenant-corporate, key: ca.crt}, passwordSecretRef: {name: tenant-corporate, key: password}}`)),
		at(all["keystone"].Map(), "spec", "external")); diff != "" {
		t.Errorf("Keystone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(any(fields(t, `{public: "`+url+`", internal: "`+url+`"}`)), at(all["keystone"].Map(), "spec", "endpoints")); diff != "" {
		t.Errorf("its addresses (-want +got):\n%s", diff)
	}
	if e := at(all["keystone"].Map(), "spec", "exposure"); e != nil {
		t.Errorf("it is exposed: %v", e)
	}
	want := fields(t, `{internalURL: "`+url+`", publicURL: "`+url+`", sharedAs: `+instance+`, caSecretRef: {name: keystone-tls, key: ca.crt},
		adminCloudRef: {secretName: keystone-clouds, cloudName: admin}, korcCloudRef: {secretName: keystone-korc-clouds, cloudName: korc}}`)
	got, _ := at(all["placement"].Map(), "spec", "identity").(map[string]any)
	delete(got, "credentialRotation")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Placement's identity (-want +got):\n%s", diff)
	}
	spec, _ := at(all["catalog"].Map(), "spec").(map[string]any)
	if diff := cmp.Diff(any(fields(t, `{as: `+instance+`, url: "`+url+`"}`)), spec["shared"]); diff != "" || spec["bootstrapResources"] != nil {
		t.Errorf("the catalog imports %v (-want +got):\n%s", spec["bootstrapResources"], diff)
	}
}

// TestExternalKeystoneHasNoCosts checks that an external Keystone has no costs, no database connections and no host name, and that
// clients get its address.
func TestExternalKeystoneHasNoCosts(t *testing.T) {
	m, own := derived(t, "{"+aKeystone+"}", trusting), derived(t, "{services: {placement: {enabled: true}}}", trusting)
	if a, b := connectionsOf(m.Identity), connectionsOf(own.Identity); a != 0 || b == 0 {
		t.Errorf("%d connections, and %d of one of our own", a, b)
	}
	if a, b := costsOf(m.Identity), costsOf(own.Identity); len(a) != 0 || len(b) == 0 {
		t.Errorf("parts %v, and %v of one of our own", a, b)
	}
	exposed := strings.Replace(trusting, "{", "{exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways}}, ", 1)
	e := derived(t, "{"+aKeystone+"}", exposed)
	for _, visited := range [][]string{e.visited(), m.visited()} {
		if diff := cmp.Diff([]string{"https://identity.example.org:5001/v3"}, visited); diff != "" {
			t.Errorf("URLs that the companion visits (-want +got):\n%s", diff)
		}
	}
	for _, h := range e.publicHosts() {
		if h.Owner == services.IdentityService {
			t.Errorf("host name %s", h.Exposure.Hostname)
		}
	}
	if ref := e.KeystoneReference(); ref.CAConfigMapRef == nil || ref.CAConfigMapRef.Name != "keystone-ca" {
		t.Errorf("Gateways verify services by %v", ref.CAConfigMapRef)
	}
}

// TestRejectsUnsupportedExternalKeystoneSettings checks errors that admission does not detect.
func TestRejectsUnsupportedExternalKeystoneSettings(t *testing.T) {
	spec := strings.Replace(aKeystone, "keystone: {", "keystone: {config: {token: {expiration: 600}}, ", 1)
	requireFieldError(t, "It would have no effect.", deriveError(t, "{"+spec+"}", trusting), "spec.services.keystone.config", "cannot be set for an external Keystone")
	spec = strings.Replace(aKeystone, ":5001", ":70000", 1)
	requireFieldError(t, "A network policy cannot contain this port.", deriveError(t, "{"+spec+"}", trusting), "spec.services.keystone.external.authURL", "no port 70000")
}

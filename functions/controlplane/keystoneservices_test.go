package controlplane

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

// TestRejectsDuplicateAndReservedServiceTypes checks that each type in the catalog belongs to one service, and that types of OpenStack are
// reserved.
func TestRejectsDuplicateAndReservedServiceTypes(t *testing.T) {
	for name, tc := range map[string]struct{ reason, grants, want string }{
		"Several": {
			"The services have different types, or none.",
			"{namespace: a, name: one, type: metering}, {namespace: a, name: two, type: resources}, {namespace: a, name: three}, {namespace: b, name: three}", "",
		},
		"Twice": {
			"Clients could not distinguish them.", "{namespace: a, name: one, type: metering}, {namespace: b, name: one, type: metering}",
			`spec.keystoneServices[1].type: spec.keystoneServices[0] uses type "metering" already, and clients could not distinguish them; set another type`,
		},
		"Ours": {
			"It would receive the tokens of all users.", "{namespace: a, name: one, type: volumev3}",
			`spec.keystoneServices[0].type: type "volumev3" is reserved for a service of OpenStack; set another type`,
		},
		"Additional": {
			"The service has two types.", "{namespace: a, name: one, type: object-store, additionalTypes: [s3]}, {namespace: b, name: one, type: metering}", "",
		},
		"Additional twice": {
			"Clients could not distinguish them.", "{namespace: a, name: one, type: s3}, {namespace: b, name: one, type: object-store, additionalTypes: [s3]}",
			`spec.keystoneServices[1].additionalTypes: spec.keystoneServices[0] uses type "s3" already, and clients could not distinguish them; set another type`,
		},
		"Additional ours": {
			"It would receive the tokens of all users.", "{namespace: a, name: one, additionalTypes: [identity]}",
			`spec.keystoneServices[0].additionalTypes: type "identity" is reserved for a service of OpenStack; set another type`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := derive(input(t, granting(tc.grants), roomy, nil))
			if tc.want == "" && err == nil {
				return
			}
			if err == nil || !invalid.Is(err) || err.Error() != tc.want {
				t.Errorf("%s\n got %v\nwant %s", tc.reason, err, tc.want)
			}
		})
	}
}

// roomy is a platform that allows everything.
const roomy = "{domain: example.com, limits: [" + limittest.Everything + "]}"

// granting returns a claim that permits services.
func granting(grants string) string {
	return `{openStackRelease: "2025.2", size: small, keystoneServices: [` + grants + `]}`
}

// TestKeystoneServicesNeedCatalog checks that the project of their users exists, even if Keystone is the only service.
func TestKeystoneServicesNeedCatalog(t *testing.T) {
	for grants, want := range map[string]bool{"": false, "{namespace: a, name: one}": true} {
		w := readyCluster(t, granting(grants), roomy)
		if got, _ := desired(t, w)[services.CatalogComponent].At("spec", "services").Bool(); got != want {
			t.Errorf("with %q, the catalog has the entities of services: %v", grants, got)
		}
	}
}

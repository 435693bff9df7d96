package controlplane

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

// TestKeystoneServices: each type in the catalog is one service's, and those of OpenStack's own are nobody else's.
func TestKeystoneServices(t *testing.T) {
	for name, tc := range map[string]struct{ reason, grants, want string }{
		"Several": {
			"Others have other types, or none.",
			"{namespace: a, name: one, type: metering}, {namespace: a, name: two, type: resources}, {namespace: a, name: three}, {namespace: b, name: three}", "",
		},
		"Twice": {
			"Clients would find either.", "{namespace: a, name: one, type: metering}, {namespace: b, name: one, type: metering}",
			`spec.keystoneServices[1].type: spec.keystoneServices[0] has type "metering" already: clients would find either; choose another`,
		},
		"Ours": {
			"It would be sent everybody's tokens.", "{namespace: a, name: one, type: volumev3}",
			`spec.keystoneServices[0].type: "volumev3" is the type of a service of OpenStack's own; choose another`,
		},
		"Additional": {
			"It has two.", "{namespace: a, name: one, type: object-store, additionalTypes: [s3]}, {namespace: b, name: one, type: metering}", "",
		},
		"Additional twice": {
			"Clients would find either.", "{namespace: a, name: one, type: s3}, {namespace: b, name: one, type: object-store, additionalTypes: [s3]}",
			`spec.keystoneServices[1].additionalTypes: spec.keystoneServices[0] has type "s3" already: clients would find either; choose another`,
		},
		"Additional ours": {
			"It would be sent everybody's tokens.", "{namespace: a, name: one, additionalTypes: [identity]}",
			`spec.keystoneServices[0].additionalTypes: "identity" is the type of a service of OpenStack's own; choose another`,
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

// granting is a claim that lets services in.
func granting(grants string) string {
	return `{openStackRelease: "2025.2", size: small, keystoneServices: [` + grants + `]}`
}

// TestKeystoneServicesNeedCatalog: the project that their users work in is there, also of a cloud that has Keystone alone.
func TestKeystoneServicesNeedCatalog(t *testing.T) {
	for grants, want := range map[string]bool{"": false, "{namespace: a, name: one}": true} {
		w := ready(t, granting(grants), roomy)
		if got, _ := desired(t, w)[catalogComponent].At("spec", "services").Bool(); got != want {
			t.Errorf("with %q, the catalog has what services need: %v", grants, got)
		}
	}
}

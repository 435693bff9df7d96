package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	tempestv1 "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
)

// TestTestedFeatures checks that Tempest gets the options of services that determine which tests can pass, including defaults.
func TestTestedFeatures(t *testing.T) {
	drivers := []string{"geneve", "vlan", "flat"}
	for name, tc := range map[string]struct {
		reason, services string
		want             tempestv1.Features
	}{
		"nothing": {
			"A disabled service has no features.",
			"neutron: {ml2: {mtu: 9000}}, glance: {imageCache: {storageSize: 1Gi}}", tempestv1.Features{}},
		"defaults": {
			"Servers have VNC consoles, and Neutron creates VLAN networks only if the claim configures them.",
			"nova: {enabled: true}, neutron: {enabled: true}, glance: {enabled: true}", tempestv1.Features{NetworkTypes: drivers, VNC: true},
		},
		"orders": {
			"The settings of the claim override the defaults.",
			"nova: {enabled: true, consoles: {graphical: SPICE}}, neutron: {enabled: true, ml2: {mtu: 9000, typeDrivers: [geneve, vlan], " +
				"physicalNetworks: [{name: flat, flat: true}, {name: one, vlanRanges: ['1:9']}]}}, " +
				"glance: {enabled: true, imageCache: {storageSize: 1Gi}, import: {convertTo: raw}}",
			tempestv1.Features{
				NetworkTypes: []string{"geneve", "vlan"}, VLANNetworks: []string{"one"}, MTU: new(int32(9000)), ImageCache: true, ConvertTo: "raw",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &model{&services.Cloud{Infrastructure: &infrastructure.Infrastructure{Claim: &claim.Claim{}}}}
			if err := yaml.Unmarshal([]byte("services: {"+tc.services+"}"), &m.Spec); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.testedFeatures()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

package network

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
)

// TestValidatesTypesAfterDefaults validates network types after defaults are applied, which depend on the mechanism.
func TestValidatesTypesAfterDefaults(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, ml2, want string
		by                neutronv1.Mechanism
	}{
		"type without driver":   {"The drivers are the default.", "{tenantNetworkTypes: [vxlan]}", "spec.ml2.tenantNetworkTypes[0]: vxlan must be among typeDrivers, which are geneve, vlan, flat; add it to typeDrivers, or choose one of them", neutronv1.ByOVN},
		"the same with OVS":     {reason: "vxlan is among its defaults.", ml2: "{tenantNetworkTypes: [vxlan]}", by: neutronv1.ByOVS},
		"geneve with OVS":       {"It is not among its defaults.", "{tenantNetworkTypes: [vxlan, geneve]}", "spec.ml2.tenantNetworkTypes[1]: geneve must be among typeDrivers, which are vxlan, vlan, flat; add it to typeDrivers, or choose one of them", neutronv1.ByOVS},
		"drivers without type":  {"The type is the default.", "{typeDrivers: [vlan]}", "spec.ml2.typeDrivers: must contain geneve, which is the default of tenantNetworkTypes with mechanism OVN; add it, or set tenantNetworkTypes to some of vlan", ""},
		"the same of OVS":       {"The type is the default.", "{typeDrivers: [geneve]}", "spec.ml2.typeDrivers: must contain vxlan, which is the default of tenantNetworkTypes with mechanism OVS; add it, or set tenantNetworkTypes to some of geneve", neutronv1.ByOVS},
		"both":                  {reason: "They fit.", ml2: "{typeDrivers: [vlan, local], tenantNetworkTypes: [local, vlan]}"},
		"flat":                  {"Neutron gives no project any.", "{tenantNetworkTypes: [geneve, flat]}", "spec.ml2.tenantNetworkTypes[1]: flat cannot be a tenant network type: Neutron gives no project a flat network; remove it, and make flat networks as an administrator", ""},
		"physical networks":     {reason: "Their drivers are among the defaults.", ml2: "{physicalNetworks: [{name: a, flat: true}, {name: b, vlanRanges: ['1:9']}, {name: c}]}"},
		"flat without driver":   {"None can be made.", "{typeDrivers: [geneve, vlan], physicalNetworks: [{name: a, flat: true}]}", "spec.ml2.physicalNetworks[0].flat: flat must be among typeDrivers, which are geneve, vlan; add it, or remove this", ""},
		"VLANs without driver":  {"None can be taken.", "{typeDrivers: [geneve, flat], physicalNetworks: [{name: a, flat: true, vlanRanges: ['1:9']}]}", "spec.ml2.physicalNetworks[0].vlanRanges: vlan must be among typeDrivers, which are geneve, flat; add it, or remove this", ""},
		"neither":               {"No network can be made on it.", "{typeDrivers: [geneve, flat], physicalNetworks: [{name: a}]}", "spec.ml2.physicalNetworks[0]: vlan must be among typeDrivers, which are geneve, flat; add it, or remove the physical network, on which no network can be made", ""},
		"flat alone":            {reason: "It needs no VLANs.", ml2: "{typeDrivers: [geneve, flat], physicalNetworks: [{name: a, flat: true}]}"},
		"packets":               {reason: "As large as those between nodes.", ml2: "{mtu: 9000, physicalNetworks: [{name: a, mtu: 9000}, {name: b, mtu: 1500}]}"},
		"default of packets":    {reason: "It is 1500.", ml2: "{physicalNetworks: [{name: a, mtu: 1500}]}"},
		"larger packets":        {"The smaller one counts.", "{physicalNetworks: [{name: a}, {name: b, mtu: 1501}]}", "spec.ml2.physicalNetworks[1].mtu: 1501 cannot exceed ml2.mtu, which is 1500; set ml2.mtu to 1501 or more, or lower this", ""},
		"larger than those set": {"The smaller one counts.", "{mtu: 1400, physicalNetworks: [{name: a, mtu: 1500}]}", "spec.ml2.physicalNetworks[0].mtu: 1500 cannot exceed ml2.mtu, which is 1400; set ml2.mtu to 1500 or more, or lower this", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := neutronv1.Networks{ML2: &neutronv1.ML2{}}
			if err := yaml.UnmarshalStrict([]byte(tc.ml2), n.ML2); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := Check("spec", tc.by, n); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// FuzzCheckRange checks that an accepted range is ascending and within the bounds.
func FuzzCheckRange(f *testing.F) {
	for _, seed := range []string{"1:4094", "9:8", "0:1", "1:4095", "a", "1:", ":", "+1:2", "1:2:3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if checkRange("spec", neutronv1.NumberRange(text), lastVLAN, "VLANs") != nil {
			return
		}
		first, last, _ := bounds(text)
		if first < 1 || last > lastVLAN || first > last {
			t.Errorf("%q is accepted", text)
		}
	})
}

func bounds(text string) (first, last int, err error) {
	_, err = fmt.Sscanf(text, "%d:%d", &first, &last)
	return first, last, err
}

package network

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
)

func TestCheck(t *testing.T) {
	networks := func(p ...neutronv1.PhysicalNetwork) neutronv1.Networks {
		return neutronv1.Networks{ML2: &neutronv1.ML2{PhysicalNetworks: p}}
	}
	const ranges = "; write one from 1 to 4094, the smaller number first, such as 100:199"
	for name, tc := range map[string]struct {
		reason string
		n      neutronv1.Networks
		want   string
		by     neutronv1.Mechanism
	}{
		"Nothing":      {reason: "The defaults are valid."},
		"NothingByOVS": {reason: "So it is with agents.", by: neutronv1.ByOVS},
		"RoutersByOVS": {
			reason: "Agents do the work of Neutron's own.", by: neutronv1.ByOVS,
			n: neutronv1.Networks{ServicePlugins: []neutronv1.ServicePlugin{"router", "port_forwarding"}},
		},
		"OVNByOVS": {
			reason: "There is no OVN.", by: neutronv1.ByOVS, n: neutronv1.Networks{ServicePlugins: []neutronv1.ServicePlugin{"ovn-router"}},
			want: `spec.servicePlugins[0]: "ovn-router" is no plugin that works with OVS; choose from ` +
				"log, network_segment_range, placement, port_forwarding, qos, router, segments, trunk",
		},
		"DNSByOVS": {
			reason: "It would have no effect.", by: neutronv1.ByOVS, n: neutronv1.Networks{DNSServers: []neutronv1.IPAddress{"192.0.2.53"}},
			want: "spec.dnsServers: with mechanism OVS, the agents configure DNS servers; remove it",
		},
		"Plugins": {
			reason: "All of these plugins have their dependencies.",
			n:      neutronv1.Networks{ServicePlugins: []neutronv1.ServicePlugin{"port_forwarding", "ovn-router", "log"}},
		},
		"Agents": {
			reason: "Neutron's own routers want an agent.", n: neutronv1.Networks{ServicePlugins: []neutronv1.ServicePlugin{"qos", "router"}},
			want: `spec.servicePlugins[1]: "router" is no plugin that works with OVN; choose from ` +
				"log, network_segment_range, ovn-router, placement, port_forwarding, qos, segments, trunk",
		},
		"NoRouter": {
			reason: "Neutron would not start.", n: neutronv1.Networks{ServicePlugins: []neutronv1.ServicePlugin{"port_forwarding"}},
			want: "spec.servicePlugins[0]: port_forwarding needs ovn-router; add it, or leave this out",
		},
		"Names": {
			reason: "Each port would get its name twice.",
			n:      neutronv1.Networks{ML2: &neutronv1.ML2{ExtensionDrivers: []neutronv1.ExtensionDriver{"dns", "qos", "dns_domain_ports"}}},
			want:   "spec.ml2.extensionDrivers: each of dns, dns_domain_ports gives ports their names; keep one of them",
		},
		"VLANs": {reason: "The last one there is.", n: networks(neutronv1.PhysicalNetwork{VLANRanges: []neutronv1.NumberRange{"1:4094", "7:7"}})},
		"NoVLAN": {
			reason: "There are no more.", n: networks(neutronv1.PhysicalNetwork{}, neutronv1.PhysicalNetwork{VLANRanges: []neutronv1.NumberRange{"1:4095"}}),
			want: `spec.ml2.physicalNetworks[1].vlanRanges[0]: "1:4095" is no range of VLANs` + ranges,
		},
		"Down": {
			reason: "No number is in it.", n: networks(neutronv1.PhysicalNetwork{VLANRanges: []neutronv1.NumberRange{"7:7", "9:8"}}),
			want: `spec.ml2.physicalNetworks[0].vlanRanges[1]: "9:8" is no range of VLANs` + ranges,
		},
		"Tunnels": {reason: "The last one there is.", n: neutronv1.Networks{ML2: &neutronv1.ML2{VNIRange: "1:16777215"}}},
		"NoTunnel": {
			reason: "There are no more.", n: neutronv1.Networks{ML2: &neutronv1.ML2{VNIRange: "1:16777216"}},
			want: `spec.ml2.vniRange: "1:16777216" is no range of tunnels; write one from 1 to 16777215, the smaller number first, such as 100:199`,
		},
		"NoNumbers": {
			reason: "A spec that is made by hand went by no schema.", n: neutronv1.Networks{ML2: &neutronv1.ML2{VNIRange: "a"}},
			want: `spec.ml2.vniRange: "a" is no range of tunnels; write one from 1 to 16777215, the smaller number first, such as 100:199`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := Check("spec", tc.by, tc.n); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOptions checks that the defaults are safe: servers do not get the DNS servers of the cluster, and networks without a
// VLAN must be allowed explicitly.
func TestOptions(t *testing.T) {
	text, err := Options(neutronv1.ByOVN, neutronv1.Networks{}).Render()
	if err != nil {
		t.Fatal(err)
	}
	want := `[DEFAULT]
core_plugin = ml2
service_plugins = ovn-router,qos,trunk,segments,port_forwarding

[ml2]
extension_drivers = port_security,qos,dns
mechanism_drivers = ovn
physical_network_mtus = ""
type_drivers = geneve,vlan,flat

[ml2_type_flat]
flat_networks = ""

[ml2_type_geneve]
max_header_size = 38
vni_ranges = 1:65536

[ml2_type_vlan]
network_vlan_ranges = ""

[ml2_type_vxlan]
vni_ranges = 1:65536

[ovn]
dns_servers = 0.0.0.0,::
enable_distributed_floating_ip = false
fdb_age_threshold = 300
mac_binding_age_threshold = 300

[ovn_nb_global]
fdb_removal_limit = 1000
mac_binding_removal_limit = 1000
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	requested := neutronv1.Networks{ML2: &neutronv1.ML2{TenantNetworkTypes: []neutronv1.NetworkType{"vlan", "geneve"}}}
	if got := []string{TenantTypes("", neutronv1.Networks{}), TenantTypes(neutronv1.ByOVN, requested)}; !slices.Equal(got, []string{"geneve", "vlan,geneve"}) {
		t.Errorf("projects get %q", got)
	}
}

package network

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestAgents checks that Neutron and the agents of a node have matching options, which exist in every release.
func TestAgents(t *testing.T) {
	n := neutronv1.Networks{
		DistributedFloatingIPs: true, AvailabilityZones: []neutronv1.AvailabilityZone{"a"},
		ML2: &neutronv1.ML2{
			TypeDrivers:      []neutronv1.NetworkType{neutronv1.VXLAN, neutronv1.VLAN, neutronv1.Geneve},
			PhysicalNetworks: []neutronv1.PhysicalNetwork{{Name: "physnet1", Flat: true}},
			SRIOV:            &neutronv1.SRIOV{ProhibitedVNICTypes: []neutronv1.VNICType{"macvtap"}},
		},
	}
	n.DNSDomain = "cloud.example.com."
	server, of := Options(neutronv1.ByOVS, n), AgentsOf(neutronv1.ByOVS, n)
	agent := of.OpenvswitchOptions(Bridge{"physnet1", "br-ex"})
	for program, c := range map[string]oslo.Config{
		"server": server, "agent": agent, "agent of routers": of.L3Options(), "agent of DHCP": of.DHCPOptions(),
		"agent of cards": of.SRIOVOptions(Card{"physnet1", "ens1f0"}),
	} {
		for _, r := range release.Releases() {
			known, err := registry.For("neutron", string(r))
			if err != nil {
				t.Fatal(err)
			}
			for group, options := range c {
				for option := range options {
					if len(known.Lookup(group, option)) == 0 && option != "agent_mode" { // Only the L3 agent has this option.
						t.Errorf("%s: release %s has no option %s of [%s]", program, r, option, group)
					}
				}
			}
		}
	}
	want := `[agent]
arp_responder = true
enable_distributed_routing = true
extensions = qos
l2_population = true
tunnel_types = vxlan,geneve

[ovs]
bridge_mappings = physnet1:br-ex

[securitygroup]
firewall_driver = openvswitch
`
	text, err := agent.Render()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("agent (-want +got):\n%s", diff)
	}
	for by, want := range map[neutronv1.Mechanism][]string{
		neutronv1.ByOVS: {"openvswitch", "l2population", "sriovnicswitch"}, neutronv1.ByOVN: {"ovn", "sriovnicswitch"},
	} {
		if diff := cmp.Diff(want, Options(by, n)["ml2"]["mechanism_drivers"]); diff != "" || !UsesAgents(by, n) {
			t.Errorf("drivers with cards (-want +got):\n%s", diff)
		}
	}
	if UsesAgents(neutronv1.ByOVN, neutronv1.Networks{}) || !UsesAgents(neutronv1.ByOVS, neutronv1.Networks{}) {
		t.Error("OVN alone has no agents")
	}
	// Without zones, zones are not used for scheduling. The default tunnel type is supported by the switches of all nodes.
	defaults := Options(neutronv1.ByOVS, neutronv1.Networks{})
	if _, ok := defaults["DEFAULT"]["network_scheduler_driver"]; ok {
		t.Error("there are no zones to place networks in")
	}
	if got := TenantTypes(neutronv1.ByOVS, neutronv1.Networks{}); got != "vxlan" {
		t.Errorf("projects get %s", got)
	}
	if _, ok := defaults["ovn"]; ok {
		t.Error("there is no OVN")
	}
	if diff := cmp.Diff(Agents{Tunnels: []string{"vxlan"}, Plugins: []string{"qos", "port_forwarding"}}, AgentsOf(neutronv1.ByOVS, neutronv1.Networks{})); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	flat := AgentsOf(neutronv1.ByOVS, neutronv1.Networks{
		ML2: &neutronv1.ML2{TypeDrivers: []neutronv1.NetworkType{neutronv1.Flat}}, ServicePlugins: []neutronv1.ServicePlugin{"router"},
	})
	if got := flat.OpenvswitchOptions()["agent"]; len(got["tunnel_types"].([]string)) != 0 || len(got["extensions"].([]string)) != 0 {
		t.Errorf("without tunnels and plugins: %v", got)
	}
	for distributed, want := range map[bool]string{false: "legacy", true: "dvr_snat"} {
		if got := (Agents{Distributed: distributed}).L3Options()["DEFAULT"]["agent_mode"]; got != want {
			t.Errorf("distributed %t: %v", distributed, got)
		}
	}
	if got := of.DHCPOptions()["DEFAULT"]["dns_domain"]; got != "cloud.example.com." {
		t.Errorf("names are in %v", got)
	}
}

// TestOVNRunsOnlySRIOVAgents checks that, with OVN, only the agents of network cards exist, with the plugins that they need.
func TestOVNRunsOnlySRIOVAgents(t *testing.T) {
	n := neutronv1.Networks{
		DistributedFloatingIPs: true,
		ML2: &neutronv1.ML2{
			PhysicalNetworks: []neutronv1.PhysicalNetwork{{Name: "physnet1"}, {Name: "physnet2"}}, SRIOV: &neutronv1.SRIOV{},
		},
	}
	n.DNSDomain = "cloud.example.com."
	plugins, networks := []string{"qos", "port_forwarding"}, []string{"physnet1", "physnet2"}
	for by, want := range map[neutronv1.Mechanism]Agents{
		"": {Plugins: plugins, Cards: networks}, neutronv1.ByOVN: {Plugins: plugins, Cards: networks},
		neutronv1.ByOVS: {Plugins: plugins, Cards: networks, Tunnels: []string{"vxlan"}, Distributed: true, DNSDomain: n.DNSDomain},
	} {
		if diff := cmp.Diff(want, AgentsOf(by, n)); diff != "" {
			t.Errorf("agents by %q (-want +got):\n%s", by, diff)
		}
	}
	n.ML2.SRIOV = nil
	if got := AgentsOf(neutronv1.ByOVS, n).Cards; got != nil {
		t.Errorf("got cards in %q, want none", got)
	}
	want := `[agent]
extensions = qos

[sriov_nic]
physical_device_mappings = physnet1:ens1f0,physnet1:ens1f1,physnet2:ens2f0
`
	text, err := AgentsOf("", n).SRIOVOptions(
		Card{"physnet1", "ens1f0"}, Card{"physnet1", "ens1f1"}, Card{"physnet2", "ens2f0"}, Card{"physnet1", "ens1f0"},
	).Render()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

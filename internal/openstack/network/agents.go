package network

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// firewall is the driver with which the switch of each node implements security groups. Neutron needs it, too: it
// determines how Nova plugs interfaces. https://docs.openstack.org/neutron/latest/admin/config-ovsfwdriver.html
const firewall = "openvswitch"

// plug is the driver with which agents plug interfaces of network namespaces.
const plug = "openvswitch"

// dhcpAgents is the number of DHCP agents of each network. Routers are redundant, too (l3_ha), so that the loss of a node
// is not an outage (https://docs.openstack.org/neutron/latest/admin/config-dhcp-ha.html, …/deploy-ovs-ha-vrrp.html).
const dhcpAgents = 2

// agents returns the options of a Neutron whose networks are implemented by agents.
func agents(n neutronv1.Networks) oslo.Config {
	c := oslo.Config{
		"DEFAULT": {
			"dhcp_agents_per_network": dhcpAgents,
			"l3_ha":                   true,
			"router_distributed":      n.DistributedFloatingIPs,
		},
		"securitygroup": {"firewall_driver": firewall},
	}
	if len(n.AvailabilityZones) > 0 { // By default, zones are reported, but not used for scheduling.
		c["DEFAULT"]["network_scheduler_driver"] = "neutron.scheduler.dhcp_agent_scheduler.AZAwareWeightScheduler"
		c["DEFAULT"]["router_scheduler_driver"] = "neutron.scheduler.l3_agent_scheduler.AZLeastRoutersScheduler"
	}
	return c
}

// Bridge is a switch of a node that is connected to a physical network.
type Bridge struct {
	// Network is the name in the claim, Bridge the name of the switch on the node.
	Network, Bridge string
}

// Card is an interface of a node that is a network card with virtual functions (SR-IOV), connected to a physical network.
type Card struct {
	// Network is the name in the claim, Interface the name of the card on the node.
	Network, Interface string
}

// Agents contains the settings of a Neutron with which its agents must match.
type Agents struct {
	// Tunnels are the tunnel protocols between nodes. Plugins are the service plugins that need extensions of agents.
	Tunnels, Plugins []string
	// Distributed is true if each node runs a part of each router.
	Distributed bool
	// DNSDomain is the domain of the names of servers. Empty: Neutron's default.
	DNSDomain string
	// Cards are the physical networks in which servers may use functions of network cards. Empty: none.
	Cards []string
}

// AgentsOf returns the settings for the agents of a Neutron. With OVN, these are only the agents of network cards.
func AgentsOf(by neutronv1.Mechanism, n neutronv1.Networks) Agents {
	var out Agents
	ml2 := ptr.Deref(n.ML2, neutronv1.ML2{})
	if ml2.SRIOV != nil {
		for _, p := range ml2.PhysicalNetworks {
			out.Cards = append(out.Cards, p.Name)
		}
	}
	if by == neutronv1.ByOVS {
		out.Distributed, out.DNSDomain = n.DistributedFloatingIPs, n.DNSDomain
		for _, t := range texts(ml2.TypeDrivers, []neutronv1.NetworkType{propertiesOf(by).tunnels}) {
			if t == string(neutronv1.VXLAN) || t == string(neutronv1.Geneve) {
				out.Tunnels = append(out.Tunnels, t)
			}
		}
	}
	for _, p := range texts(n.ServicePlugins, defaultPlugins) {
		if slices.ContainsFunc(plugins, func(s servicePlugin) bool { return string(s.name) == p && s.inAgents() }) {
			out.Plugins = append(out.Plugins, p)
		}
	}
	return out
}

// extensions returns the extensions of an agent that the service plugins need.
func (a Agents) extensions(of func(servicePlugin) []string) []string {
	out := []string{}
	for _, p := range plugins {
		if slices.Contains(a.Plugins, string(p.name)) {
			out = append(out, of(p)...)
		}
	}
	return out
}

// OpenvswitchOptions returns the options of neutron-openvswitch-agent. bridges are the switches of a node with a physical
// network. The tunnel address of the node is set separately, as [ovs] local_ip.
// https://docs.openstack.org/neutron/latest/configuration/openvswitch-agent.html
func (a Agents) OpenvswitchOptions(bridges ...Bridge) oslo.Config {
	mappings := []string{}
	for _, b := range bridges {
		mappings = append(mappings, fmt.Sprintf("%s:%s", b.Network, b.Bridge))
	}
	tunnels := append([]string{}, a.Tunnels...) // An empty list disables tunnels.
	return oslo.Config{
		"agent": {
			"tunnel_types": tunnels, "l2_population": true, "arp_responder": true, "enable_distributed_routing": a.Distributed,
			"extensions": a.extensions(func(p servicePlugin) []string { return p.ofSwitch }),
		},
		"ovs":           {"bridge_mappings": mappings},
		"securitygroup": {"firewall_driver": firewall},
	}
}

// SRIOVOptions returns the options of neutron-sriov-nic-agent. cards are the cards of a node; a physical network may have
// several. https://docs.openstack.org/neutron/latest/configuration/sriov-agent.html
func (a Agents) SRIOVOptions(cards ...Card) oslo.Config {
	mappings := []string{}
	for _, c := range cards {
		if m := fmt.Sprintf("%s:%s", c.Network, c.Interface); !slices.Contains(mappings, m) {
			mappings = append(mappings, m)
		}
	}
	extensions := a.extensions(func(p servicePlugin) []string { return p.ofCards })
	return oslo.Config{"agent": {"extensions": extensions}, "sriov_nic": {"physical_device_mappings": mappings}}
}

// L3Options returns the options of neutron-l3-agent on nodes that connect routers to external networks.
// https://docs.openstack.org/neutron/latest/configuration/l3-agent.html
func (a Agents) L3Options() oslo.Config {
	mode := "legacy"
	if a.Distributed {
		mode = "dvr_snat"
	}
	return oslo.Config{
		"DEFAULT": {"interface_driver": plug, "agent_mode": mode},
		"agent":   {"extensions": a.extensions(func(p servicePlugin) []string { return p.ofRouters })},
	}
}

// DHCPOptions returns the options of neutron-dhcp-agent.
// https://docs.openstack.org/neutron/latest/configuration/dhcp-agent.html
func (a Agents) DHCPOptions() oslo.Config {
	c := oslo.Config{"DEFAULT": {"interface_driver": plug}}
	if a.DNSDomain != "" {
		c["DEFAULT"]["dns_domain"] = a.DNSDomain
	}
	return c
}

package network

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// firewall is what the switch of each node does for security groups. Neutron has to know it, too: by it, it tells Nova how to plug.
// https://docs.openstack.org/neutron/latest/admin/config-ovsfwdriver.html
const firewall = "openvswitch"

// plug is how agents plug in what is in network namespaces.
const plug = "openvswitch"

// What each network and each router has, so that the loss of a node is no outage
// (https://docs.openstack.org/neutron/latest/admin/config-dhcp-ha.html, …/deploy-ovs-ha-vrrp.html).
const dhcpAgents = 2

// agents are the options of a Neutron whose networks agents make.
func agents(n neutronv1.Networks) oslo.Config {
	c := oslo.Config{
		"DEFAULT": {
			"dhcp_agents_per_network": dhcpAgents,
			"l3_ha":                   true,
			"router_distributed":      n.DistributedFloatingIPs,
		},
		"securitygroup": {"firewall_driver": firewall},
	}
	if len(n.AvailabilityZones) > 0 { // Otherwise zones are known, and nothing is placed by them.
		c["DEFAULT"]["network_scheduler_driver"] = "neutron.scheduler.dhcp_agent_scheduler.AZAwareWeightScheduler"
		c["DEFAULT"]["router_scheduler_driver"] = "neutron.scheduler.l3_agent_scheduler.AZLeastRoutersScheduler"
	}
	return c
}

// Bridge is the switch of a node that is plugged into a physical network.
type Bridge struct {
	// Network is its name in the claim, and Bridge that of the switch on the node.
	Network, Bridge string
}

// Card is an interface of a node that is a network card with virtual functions (SR-IOV), in a physical network.
type Card struct {
	// Network is its name in the claim, and Interface that of the card on the node.
	Network, Interface string
}

// Agents is what those who run agents have to know of a Neutron, so that both fit.
type Agents struct {
	// Tunnels are the protocols of those between nodes, Plugins Neutron's service plugins that have a part in agents.
	Tunnels, Plugins []string
	// Distributed: each node has a part of each router.
	Distributed bool
	// DNSDomain is that of the names of virtual machines. Empty: Neutron's own.
	DNSDomain string
	// Cards are the physical networks in which virtual machines may have functions of network cards. Empty: they may not.
	Cards []string
}

// AgentsOf is what the agents of a Neutron have to know. With OVN they are those of network cards alone.
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
		for _, t := range texts(ml2.TypeDrivers, []neutronv1.NetworkType{does(by).tunnels}) {
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

// extensions returns the extensions of an agent: those that its service plugins need of it.
func (a Agents) extensions(of func(servicePlugin) []string) []string {
	out := []string{}
	for _, p := range plugins {
		if slices.Contains(a.Plugins, string(p.name)) {
			out = append(out, of(p)...)
		}
	}
	return out
}

// OpenvswitchOptions are those of neutron-openvswitch-agent: bridges are a node's switches outside. It has its node's address for tunnels
// besides, as [ovs] local_ip. https://docs.openstack.org/neutron/latest/configuration/openvswitch-agent.html
func (a Agents) OpenvswitchOptions(bridges ...Bridge) oslo.Config {
	mappings := []string{}
	for _, b := range bridges {
		mappings = append(mappings, fmt.Sprintf("%s:%s", b.Network, b.Bridge))
	}
	tunnels := append([]string{}, a.Tunnels...) // An empty list says that there are none.
	return oslo.Config{
		"agent": {
			"tunnel_types": tunnels, "l2_population": true, "arp_responder": true, "enable_distributed_routing": a.Distributed,
			"extensions": a.extensions(func(p servicePlugin) []string { return p.ofSwitch }),
		},
		"ovs":           {"bridge_mappings": mappings},
		"securitygroup": {"firewall_driver": firewall},
	}
}

// SRIOVOptions are those of neutron-sriov-nic-agent: cards are a node's, of which a physical network may have several.
// https://docs.openstack.org/neutron/latest/configuration/sriov-agent.html
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

// L3Options are those of neutron-l3-agent on nodes that connect routers to the outside.
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

// DHCPOptions are those of neutron-dhcp-agent. https://docs.openstack.org/neutron/latest/configuration/dhcp-agent.html
func (a Agents) DHCPOptions() oslo.Config {
	c := oslo.Config{"DEFAULT": {"interface_driver": plug}}
	if a.DNSDomain != "" {
		c["DEFAULT"]["dns_domain"] = a.DNSDomain
	}
	return c
}

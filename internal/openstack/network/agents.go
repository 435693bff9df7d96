package network

import (
	"fmt"

	"k8s.io/utils/ptr"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// firewall is what the switch of each node does for security groups. Neutron has to know it, too: by it, it tells Nova how to plug.
// https://docs.openstack.org/neutron/latest/admin/config-ovsfwdriver.html
const firewall = "openvswitch"

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

// AgentOptions are those of neutron-openvswitch-agent on a node that match a Neutron with the mechanism OVS: tunnel is the node's address
// for tunnels, and bridges are its switches outside. What reaches the message queue is the same as Neutron's own.
// https://docs.openstack.org/neutron/latest/configuration/openvswitch-agent.html
func AgentOptions(n neutronv1.Networks, tunnel string, bridges ...Bridge) oslo.Config {
	tunnels := []string{}
	types := texts(ptr.Deref(n.ML2, neutronv1.ML2{}).TypeDrivers, []neutronv1.NetworkType{does(neutronv1.ByOVS).tunnels})
	for _, t := range types {
		if t == string(neutronv1.VXLAN) || t == string(neutronv1.Geneve) {
			tunnels = append(tunnels, t)
		}
	}
	mappings := []string{}
	for _, b := range bridges {
		mappings = append(mappings, fmt.Sprintf("%s:%s", b.Network, b.Bridge))
	}
	return oslo.Config{
		"agent": {
			"tunnel_types": tunnels, "l2_population": true, "arp_responder": true, "enable_distributed_routing": n.DistributedFloatingIPs,
		},
		"ovs":           {"local_ip": tunnel, "bridge_mappings": mappings},
		"securitygroup": {"firewall_driver": firewall},
	}
}

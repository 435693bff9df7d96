package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// What there is where nothing is said.
const defaultVNIs = "1:65536"

var (
	defaultPlugins    = []neutronv1.ServicePlugin{"qos", "trunk", "segments", "port_forwarding"}
	defaultExtensions = []neutronv1.ExtensionDriver{"port_security", "qos", "dns"}
)

// noOwner are the addresses by which Neutron tells virtual machines of no DNS server at all. Without an address it would tell them of those
// of its own pod, which are the cluster's. https://docs.openstack.org/neutron/latest/admin/config-dns-res.html
var noOwner = []neutronv1.IPAddress{"0.0.0.0", "::"}

// headerBytes are what OVN writes into the header of a tunnel's packet
// (https://docs.openstack.org/neutron/latest/install/ovn/manual_install.html).
const headerBytes = 38

// Bounds of the tables FDB and MAC_Binding in OVN's southbound database, to which every address adds a row that a router or a port without
// port security meets. Without an age, rows are never removed: every chassis has a copy of both tables.
const (
	// learnedSeconds is how long a learned address stays after its last use. It is Neutron's own default of both ages in 2026.2, that of the
	// FDB in 2026.1, and the usual ageing time of switches (IEEE 802.1Q); releases before have 0. OVN asks again for an address that was
	// removed. https://docs.openstack.org/releasenotes/neutron/2026.2.html
	learnedSeconds = 300
	// removedAtOnce is how many rows one transaction removes at most, where Neutron has no limit: a database with millions of rows from before
	// would change all of them in one entry of the members' log. OVN goes on after five seconds, so that 12,000 rows go each minute: as
	// many as 60,000 addresses in use leave behind. https://www.ovn.org/support/dist-docs/ovn-nb.5.html
	removedAtOnce = 1000
)

// TenantTypes are the kinds of networks that projects get, as the option says them whose name is another one in some releases.
func TenantTypes(by neutronv1.Mechanism, n neutronv1.Networks) string {
	return strings.Join(tenantTypes(by, n), ",")
}

func tenantTypes(by neutronv1.Mechanism, n neutronv1.Networks) []string {
	return texts(ptr.Deref(n.ML2, neutronv1.ML2{}).TenantNetworkTypes, []neutronv1.NetworkType{does(by).tunnels})
}

// mechanism is what differs between those that make virtual networks.
type mechanism struct {
	// drivers of ML2.
	drivers []string
	// router is the plugin of routers, which others build on.
	router neutronv1.ServicePlugin
	// tunnels are those of projects where nothing is said.
	tunnels neutronv1.NetworkType
}

// mechanisms is what is known of each.
// https://docs.openstack.org/neutron/latest/ovn/ovn_feature_support_matrix.html
// https://docs.openstack.org/neutron/latest/admin/deploy-ovs.html
var mechanisms = map[neutronv1.Mechanism]mechanism{
	neutronv1.ByOVN: {
		drivers: []string{"ovn"}, router: "ovn-router", tunnels: neutronv1.Geneve,
	},
	neutronv1.ByOVS: {
		// Agents learn from the second one which node has which address, so that no packet is sent to all of them.
		drivers: []string{"openvswitch", "l2population"}, router: "router", tunnels: neutronv1.VXLAN,
	},
}

// Options are those of neutron.conf that say which networks there are, and are the same in all releases.
// https://docs.openstack.org/neutron/latest/configuration/ml2-conf.html
func Options(by neutronv1.Mechanism, n neutronv1.Networks) oslo.Config {
	ml2, of := ptr.Deref(n.ML2, neutronv1.ML2{}), does(by)
	vnis := []string{string(cmp.Or(ml2.VNIRange, defaultVNIs))}
	c := oslo.Config{
		"DEFAULT": {
			"core_plugin":     "ml2",
			"service_plugins": texts(n.ServicePlugins, append([]neutronv1.ServicePlugin{of.router}, defaultPlugins...)),
		},
		"ml2": {
			"mechanism_drivers": of.drivers,
			"type_drivers":      TypeDrivers(by, ml2),
			"extension_drivers": texts(ml2.ExtensionDrivers, defaultExtensions),
		},
		"ml2_type_geneve": {"vni_ranges": vnis},
		"ml2_type_vxlan":  {"vni_ranges": vnis},
		"quotas":          quotas(ptr.Deref(n.Quotas, neutronv1.Quotas{})),
	}.Merge(own(by, n)).Merge(cards(of, ml2.SRIOV))
	if ml2.MTU != nil {
		c["DEFAULT"]["global_physnet_mtu"] = *ml2.MTU
	}
	if n.DNSDomain != "" {
		c["DEFAULT"]["dns_domain"] = n.DNSDomain
	}
	if len(n.AvailabilityZones) > 0 {
		c["DEFAULT"]["default_availability_zones"] = texts(n.AvailabilityZones, nil)
	}
	return c.Merge(physical(ml2.PhysicalNetworks))
}

// UsesAgents says that there are agents on nodes, which talk to Neutron by the message queue: for all networks, or for network cards.
// A port of a card is given to a node of which an agent has said that it has some
// (neutron.plugins.ml2.drivers.mech_sriov.mech_driver.mech_driver).
func UsesAgents(by neutronv1.Mechanism, n neutronv1.Networks) bool {
	return by == neutronv1.ByOVS || ptr.Deref(n.ML2, neutronv1.ML2{}).SRIOV != nil
}

// cards are the options of functions of network cards (SR-IOV). Which cards there are, agents say: Neutron has no list of them any more.
// https://docs.openstack.org/neutron/latest/admin/config-sriov.html
func cards(of mechanism, s *neutronv1.SRIOV) oslo.Config {
	if s == nil {
		return nil
	}
	return oslo.Config{
		"ml2":          {"mechanism_drivers": append(slices.Clone(of.drivers), "sriovnicswitch")},
		"sriov_driver": {"vnic_type_prohibit_list": texts(s.ProhibitedVNICTypes, nil)},
	}
}

// does is what is known of a mechanism: of OVN, where none is said.
func does(by neutronv1.Mechanism) mechanism { return mechanisms[cmp.Or(by, neutronv1.ByOVN)] }

// own are the options of a mechanism alone.
func own(by neutronv1.Mechanism, n neutronv1.Networks) oslo.Config {
	if by == neutronv1.ByOVS {
		return agents(n)
	}
	return oslo.Config{
		"ml2_type_geneve": {"max_header_size": headerBytes},
		"ovn": {
			"dns_servers": texts(n.DNSServers, noOwner), "enable_distributed_floating_ip": n.DistributedFloatingIPs,
			"fdb_age_threshold": learnedSeconds, "mac_binding_age_threshold": learnedSeconds,
		},
		"ovn_nb_global": {"fdb_removal_limit": removedAtOnce, "mac_binding_removal_limit": removedAtOnce},
	}
}

// physical are the networks outside. None may be made without a VLAN where nothing is said: Neutron alone would allow it on any.
func physical(networks []neutronv1.PhysicalNetwork) oslo.Config {
	flat, vlans, mtus := []string{}, []string{}, []string{}
	for _, p := range networks {
		if p.Flat {
			flat = append(flat, p.Name)
		}
		if len(p.VLANRanges) == 0 {
			vlans = append(vlans, p.Name)
		}
		for _, r := range p.VLANRanges {
			vlans = append(vlans, p.Name+":"+string(r))
		}
		if p.MTU != nil {
			mtus = append(mtus, fmt.Sprintf("%s:%d", p.Name, *p.MTU))
		}
	}
	return oslo.Config{
		"ml2":           {"physical_network_mtus": mtus},
		"ml2_type_flat": {"flat_networks": flat},
		"ml2_type_vlan": {"network_vlan_ranges": vlans},
	}
}

// quotas are those that are said.
func quotas(q neutronv1.Quotas) oslo.Options {
	out := oslo.Options{}
	for option, limit := range map[string]*int32{
		"quota_network": q.Networks, "quota_subnet": q.Subnets, "quota_port": q.Ports, "quota_router": q.Routers,
		"quota_floatingip": q.FloatingIPs, "quota_security_group": q.SecurityGroups, "quota_security_group_rule": q.SecurityGroupRules,
	} {
		if limit != nil {
			out[option] = *limit
		}
	}
	return out
}

// texts are those that are said, or others where there are none.
func texts[S ~string](requested, others []S) []string {
	if len(requested) == 0 {
		requested = others
	}
	out := make([]string, len(requested))
	for i, s := range requested {
		out[i] = string(s)
	}
	return out
}

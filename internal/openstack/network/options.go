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

// Defaults for fields that the claim does not set.
const defaultVNIs = "1:65536"

var (
	defaultPlugins    = []neutronv1.ServicePlugin{"qos", "trunk", "segments", "port_forwarding"}
	defaultExtensions = []neutronv1.ExtensionDriver{"port_security", "qos", "dns"}
)

// noDNSServer are the addresses that make Neutron announce no DNS servers to Nova servers. Without an address, Neutron would
// announce the DNS servers of its pod, which are the cluster's.
// https://docs.openstack.org/neutron/latest/admin/config-dns-res.html
var noDNSServer = []neutronv1.IPAddress{"0.0.0.0", "::"}

// headerBytes is the size of OVN's metadata in the header of tunnel packets
// (https://docs.openstack.org/neutron/latest/install/ovn/manual_install.html).
const headerBytes = 38

// Limits of the tables FDB and MAC_Binding in OVN's southbound database. Each address that a router, or a port without port
// security, discovers adds a row. Without an age threshold, rows are never removed, and every chassis has a copy of both
// tables.
const (
	// maxAgeSeconds keeps a learned address for 300 s after its last use. It is Neutron's own default of both ages in
	// 2026.2, of the FDB age in 2026.1, and the usual ageing time of switches (IEEE 802.1Q); earlier releases default to 0.
	// OVN resolves a removed address again when it needs it. https://docs.openstack.org/releasenotes/neutron/2026.2.html
	maxAgeSeconds = 300
	// removalLimit is the maximum number of rows removed in one transaction. Neutron has no limit by default: in a
	// database with millions of old rows, all of them would be one entry in the Raft log. OVN continues after five seconds,
	// so it removes 12,000 rows a minute, which is sufficient for 60,000 addresses in use.
	// https://www.ovn.org/support/dist-docs/ovn-nb.5.html
	removalLimit = 1000
)

// TenantTypes returns the network types of projects, in the format of the option whose name depends on the release.
func TenantTypes(by neutronv1.Mechanism, n neutronv1.Networks) string {
	return strings.Join(tenantTypes(by, n), ",")
}

func tenantTypes(by neutronv1.Mechanism, n neutronv1.Networks) []string {
	return texts(ptr.Deref(n.ML2, neutronv1.ML2{}).TenantNetworkTypes, []neutronv1.NetworkType{propertiesOf(by).tunnels})
}

// mechanism contains the differences between the mechanisms that implement virtual networks.
type mechanism struct {
	// drivers of ML2.
	drivers []string
	// router is the service plugin for routers, on which other plugins depend.
	router neutronv1.ServicePlugin
	// tunnels is the default network type of projects.
	tunnels neutronv1.NetworkType
}

// mechanisms contains the properties of each mechanism.
// https://docs.openstack.org/neutron/latest/ovn/ovn_feature_support_matrix.html
// https://docs.openstack.org/neutron/latest/admin/deploy-ovs.html
var mechanisms = map[neutronv1.Mechanism]mechanism{
	neutronv1.ByOVN: {
		drivers: []string{"ovn"}, router: "ovn-router", tunnels: neutronv1.Geneve,
	},
	neutronv1.ByOVS: {
		// l2population informs the agents which node has which address, so that packets are not flooded to all of them.
		drivers: []string{"openvswitch", "l2population"}, router: "router", tunnels: neutronv1.VXLAN,
	},
}

// Options returns the options of neutron.conf that define the networks and are the same in all releases.
// https://docs.openstack.org/neutron/latest/configuration/ml2-conf.html
func Options(by neutronv1.Mechanism, n neutronv1.Networks) oslo.Config {
	ml2, of := ptr.Deref(n.ML2, neutronv1.ML2{}), propertiesOf(by)
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

// UsesAgents reports whether agents on nodes connect to Neutron through the message queue, for all networks or for network
// cards. Neutron binds a port of a card only on a node whose agent has reported cards
// (neutron.plugins.ml2.drivers.mech_sriov.mech_driver.mech_driver).
func UsesAgents(by neutronv1.Mechanism, n neutronv1.Networks) bool {
	return by == neutronv1.ByOVS || ptr.Deref(n.ML2, neutronv1.ML2{}).SRIOV != nil
}

// cards returns the options for virtual functions of network cards (SR-IOV). Agents report the available cards: Neutron no
// longer has a list of them. https://docs.openstack.org/neutron/latest/admin/config-sriov.html
func cards(of mechanism, s *neutronv1.SRIOV) oslo.Config {
	if s == nil {
		return nil
	}
	return oslo.Config{
		"ml2":          {"mechanism_drivers": append(slices.Clone(of.drivers), "sriovnicswitch")},
		"sriov_driver": {"vnic_type_prohibit_list": texts(s.ProhibitedVNICTypes, nil)},
	}
}

// propertiesOf returns the properties of a mechanism. The default is OVN.
func propertiesOf(by neutronv1.Mechanism) mechanism { return mechanisms[cmp.Or(by, neutronv1.ByOVN)] }

// own returns the options that only one mechanism has.
func own(by neutronv1.Mechanism, n neutronv1.Networks) oslo.Config {
	if by == neutronv1.ByOVS {
		return agents(n)
	}
	return oslo.Config{
		"ml2_type_geneve": {"max_header_size": headerBytes},
		"ovn": {
			"dns_servers": texts(n.DNSServers, noDNSServer), "enable_distributed_floating_ip": n.DistributedFloatingIPs,
			"fdb_age_threshold": maxAgeSeconds, "mac_binding_age_threshold": maxAgeSeconds,
		},
		"ovn_nb_global": {"fdb_removal_limit": removalLimit, "mac_binding_removal_limit": removalLimit},
	}
}

// physical returns the options of the physical networks. By default, networks without a VLAN are not permitted: Neutron's
// default allows them on every physical network.
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

// quotas returns the quotas that are set.
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

// texts converts the requested values, or the others if none are requested, to strings.
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

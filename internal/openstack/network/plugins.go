package network

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// servicePlugin is a service plugin that claims may contain, with all related configuration. This table determines which
// plugins are accepted and how the server and the agents are configured for them.
type servicePlugin struct {
	name neutronv1.ServicePlugin
	// only is the mechanism that supports it. Empty: both.
	only neutronv1.Mechanism
	// onRouters is true if it depends on the plugin of routers, whose name depends on the mechanism.
	onRouters bool
	// driver is the ML2 extension driver that adds its attributes to ports and networks. Empty: it needs none.
	driver neutronv1.ExtensionDriver
	// ofSwitch, ofCards and ofRouters are the extensions of neutron-openvswitch-agent, neutron-sriov-nic-agent and
	// neutron-l3-agent that implement it. OVN needs none of them, but network cards do, also together with OVN.
	ofSwitch, ofCards, ofRouters []string
}

// plugins are the service plugins of all releases. Neutron itself loads the plugins for tags, time stamps, revisions,
// flavors and network availability. The agent of network cards has no driver for logs and does not start with that
// extension.
//
//   - qos: https://docs.openstack.org/neutron/latest/admin/config-qos.html. The L3 agent limits addresses of routers and floating IPs.
//   - log: https://docs.openstack.org/neutron/latest/admin/config-logging.html. Agents log to standard error, as all other processes.
//   - port_forwarding: https://docs.openstack.org/neutron/latest/admin/config-fip-port-forwardings.html
//   - trunk, segments, network_segment_range, placement: only in the server, or loaded by the agents themselves.
//   - OVN: https://docs.openstack.org/neutron/latest/ovn/ovn_feature_support_matrix.html
var plugins = []servicePlugin{
	{name: "ovn-router", only: neutronv1.ByOVN},
	{name: "router", only: neutronv1.ByOVS},
	{
		name: "qos", driver: "qos", ofSwitch: []string{"qos"}, ofCards: []string{"qos"}, ofRouters: []string{"fip_qos", "gateway_ip_qos"},
	},
	{name: "port_forwarding", onRouters: true, ofRouters: []string{"port_forwarding"}},
	{name: "log", ofSwitch: []string{"log"}},
	{name: "trunk"},
	{name: "segments"},
	{name: "network_segment_range"},
	{name: "placement"},
}

// inAgents reports whether the plugin needs extensions of agents.
func (p servicePlugin) inAgents() bool { return len(p.ofSwitch)+len(p.ofCards)+len(p.ofRouters) > 0 }

// works reports whether a mechanism supports the plugin.
func (p servicePlugin) works(by neutronv1.Mechanism) bool {
	return p.only == "" || p.only == cmp.Or(by, neutronv1.ByOVN)
}

// checkPlugins returns errors for plugins with which Neutron would not start, or that would have no effect.
func checkPlugins(base string, by neutronv1.Mechanism, n neutronv1.Networks) error {
	var errs []error
	router, drivers := propertiesOf(by).router, ptr.Deref(n.ML2, neutronv1.ML2{}).ExtensionDrivers
	for i, name := range n.ServicePlugins {
		field := fmt.Sprintf("%s.servicePlugins[%d]", base, i)
		at := slices.IndexFunc(plugins, func(p servicePlugin) bool { return p.name == name && p.works(by) })
		switch {
		case at < 0:
			errs = append(errs, invalid.Field(field, "%q is no plugin that works with %s; choose from %s",
				name, cmp.Or(by, neutronv1.ByOVN), join(pluginsOf(by))))
		case plugins[at].onRouters && !slices.Contains(n.ServicePlugins, router):
			errs = append(errs, invalid.Field(field, "%s needs %s; add it, or leave this out", name, router))
		case plugins[at].driver != "" && len(drivers) > 0 && !slices.Contains(drivers, plugins[at].driver):
			errs = append(errs, invalid.Field(field, "%s requires the extension driver %s; add it to ml2.extensionDrivers, or remove %[1]s",
				name, plugins[at].driver))
		}
	}
	return errors.Join(errs...)
}

// pluginsOf returns the names of the plugins that work with a mechanism, sorted.
func pluginsOf(by neutronv1.Mechanism) []neutronv1.ServicePlugin {
	var out []neutronv1.ServicePlugin
	for _, p := range plugins {
		if p.works(by) {
			out = append(out, p.name)
		}
	}
	slices.Sort(out)
	return out
}

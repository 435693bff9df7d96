package network

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
)

// TestAgentsHaveExtensionsOfPlugins checks that every agent has the extensions of each service plugin.
func TestAgentsHaveExtensionsOfPlugins(t *testing.T) {
	type extensions struct{ Switch, Cards, Routers []string }
	want := map[neutronv1.ServicePlugin]extensions{
		"qos":             {Switch: []string{"qos"}, Cards: []string{"qos"}, Routers: []string{"fip_qos", "gateway_ip_qos"}},
		"log":             {Switch: []string{"log"}},
		"port_forwarding": {Routers: []string{"port_forwarding"}},
		"router":          {}, "trunk": {}, "segments": {}, "network_segment_range": {}, "placement": {},
	}
	got := map[neutronv1.ServicePlugin]extensions{}
	list := func(v any) []string {
		if s, ok := v.([]string); ok && len(s) > 0 {
			return s
		}
		return nil
	}
	for _, p := range pluginsOf(neutronv1.ByOVS) {
		n := neutronv1.Networks{ServicePlugins: []neutronv1.ServicePlugin{"router", p}}
		if err := Check("spec", neutronv1.ByOVS, n); err != nil {
			t.Errorf("%s is not accepted: %s", p, err)
		}
		a := AgentsOf(neutronv1.ByOVS, n)
		got[p] = extensions{
			list(a.OpenvswitchOptions()["agent"]["extensions"]), list(a.SRIOVOptions()["agent"]["extensions"]),
			list(a.L3Options()["agent"]["extensions"]),
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("extensions by plugin (-want +got):\n%s", diff)
	}
}

// TestQoSRequiresDriver checks that a list of extension drivers without the driver of a plugin is rejected.
func TestQoSRequiresDriver(t *testing.T) {
	n := neutronv1.Networks{
		ServicePlugins: []neutronv1.ServicePlugin{"ovn-router", "qos"}, ML2: &neutronv1.ML2{ExtensionDrivers: []neutronv1.ExtensionDriver{"port_security"}},
	}
	const want = "spec.servicePlugins[1]: qos requires the extension driver qos; add it to ml2.extensionDrivers, or remove qos"
	if err := Check("spec", "", n); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	n.ML2.ExtensionDrivers = append(n.ML2.ExtensionDrivers, "qos")
	if err := Check("spec", "", n); err != nil {
		t.Error(err)
	}
}

package hypervisor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// byAgents is a control plane whose networks agents make, and served a pool with nodes for routers and DHCP.
var byAgents = reconcileUntil(controlPlaneYAML, "      mechanism: OVN") + `      mechanism: OVS
      agents:
        queue: {rabbitMQRef: {name: rabbitmq}, host: rabbitmq.` + cloud + `.svc, port: 5671, caSecretRef: {name: rabbitmq-tls, key: ca.crt}}
        virtualHost: neutron
        queueSecretRef: {name: neutron-queue}
        tunnels: [vxlan]
        servicePlugins: [qos, port_forwarding]
        dnsDomain: cloud.example.com.
` + strings.TrimPrefix(controlPlaneYAML, reconcileUntil(controlPlaneYAML, "    volumes:"))

// agentsClaim and agentsXR are a second control plane.
var (
	agentsClaim = strings.NewReplacer("name: cloud}", "name: agents}", "cloud-x", "agents-x").Replace(planeClaim)
	agentsXR    = strings.NewReplacer("name: cloud}", "name: agents}", "cloud-x", "agents-x").Replace(byAgents)
)

const served = `networks: {gateway: {nodeSelector: {network-gateway: "true"}}}`

// withAgents is a pool of such a control plane.
func withAgents(t *testing.T, spec string) *simulate.Cluster {
	t.Helper()
	w := newCluster(spec, "tenant-a", objects(planeClaim, byAgents)...)
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestAgents verifies the agents of nodes for a control plane without OVN: Open vSwitch agents on all nodes; L3, DHCP and metadata agents
// on gateway nodes. No OVN component is composed.
func TestAgents(t *testing.T) {
	const ofSlice = `slices: [{name: edge, nodeSelector: {tier: edge}, networks: {gateway: {nodeSelector: {edge-gateway: "true"}}}}]`
	for name, tc := range map[string]struct {
		reason, spec string
		want         []string
	}{
		"Nobody": {"Networks have nodes of another pool that serve them.", mine, []string{"openvswitch-agent"}},
		"Gateways": {
			"One agent of each.", more(served), []string{"dhcp-agent", "l3-agent", "metadata", "openvswitch-agent"},
		},
		"Slice": {
			"Nodes of a slice serve, and the others do not.", more(ofSlice),
			[]string{"dhcp-agent-slice-edge", "l3-agent-slice-edge", "metadata-slice-edge", "openvswitch-agent", "openvswitch-agent-slice-edge"},
		},
		"NoMetadata": {
			"No node serves metadata.", more(served + ", agents: {metadata: {enabled: false}}"), []string{"dhcp-agent", "l3-agent", "openvswitch-agent"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for resource, o := range kind.Desired(t, withAgents(t, tc.spec)) {
				for _, word := range []string{"ovn", "southbound"} {
					if strings.Contains(resource, word) {
						t.Errorf("%s is OVN's", resource)
					}
				}
				labels, _ := o["metadata"].(map[string]any)["labels"].(map[string]any)
				if o["kind"] == "DaemonSet" && labels["app.kubernetes.io/name"] == "neutron" {
					got = append(got, resource)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNodesMayReachAgentsQueue verifies that nodes are allowed to connect to the queue of agents, with one policy if it is also the queue
// of the cell.
func TestNodesMayReachAgentsQueue(t *testing.T) {
	own := strings.Replace(byAgents, "      queue: {rabbitMQRef: {name: rabbitmq}", "      queue: {rabbitMQRef: {name: of-cell1}", 1)
	for name, tc := range map[string]struct {
		plane string
		want  []string
	}{
		"Shared": {byAgents, []string{"apis-network-policy", "queue-network-policy"}},
		"Apart":  {own, []string{"agents-queue-network-policy", "apis-network-policy", "queue-network-policy"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(mine, "tenant-a", objects(planeClaim, tc.plane)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			got := slices.Sorted(maps.Keys(kind.Desired(t, w)))
			got = slices.DeleteFunc(got, func(name string) bool { return !strings.HasSuffix(name, "-network-policy") })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestLoginReportedOnceAllAgentsUseIt verifies that agents use Neutron's current login, and that the login is reported to the control plane
// once the pods of all agents use it.
func TestLoginReportedOnceAllAgentsUseIt(t *testing.T) {
	const annotation = "credentials.c5c3.io/neutron-queue"
	sets, spec := []string{"openvswitch-agent", "l3-agent", "dhcp-agent", "metadata", "sriov-agent"}, more(served+", "+carded)
	w := ran(t, spec, agentsWithCards)
	if got := observedIDs(composed(t, w, "remote-consumer"))["neutron-queue"]; got != "id-of-neutron-queue" {
		t.Fatalf("the pool has %q", got)
	}
	for _, late := range append([]string{""}, sets...) {
		t.Run(late, func(t *testing.T) {
			w := ran(t, spec, agentsWithCards)
			consumer, put := inside(t, w, "remote-consumer")
			for _, c := range consumer["status"].(map[string]any)["credentials"].([]any) {
				if c := c.(map[string]any); c["secretName"] == "neutron-queue" {
					c["currentID"] = "next"
				}
			}
			put()
			for _, set := range sets {
				o, put := inside(t, w, set)
				if set != late {
					o["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)["annotations"].(map[string]any)[annotation] = "next"
				}
				put()
				template := composed(t, w, set)["spec"].(map[string]any)["template"].(map[string]any)
				if got := template["metadata"].(map[string]any)["annotations"].(map[string]any)[annotation]; got != "next" {
					t.Errorf("%s is made for %v", set, got)
				}
			}
			want := "next"
			if late != "" {
				want = "id-of-neutron-queue"
			}
			if got := observedIDs(composed(t, w, "remote-consumer"))["neutron-queue"]; got != want {
				t.Errorf("the reported login is %q, want %q", got, want)
			}
			template := composed(t, w, "nova-compute")["spec"].(map[string]any)["template"].(map[string]any)
			if got, ok := template["metadata"].(map[string]any)["annotations"].(map[string]any)[annotation]; ok {
				t.Errorf("nova-compute, which has no login of Neutron, is made for %v", got)
			}
		})
	}
}

// TestRejectsInvalidAgentSettings verifies that settings of OVN are rejected with Neutron agents, and the reverse.
func TestRejectsInvalidAgentSettings(t *testing.T) {
	slice := func(networks string) string {
		return more("slices: [{name: a, nodeSelector: {rack: a}, networks: " + networks + "}]")
	}
	distributed := strings.Replace(byAgents, "tunnels:", "distributed: true\n        tunnels:", 1)
	for name, tc := range map[string]struct {
		reason, spec, other, field, message string
	}{
		"Distributed": {"Distributed routers require agents on nodes.", mine, distributed, "spec.controlPlaneRef", "distributed routers, which are not supported"},
		"Apart":       {"Agents do not reach the queue.", inCluster(mine, "east"), byAgents, "spec.cluster", "which is supported only in its own cluster"},
		"Tunnels": {
			"Nodes would not be connected.", more("networks: {encapsulation: {type: vxlan}}"), byAgents, "spec.networks.encapsulation.type", "ml2.typeDrivers",
		},
		"TunnelsOfSlice": {
			"It applies to slices.", slice("{encapsulation: {type: geneve}}"), byAgents, "spec.slices[0].networks.encapsulation.type", "ml2.typeDrivers",
		},
		"Bridge": {
			"Agents would take it over.", slice("{bridgeMappings: [{physicalNetwork: a, bridge: br-tun}]}"), byAgents,
			"spec.slices[0].networks.bridgeMappings[0].bridge", "must not be br-tun",
		},
		"Controller": {
			"It would have no effect.", more("agents: {ovnController: {resources: {requests: {cpu: 1}}}}"), byAgents, "spec.agents.ovnController",
			"OVN is not used",
		},
		"Neutron": {
			"It would have no effect.", more("agents: {neutron: {resources: {requests: {cpu: 1}}}}"), controlPlaneYAML, "spec.agents.neutron",
			"not used by a control plane with mechanism OVN",
		},
		"Image": {
			"Another release does not fit.", more(`agents: {neutron: {image: {tag: "1.0.0"}}}`), byAgents, "spec.agents.neutron.image.tag",
			"the release is set by the control plane",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := makeReady(newCluster(tc.spec, "tenant-a", objects(planeClaim, tc.other)...))
			wantError(t, tc.reason, err, tc.field, tc.message)
		})
	}
}

// TestAgentsUseConfiguredImages verifies that all agents use one image, and that the metadata agent can use another image.
func TestAgentsUseConfiguredImages(t *testing.T) {
	for _, tc := range []struct{ spec, agents, metadata string }{
		{served, "registry.example.com/c5c3/neutron-agents:27.0.4", "registry.example.com/c5c3/neutron-agents:27.0.4"},
		{
			served + `, agents: {neutron: {image: {tag: 27.0.4-p1}}}`, "registry.example.com/c5c3/neutron-agents:27.0.4-p1",
			"registry.example.com/c5c3/neutron-agents:27.0.4-p1",
		},
		{
			served + `, agents: {metadata: {image: {tag: 27.0.4-p2}}}`, "registry.example.com/c5c3/neutron-agents:27.0.4",
			"registry.example.com/c5c3/neutron-agents:27.0.4-p2",
		},
	} {
		w := withAgents(t, more(tc.spec))
		for set, want := range map[string]string{
			"openvswitch-agent": tc.agents, "l3-agent": tc.agents, "dhcp-agent": tc.agents, "metadata": tc.metadata,
		} {
			pod := composed(t, w, set)["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
			if got := pod["containers"].([]any)[0].(map[string]any)["image"]; got != want {
				t.Errorf("%s: %s runs %v, want %s", tc.spec, set, got, want)
			}
		}
	}
}

// TestCapabilities verifies that helpers have the capabilities of their container, by the kernel's numbers.
func TestCapabilities(t *testing.T) {
	w := withAgents(t, more(served))
	for set, want := range map[string]string{
		"openvswitch-agent": "12", "l3-agent": "1,2,6,7,12,13,21", "dhcp-agent": "1,2,5,6,7,10,12,13,21",
	} {
		pod := composed(t, w, set)["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		config := ""
		for _, v := range pod["volumes"].([]any) {
			if m, ok := v.(map[string]any)["configMap"].(map[string]any); ok {
				config = m["name"].(string)
			}
		}
		text := composed(t, w, config)["data"].(map[string]any)["neutron.conf"].(string)
		line := fmt.Sprintf("capabilities = %s\n", want)
		if got := strings.Count(text, line); got != len(privsepContexts) {
			t.Errorf("%s: %d contexts have %q:\n%s", set, got, line, text)
		}
	}
}

// TestInputOfRemovedAgentsRetainedUntilReady verifies that the input of agents is retained until all resources are ready when a pool has no
// gateways any more.
func TestInputOfRemovedAgentsRetainedUntilReady(t *testing.T) {
	w := withAgents(t, more(served))
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	before := kind.Desired(t, w)
	spec := w.XR.GetFields()["spec"].GetStructValue().GetFields()
	delete(spec, "networks")
	spec["cpu"] = parsed("{a: {mode: host-model}}").GetFields()["a"] // for which nova-compute is replaced
	after := New().Run(w.Request()).Composed
	for _, component := range []string{l3AgentComponent, dhcpAgentComponent, metadataComponent} {
		read := 0
		for name := range before {
			if strings.HasPrefix(name, component+"-config-") {
				read++
				if _, ok := after[name]; !ok {
					t.Errorf("%s has gone while pods are replaced", name)
				}
			}
		}
		if _, ok := after[component]; ok || read == 0 {
			t.Errorf("%s is still wanted: %t; it read %d ConfigMaps", component, ok, read)
		}
	}
}

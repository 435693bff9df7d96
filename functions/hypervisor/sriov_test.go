package hypervisor

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// sriovStatus is the status of a control plane with OVN and SR-IOV.
const sriovStatus = `      agents:
        queue: {rabbitMQRef: {name: rabbitmq}, host: rabbitmq.` + cloud + `.svc, port: 5671, caSecretRef: {name: rabbitmq-tls, key: ca.crt}}
        virtualHost: neutron
        queueSecretRef: {name: neutron-queue}
        sriovNetworks: [physnet1, physnet2]
        servicePlugins: [qos, port_forwarding]
`

// withCards is such a control plane, and agentsWithCards one whose networks agents make.
var (
	withCards       = strings.Replace(controlPlaneYAML, "    volumes:", sriovStatus+"    volumes:", 1)
	agentsWithCards = strings.Replace(byAgents, "        tunnels:", "        sriovNetworks: [physnet1]\n        tunnels:", 1)
)

// cardsClaim and cardsXR are a second control plane.
var (
	cardsClaim = strings.NewReplacer("name: cloud}", "name: cards}", "cloud-x", "cards-x").Replace(planeClaim)
	cardsXR    = strings.NewReplacer("name: cloud}", "name: cards}", "cloud-x", "cards-x").Replace(withCards)
)

const (
	card    = `{name: a, vendorID: "8086", productID: "1889", interface: ens1f0, physicalNetwork: physnet1}`
	carded  = `pciDevices: [` + card + `]`
	ofSlice = `slices: [{name: fast, nodeSelector: {cards: "true"}, ` + carded + `}, {name: other, nodeSelector: {cards: "false"}}]`
)

// ran is a pool of a control plane.
func ran(t *testing.T, spec, plane string) *simulate.Cluster {
	t.Helper()
	w := newCluster(spec, "tenant-a", objects(planeClaim, plane)...)
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestSRIOVAgentsRequireNetworkCards verifies that only nodes with network cards run an SR-IOV agent, with both mechanisms, and that
// Neutron's login is copied only to pools that use it.
func TestSRIOVAgentsRequireNetworkCards(t *testing.T) {
	const login = "control-plane-secrets-control-plane-neutron-queue"
	byOthers := []string{"openvswitch-agent"}
	for name, tc := range map[string]struct {
		reason, spec, plane string
		agents              []string
		login               bool
	}{
		"None":        {"The control plane would let it have some.", mine, withCards, nil, false},
		"Flavors":     {"A device of no network is none of Neutron's.", more(`pciDevices: [{name: a, vendorID: 10de, productID: 20b5}]`), withCards, nil, false},
		"Pool":        {"All nodes have them.", more(carded), withCards, []string{"sriov-agent"}, true},
		"Slice":       {"Only the slice has them.", more(ofSlice), withCards, []string{"sriov-agent-slice-fast"}, true},
		"Agents":      {"They have one more.", more(carded), agentsWithCards, append(byOthers, "sriov-agent"), true},
		"AgentsAlone": {"They stay as they are.", mine, agentsWithCards, byOthers, true},
	} {
		t.Run(name, func(t *testing.T) {
			var agents []string
			all := kind.Desired(t, ran(t, tc.spec, tc.plane))
			for resource, o := range all {
				labels, _ := o["metadata"].(map[string]any)["labels"].(map[string]any)
				if o["kind"] == "DaemonSet" && labels["app.kubernetes.io/name"] == "neutron" && !strings.HasPrefix(resource, "metadata") {
					agents = append(agents, resource)
				}
			}
			slices.Sort(agents)
			if diff := cmp.Diff(tc.agents, agents); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if _, ok := all[login]; ok != tc.login {
				t.Errorf("%s Neutron's login is brought: %t", tc.reason, ok)
			}
			ids := observedIDs(all["remote-consumer"])
			if _, ok := ids["neutron-queue"]; ok != tc.login {
				t.Errorf("%s The status has %v", tc.reason, ids)
			}
		})
	}
}

// TestSRIOVLeavesPoolWithoutCardsUnchanged verifies that a pool without network cards is not changed when the control plane enables SR-IOV.
func TestSRIOVLeavesPoolWithoutCardsUnchanged(t *testing.T) {
	for name, planes := range map[string][2]string{"OVN": {controlPlaneYAML, withCards}, "Agents": {byAgents, agentsWithCards}} {
		before, after := kind.Desired(t, ran(t, more(served), planes[0])), kind.Desired(t, ran(t, more(served), planes[1]))
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
}

// TestNovaAndNeutronUseSameCards verifies that Nova and Neutron use the same interface of a card, or Nova its address, and that no flavor
// is required.
func TestNovaAndNeutronUseSameCards(t *testing.T) {
	all := kind.Desired(t, ran(t, more(`pciDevices: [`+card+`, {name: b, address: "0000:3b:00.0", interface: ens2f0, physicalNetwork: physnet2}, `+
		`{name: c, vendorID: "8086", productID: "188a", interface: ens1f0, physicalNetwork: physnet1}]`), withCards))
	want := map[string][]string{
		"nova.conf": {
			`device_spec = {"devname": "ens1f0", "vendor_id": "8086", "product_id": "1889", "physical_network": "physnet1"}`,
			`device_spec = {"address": "0000:3b:00.0", "physical_network": "physnet2"}`,
			`device_spec = {"devname": "ens1f0", "vendor_id": "8086", "product_id": "188a", "physical_network": "physnet1"}`,
		},
		"neutron.conf": {"physical_device_mappings = physnet1:ens1f0,physnet2:ens2f0", "extensions = qos"},
	}
	for resource, o := range all {
		data, _ := o["data"].(map[string]any)
		for file, lines := range want {
			text, _ := data[file].(string)
			if text == "" || strings.HasPrefix(resource, "metadata") {
				continue
			}
			for _, line := range lines {
				if !strings.Contains(text, line+"\n") {
					t.Errorf("%s does not contain %s:\n%s", resource, line, text)
				}
			}
			for _, word := range []string{"alias", "pci_in_placement"} {
				if strings.Contains(text, word) {
					t.Errorf("%s has %s, which requires a flavor", resource, word)
				}
			}
			delete(want, file)
		}
	}
	if len(want) > 0 {
		t.Errorf("no object contains %v", want)
	}
}

// TestRemovedCardsRetainInputUntilReady verifies that the input of SR-IOV agents and their login are retained until all resources are ready
// after the cards are removed, and then deleted.
func TestRemovedCardsRetainInputUntilReady(t *testing.T) {
	w := ran(t, more(carded), withCards)
	remaining := func() (out []string) {
		for resource := range kind.Desired(t, w) {
			if strings.Contains(resource, "sriov") || strings.Contains(resource, "neutron-queue") {
				out = append(out, resource)
			}
		}
		return out
	}
	if len(remaining()) == 0 {
		t.Fatal("no objects exist")
	}
	delete(w.XR.GetFields()["spec"].GetStructValue().GetFields(), "pciDevices")
	got := remaining()
	slices.Sort(got)
	if len(got) != 2 || got[0] != "control-plane-secrets-control-plane-neutron-queue" || !strings.HasPrefix(got[1], "sriov-agent-config-") {
		t.Errorf("while nova-compute is replaced, there are %v", got)
	}
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	if got := remaining(); len(got) != 0 {
		t.Errorf("there are still %v", got)
	}
}

// TestSRIOVOpensAgentsQueueToNodes verifies that nodes may connect to the queue of Neutron's agents, also if it is not the queue of the
// cell.
func TestSRIOVOpensAgentsQueueToNodes(t *testing.T) {
	own := strings.Replace(withCards, "      queue: {rabbitMQRef: {name: rabbitmq}", "      queue: {rabbitMQRef: {name: of-cell1}", 1)
	for spec, want := range map[string]bool{mine: false, more(carded): true} {
		if _, got := ran(t, spec, own).Observed["agents-queue-network-policy"]; got != want {
			t.Errorf("%s: it is opened: %t", spec, got)
		}
	}
	if _, got := ran(t, more(carded), withCards).Observed["agents-queue-network-policy"]; got {
		t.Error("it is opened twice")
	}
}

// TestRejectsUnusableNetworkCards verifies that network cards which no port can use are rejected.
func TestRejectsUnusableNetworkCards(t *testing.T) {
	none := strings.Replace(agentsWithCards, "        sriovNetworks: [physnet1]\n", "", 1)
	for name, tc := range map[string]struct{ reason, spec, plane, field, message string }{
		"None": {
			"Neutron would bind no port.", more(carded), controlPlaneYAML, "spec.pciDevices[0].physicalNetwork", "set services.neutron.ml2.sriov",
		},
		"NoneByAgents": {
			"The same applies with Neutron agents.", more(ofSlice), none, "spec.slices[0].pciDevices[0].physicalNetwork", "set services.neutron.ml2.sriov",
		},
		"Unknown": {
			"No port is in it.", more(`pciDevices: [{name: gpu, vendorID: 10de, productID: 20b5}, ` + strings.Replace(card, "physnet1", "physnet3", 1) + `]`),
			withCards, "spec.pciDevices[1].physicalNetwork", `has no physical network "physnet3"; choose one of physnet1, physnet2`,
		},
		"Twice": {
			"Nova would give it to ports of the first.",
			more(`pciDevices: [` + card + `, ` + strings.NewReplacer("name: a", "name: b", "physnet1", "physnet2").Replace(card) + `]`),
			withCards, "spec.pciDevices[1].interface", "ens1f0 is already assigned to physnet1",
		},
		"Apart": {
			"Its agent does not reach the queue.", inCluster(`{controlPlaneRef: {namespace: tenant-a, name: cloud}, `+carded+`}`, "east"), withCards,
			"spec.pciDevices[0].physicalNetwork", "place the pool in the cluster of the control plane",
		},
		"Agents": {
			"Neutron agents are not used.", more("agents: {neutron: {resources: {requests: {cpu: 1}}}}"), withCards, "spec.agents.neutron",
			"or set the physicalNetwork of network cards in pciDevices",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := makeReady(newCluster(tc.spec, "tenant-a", objects(planeClaim, tc.plane)...))
			wantError(t, tc.reason, err, tc.field, tc.message)
		})
	}
}

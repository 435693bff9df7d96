package hypervisor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	neutron "github.com/c5c3/crossplane-cobaltcore/internal/openstack/network"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// sriovAgentComponent is Neutron's agent of network cards with virtual functions, for either network mechanism.
const sriovAgentComponent = "sriov-agent"

// cards returns the network cards of a group's nodes, and their physical networks.
func (g *group) cards() []neutron.Card {
	var out []neutron.Card
	for _, d := range g.node.PCIDevices {
		if d.PhysicalNetwork != "" {
			out = append(out, neutron.Card{Network: string(d.PhysicalNetwork), Interface: string(d.Interface)})
		}
	}
	return out
}

// cardGroups returns the groups whose nodes have such cards.
func (m *model) cardGroups() []group {
	return slices.DeleteFunc(slices.Clone(m.groups), func(g group) bool { return len(g.cards()) == 0 })
}

// hasCards reports whether nodes have such cards, and thus run the agent.
func (m *model) hasCards() bool { return m.known() && len(m.cardGroups()) > 0 }

// usesQueue reports whether agents on nodes log in to Neutron's virtual host of the queue.
func (m *model) usesQueue() bool { return m.usesAgents() || m.hasCards() }

// sriovAgent reports the cards of a node to Neutron, and configures the virtual functions of servers: link state, spoof checking and rate.
// Virtual functions keep their configuration while the agent is replaced. It finds the cards in /sys, and ignores missing ones.
func sriovAgent(m *model) ([]compose.Stage, error) {
	return m.agentPerGroup(sriovAgentComponent, m.cardGroups(), func(g *group) agent {
		return agent{
			program: "neutron-sriov-nic-agent",
			// It has no files, and does not use the switch.
			options: m.neutronAgents().SRIOVOptions(g.cards()...).Merge(oslo.Config{"DEFAULT": {"state_path": "/tmp"}}),
			privilege: workload.Privilege{
				Reason:       "NET_ADMIN configures virtual functions of the node's network cards",
				Capabilities: []corev1.Capability{"NET_ADMIN"},
			},
		}
	})
}

// checkCards rejects network cards that no port could use: Neutron assigns them to ports of its physical networks, and Nova assigns one
// physical network to a card.
func (m *model) checkCards() error {
	if !m.hasCards() {
		return nil
	}
	errs := []error{checkDevices(m, "spec", m.spec.PCIDevices)}
	for i := range m.spec.Slices {
		errs = append(errs, checkDevices(m, fmt.Sprintf("spec.slices[%d]", i), m.spec.Slices[i].PCIDevices))
	}
	return errors.Join(errs...)
}

func checkDevices(m *model, path string, devices []hypervisorv1.PCIDevice) error {
	var errs []error
	networks := map[hypervisorv1.Interface]hypervisorv1.PhysicalNetwork{}
	for i, d := range devices {
		if d.PhysicalNetwork == "" {
			continue
		}
		field := fmt.Sprintf("%s.pciDevices[%d]", path, i)
		if before, ok := networks[d.Interface]; ok && before != d.PhysicalNetwork {
			errs = append(errs, invalid.Field(field+".interface", "%s is already assigned to %s, and a network card has one physical network; "+
				"set the same value here, or use another interface", d.Interface, before))
		}
		networks[d.Interface] = d.PhysicalNetwork
		errs = append(errs, m.checkPhysicalNetwork(field+".physicalNetwork", string(d.PhysicalNetwork)))
	}
	return errors.Join(errs...)
}

// checkPhysicalNetwork rejects a physical network for which the control plane does not enable SR-IOV ports.
func (m *model) checkPhysicalNetwork(field, name string) error {
	var known []string
	if to := m.plane.access.Networks.Agents; to != nil {
		known = to.SRIOVNetworks
	}
	switch {
	case len(known) == 0:
		return invalid.Field(field, "SR-IOV is not enabled in the control plane; ask its owner to set "+
			"services.neutron.ml2.sriov, or remove the device")
	case !slices.Contains(known, name):
		return invalid.Field(field, "the control plane has no physical network %q; choose one of %s", name, strings.Join(known, ", "))
	case m.plane.providerConfig != m.cluster:
		return invalid.Field(field, "SR-IOV is not supported for a control plane in another cluster in this version: Neutron's SR-IOV agent "+
			"cannot reach its queue; place the pool in the cluster of the control plane, or remove the device")
	}
	return nil
}

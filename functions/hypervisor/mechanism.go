package hypervisor

import (
	"errors"
	"fmt"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// checkAgents rejects OVN features for a control plane whose networks use Neutron agents.
func (m *model) checkAgents(at controlPlaneInfo, agents *controlplanev1.NetworkAgents) error {
	const by = "networks of that control plane are made by agents (mechanism OVS), "
	switch {
	case at.providerConfig != m.cluster:
		return invalid.Field(m.clusterField(), by+"which pools have in its own cluster alone in this version; have the pool there, or refer to "+
			"a control plane with OVN")
	case agents != nil && agents.Distributed:
		return invalid.Field("spec.controlPlaneRef", by+"and its routers are distributed, for which pools have no agents in this version; "+
			"leave services.neutron.distributedFloatingIPs out there, or refer to a control plane with OVN")
	}
	return nil
}

// checkMechanism rejects settings of the network mechanism that the control plane does not use.
func (m *model) checkMechanism() error {
	var errs []error
	refuse := func(field, words string) { errs = append(errs, invalid.Field(field, "%s", words)) }
	agents := m.agents()
	switch {
	case m.usesOVN():
		if !m.hasCards() && (agents.Neutron.Image != nil || agents.Neutron.Resources != nil) {
			refuse("spec.agents.neutron", "networks of that control plane are made by OVN, which has none of these agents; leave it out, or name "+
				"the physicalNetwork of network cards in pciDevices")
		}
		return errors.Join(errs...)
	case !m.known():
		return nil
	}
	if agents.OVNController.Image != nil || agents.OVNController.Resources != nil {
		refuse("spec.agents.ovnController", "networks of that control plane are made by agents (mechanism OVS), without OVN; leave it out, or "+
			"say agents.neutron")
	}
	check := func(field string, n *hypervisorv1.Networks) {
		if n == nil {
			return
		}
		if e := n.Encapsulation; e != nil && e.Type != "" {
			refuse(field+".encapsulation.type", "the control plane says by which tunnels agents of all nodes are connected (ml2.typeDrivers of its "+
				"Neutron); leave it out")
		}
		for i, b := range n.BridgeMappings {
			if b.Bridge == tunnelBridge {
				refuse(fmt.Sprintf("%s.bridgeMappings[%d].bridge", field, i), "br-tun is the agents' own bridge: name another one, such as br-ex")
			}
		}
	}
	check("spec.networks", m.spec.Networks)
	for i := range m.spec.Slices {
		check(fmt.Sprintf("spec.slices[%d].networks", i), m.spec.Slices[i].Networks)
	}
	return errors.Join(errs...)
}

// tunnelBridge is the bridge of agents with the tunnel endpoints.
const tunnelBridge = "br-tun"

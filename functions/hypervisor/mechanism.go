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
	const by = "the control plane has mechanism OVS, "
	switch {
	case at.providerConfig != m.cluster:
		return invalid.Field(m.clusterField(), by+"which is supported only in its own cluster in this version; place the pool there, or select "+
			"a control plane with OVN")
	case agents != nil && agents.Distributed:
		return invalid.Field("spec.controlPlaneRef", by+"and distributed routers, which are not supported in this version; "+
			"ask its owner to remove services.neutron.distributedFloatingIPs, or select a control plane with OVN")
	}
	return nil
}

// checkMechanism rejects settings of the network mechanism that the control plane does not use.
func (m *model) checkMechanism() error {
	var errs []error
	reject := func(field, message string) { errs = append(errs, invalid.Field(field, "%s", message)) }
	agents := m.agents()
	switch {
	case m.usesOVN():
		if !m.hasCards() && (agents.Neutron.Image != nil || agents.Neutron.Resources != nil) {
			reject("spec.agents.neutron", "Neutron agents are not used by a control plane with mechanism OVN; remove it, or set "+
				"the physicalNetwork of network cards in pciDevices")
		}
		return errors.Join(errs...)
	case !m.known():
		return nil
	}
	if agents.OVNController.Image != nil || agents.OVNController.Resources != nil {
		reject("spec.agents.ovnController", "OVN is not used by a control plane with mechanism OVS; remove it, or "+
			"set agents.neutron")
	}
	check := func(field string, n *hypervisorv1.Networks) {
		if n == nil {
			return
		}
		if e := n.Encapsulation; e != nil && e.Type != "" {
			reject(field+".encapsulation.type", "the tunnel type is set by the control plane (ml2.typeDrivers of its "+
				"Neutron); remove it")
		}
		for i, b := range n.BridgeMappings {
			if b.Bridge == tunnelBridge {
				reject(fmt.Sprintf("%s.bridgeMappings[%d].bridge", field, i),
					"must not be br-tun, the bridge of the agents; set another one, such as br-ex")
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

package override

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// nodePrograms are the programs of services that run on hypervisors, by service. They do not get the options that a claim
// sets for the service.
var nodePrograms = map[string][]string{
	"nova": {novaComputeProgram},
	"neutron": {
		"neutron-dhcp-agent", "neutron-l3-agent", "neutron-metadata-agent", "neutron-openvswitch-agent", "neutron-ovn-metadata-agent",
		"neutron-sriov-nic-agent",
	},
}

const novaComputeProgram = "nova-compute"

// checkReaders returns an error for an option that only programs on hypervisors read, because it would have no effect. If
// the analysis is not certain, the option is accepted.
func checkReaders(known *registry.Registry, o *registry.Option) error {
	nodes := nodePrograms[known.Service]
	if len(nodes) == 0 {
		return nil
	}
	readers, err := registry.ReadersOf(known.Service, known.Release)
	if err != nil {
		return err
	}
	var onNodes []string
	for _, program := range readers.Programs {
		switch {
		case readers.Use(program, o.Group, o.Name) == registry.Ignores:
		case !slices.Contains(nodes, program):
			return nil
		default:
			onNodes = append(onNodes, program)
		}
	}
	if len(onNodes) == 0 {
		return nil
	}
	why := "only " + strings.Join(onNodes, ", ") + " on hypervisors can read this option"
	if known.Service != "nova" {
		return errors.New(why + ", which does not get the options of this claim; remove it")
	}
	decided, _ := novaCompute.of(registry.Name{Group: o.Group, Option: o.Name})
	switch {
	case decided.tenant:
		return fmt.Errorf("%s; set spec.agents.novaCompute.config.%s.%s of the HypervisorCluster instead", why, o.Group, o.Name)
	case decided.field != "":
		return fmt.Errorf("%s; set spec.%s of the HypervisorCluster instead", why, decided.field)
	}
	return errors.New(why + ", which has privileges on its node and does not get it; remove it")
}

package hypervisor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/syntax"
)

// checkValues returns everything with which programs on the nodes would not start, as the nodes of each group get it: the settings of the
// pool with those of a slice over them. The schema compares the fields of one object only.
func (m *model) checkValues() error {
	errs := []error{syntax.Check("spec", &m.spec), m.checkMemory(), m.checkMigrationNetwork()}
	for i := range m.groups {
		g := &m.groups[i]
		errs = append(errs, checkProcessors(g), checkBridges(g), checkPCIDevices(g))
	}
	// A slice inherits what is wrong in the pool: one error is enough.
	return invalid.Distinct(errs...)
}

// ownField returns the path of a field of the group: that of its slice if the slice sets it, and otherwise that of the pool, where it comes
// from.
func (g *group) ownField(name string, set bool) string {
	if set {
		return g.field(name)
	}
	return "spec." + name
}

// checkProcessors returns an error for sets of processors that Nova does not accept: it exits if both have a processor in common
// (nova.virt.libvirt.driver.LibvirtDriver.init_host).
func checkProcessors(g *group) error {
	cpu := g.node.CPU
	if cpu == nil {
		return nil
	}
	own := ptr.Deref(g.own.CPU, hypervisorv1.CPU{})
	dedicatedField := g.ownField("cpu.dedicatedSet", own.DedicatedSet != "")
	sharedField := g.ownField("cpu.sharedSet", own.SharedSet != "")
	dedicated, first := parseSet(dedicatedField, cpu.DedicatedSet)
	shared, second := parseSet(sharedField, cpu.SharedSet)
	if err := errors.Join(first, second); err != nil {
		return err
	}
	if both := dedicated.Common(shared); len(both) > 0 {
		field, other := dedicatedField, sharedField
		if own.SharedSet != "" && own.DedicatedSet == "" {
			field, other = sharedField, dedicatedField
		}
		return invalid.Field(field, "cannot contain processors of %s: both contain %s; remove them from one of the sets", other,
			compute.FormatCPUs(both))
	}
	if cpu.AllocationRatio != nil && cpu.DedicatedSet != "" && cpu.SharedSet == "" { // The schema compares them within one object.
		return invalid.Field(g.ownField("cpu.allocationRatio", own.AllocationRatio != nil), "requires sharedSet beside dedicatedSet: dedicated "+
			"processors are not shared; set sharedSet, or remove allocationRatio")
	}
	if cpu.Mode == "custom" && len(cpu.Models) == 0 {
		return invalid.Field(g.ownField("cpu.models", own.Mode != ""), "mode custom requires at least one model; set models, or another mode")
	}
	return nil
}

func parseSet(field string, text hypervisorv1.CPUSet) (compute.CPUSet, error) {
	if text == "" {
		return nil, nil
	}
	set, err := compute.ParseCPUSet(string(text))
	if err != nil {
		return nil, invalid.Field(field, "%s; write numbers and ranges of processors, such as 2-10,^4", err)
	}
	return set, nil
}

// integrationBridge is the bridge to which servers are connected.
const integrationBridge = "br-int"

// checkBridges returns an error for an interface or a bridge that has two uses. The start script of Open vSwitch would fail on the node, or
// the traffic of two networks would meet.
func checkBridges(g *group) error {
	var errs []error
	path := g.ownField("networks.bridgeMappings", g.ownNetwork.BridgeMappings != nil)
	bridges, interfaces := map[hypervisorv1.Interface]int{}, map[hypervisorv1.Interface]int{}
	for i, b := range g.network.BridgeMappings {
		bridges[b.Bridge] = i
	}
	for i, b := range g.network.BridgeMappings {
		at := fmt.Sprintf("%s[%d]", path, i)
		if j := bridges[b.Bridge]; j != i {
			errs = append(errs, invalid.Field(fmt.Sprintf("%s[%d].bridge", path, j),
				"%s is the bridge of physical network %s already, and the VLANs of "+
					"both would be the same; name another bridge", b.Bridge, b.PhysicalNetwork))
		}
		if b.Bridge == integrationBridge { // The schema refuses it, too.
			errs = append(errs, invalid.Field(at+".bridge", "cannot be %s, to which servers are connected; name another one, such as br-ex",
				b.Bridge))
		}
		if b.Interface == "" {
			continue
		}
		if j, twice := interfaces[b.Interface]; twice {
			errs = append(errs, invalid.Field(at+".interface", "%s is in bridge %s already, and an interface is in one bridge; name another "+
				"interface",
				b.Interface, g.network.BridgeMappings[j].Bridge))
		}
		interfaces[b.Interface] = i
		if _, ok := bridges[b.Interface]; ok || b.Interface == integrationBridge || b.Interface == tunnelBridge {
			errs = append(errs, invalid.Field(at+".interface", "%s is a bridge, which cannot be put into a bridge; name an interface of the node",
				b.Interface))
		}
	}
	for _, use := range []struct {
		name, is string
		of       hypervisorv1.Interface
		set      bool
	}{
		{
			"networks.encapsulation.interface", "tunnels end at its address", ptr.Deref(g.network.Encapsulation,
				hypervisorv1.Encapsulation{}).Interface,
			ptr.Deref(g.ownNetwork.Encapsulation, hypervisorv1.Encapsulation{}).Interface != "",
		},
		{
			"networks.liveMigration.interface", "live migrations end at its address",
			ptr.Deref(g.network.LiveMigration, hypervisorv1.LiveMigrationNetwork{}).Interface,
			ptr.Deref(g.ownNetwork.LiveMigration, hypervisorv1.LiveMigrationNetwork{}).Interface != "",
		},
	} {
		if j, ok := interfaces[use.of]; ok && use.of != "" {
			errs = append(errs, invalid.Field(g.ownField(use.name, use.set),
				"%s is put into bridge %s, where the node does not reach its address, and "+
					"%s; name another interface, or the bridge", use.of, g.network.BridgeMappings[j].Bridge, use.is))
		}
	}
	return errors.Join(append(errs, checkCardsOfBridges(g, interfaces))...)
}

// checkCardsOfBridges returns an error for a network card with virtual functions for servers that is in a bridge, too: ports of the bridge
// and those of the card would not reach each other on a node without the fdb extension of agents, which pools do not have
// (https://docs.openstack.org/neutron/latest/admin/config-sriov.html#known-limitations), and a server that gets the whole card takes it
// away.
func checkCardsOfBridges(g *group, interfaces map[hypervisorv1.Interface]int) error {
	var errs []error
	for i, d := range g.node.PCIDevices {
		if j, ok := interfaces[d.Interface]; ok && d.Interface != "" {
			errs = append(errs, invalid.Field(fmt.Sprintf("%s[%d].interface", g.ownField("pciDevices", g.own.PCIDevices != nil), i),
				"%s is in bridge %s already, and a network card serves a bridge or servers (SR-IOV); name another interface here or in bridgeMappings",
				d.Interface, g.network.BridgeMappings[j].Bridge))
		}
	}
	return errors.Join(errs...)
}

// checkPCIDevices returns an error for a device that is in two entries which give it to different servers. Nova takes the first that
// matches
// (nova.pci.devspec.PciDeviceSpec), so that the other one never has any.
func checkPCIDevices(g *group) error {
	var errs []error
	path := g.ownField("pciDevices", g.own.PCIDevices != nil)
	for i, d := range g.node.PCIDevices {
		for j, before := range g.node.PCIDevices[:i] {
			if d.Interface != "" && d.Interface == before.Interface {
				continue // checkDevices compares their networks.
			}
			if sameDevices(before, d) && (before.ResourceClass != d.ResourceClass || before.PhysicalNetwork != d.PhysicalNetwork) {
				errs = append(errs, invalid.Field(fmt.Sprintf("%s[%d]", path, i),
					"its devices are those of pciDevices[%d] (%s) too, and a device is in "+
						"one entry; set another address, or other vendorID and productID", j, before.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// sameDevices reports whether every device of one can match the other, as far as the claim shows it: what is at an address, or behind an
// interface, is not known here.
func sameDevices(a, b hypervisorv1.PCIDevice) bool {
	if a.VendorID != b.VendorID || a.ProductID != b.ProductID || a.Interface != b.Interface && (a.Address == "" || b.Address == "") {
		return false
	}
	if a.Address == "" || b.Address == "" {
		return a.Address == b.Address
	}
	x, y := parts(a.Address), parts(b.Address)
	for i := range x {
		if x[i] != y[i] && x[i] != "*" && y[i] != "*" {
			return false
		}
	}
	return true
}

// parts returns domain, bus, slot and function of an address, whose form the schema checks.
func parts(address string) [4]string {
	var out [4]string
	fields := strings.FieldsFunc(address, func(r rune) bool { return r == ':' || r == '.' })
	copy(out[:], fields)
	return out
}

// checkMigrationNetwork returns an error for a network of live migrations that nothing uses: with libvirt of the node, its operating system
// sets where others connect to.
func (m *model) checkMigrationNetwork() error {
	if m.spec.Virtualization.Libvirt.Mode == managed {
		return nil
	}
	var errs []error
	for i := range m.groups {
		if n := m.groups[i].ownNetwork.LiveMigration; n != nil && n.Interface != "" {
			errs = append(errs, invalid.Field(m.groups[i].field("networks.liveMigration.interface"),
				"requires virtualization.libvirt.mode Managed: with "+
					"mode Host the operating system of the node configures its libvirt; remove it"))
		}
	}
	return errors.Join(errs...)
}

// checkMemory returns an error for memory limits with which an agent does not start.
func (m *model) checkMemory() error {
	a := m.agents()
	return errors.Join(
		minimum.CheckLimits("spec.agents.novaCompute.resources", minimum.NovaCompute, a.NovaCompute.Resources),
		minimum.CheckLimits("spec.agents.ovnController.resources", minimum.Switch, a.OVNController.Resources),
		minimum.CheckLimits("spec.agents.openvswitch.resources", minimum.Switch, a.OpenVSwitch.Resources),
		minimum.CheckLimits("spec.agents.metadata.resources", minimum.NeutronAgent, a.Metadata.Resources),
		minimum.CheckLimits("spec.agents.neutron.resources", minimum.NeutronAgent, a.Neutron.Resources),
		minimum.CheckLimits("spec.agents.kvmNodeAgent.resources", minimum.NodeAgent, a.KVMNodeAgent.Resources),
		minimum.CheckLimits("spec.agents.ovsAgent.resources", minimum.NodeAgent, a.OVSAgent.Resources),
		minimum.CheckLimits("spec.agents.labelsInjector.resources", minimum.NodeAgent, a.LabelsInjector.Resources),
		minimum.CheckLimits("spec.virtualization.libvirt.resources", minimum.Libvirt, m.spec.Virtualization.Libvirt.Resources),
	)
}

// checkPhysicalNetworks returns an error for physical networks that the control plane does not have: no network could be made in them, and
// servers would have no way out.
func (m *model) checkPhysicalNetworks(whose string, theirs *controlplanev1.ControlPlaneClusterSpec) error {
	n := theirs.Services.Neutron
	if n == nil || !n.Enabled {
		return nil
	}
	var known []string
	if n.ML2 != nil {
		for _, p := range n.ML2.PhysicalNetworks {
			known = append(known, p.Name)
		}
	}
	var errs []error
	check := func(path string, networks *hypervisorv1.Networks) {
		if networks == nil {
			return
		}
		for i, b := range networks.BridgeMappings {
			if slices.Contains(known, string(b.PhysicalNetwork)) {
				continue
			}
			have := "none"
			if len(known) > 0 {
				have = strings.Join(known, ", ")
			}
			errs = append(errs, invalid.Field(fmt.Sprintf("%s.networks.bridgeMappings[%d].physicalNetwork", path, i),
				"%q must be a physical network of the "+
					"%s, which has %s; correct the name, or have its owner add it to services.neutron.ml2.physicalNetworks there", b.PhysicalNetwork,
				cmp.Or(whose, "control plane"), have))
		}
	}
	check("spec", m.spec.Networks)
	for i := range m.spec.Slices {
		check(fmt.Sprintf("spec.slices[%d]", i), m.spec.Slices[i].Networks)
	}
	return errors.Join(errs...)
}

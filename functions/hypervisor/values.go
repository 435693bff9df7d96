package hypervisor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
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
		errs = append(errs, checkRatios(g), checkProcessors(g), m.checkEmulation(g), checkReserved(g), checkBridges(g), checkPCIDevices(g),
			checkGateway(g))
	}
	// A slice inherits errors of the pool: report each only once.
	return invalid.Distinct(errs...)
}

// ownField returns the path of a field of the group: the path in its slice if the slice sets it, and otherwise the path in the pool, where
// it comes from.
func (g *group) ownField(name string, set bool) string {
	if set {
		return g.field(name)
	}
	return "spec." + name
}

// checkRatios returns an error for a ratio that is not a number. The schema rejects it, too.
func checkRatios(g *group) error {
	cpu, memory := ptr.Deref(g.node.CPU, hypervisorv1.CPU{}), ptr.Deref(g.node.Memory, hypervisorv1.Memory{})
	ownCPU, ownMemory := ptr.Deref(g.own.CPU, hypervisorv1.CPU{}), ptr.Deref(g.own.Memory, hypervisorv1.Memory{})
	return errors.Join(
		checkRatio(g.ownField("cpu.allocationRatio", ownCPU.AllocationRatio != nil), cpu.AllocationRatio),
		checkRatio(g.ownField("memory.allocationRatio", ownMemory.AllocationRatio != nil), memory.AllocationRatio),
	)
}

func checkRatio(field string, ratio *intstr.IntOrString) error {
	if ratio == nil {
		return nil
	}
	if _, err := strconv.ParseFloat(ratio.String(), 64); err != nil {
		return invalid.Field(field, "%q is not a number; set one such as 1.5", ratio)
	}
	return nil
}

// checkProcessors returns an error for CPU sets that Nova does not accept: it exits if both contain the same CPU
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
		return invalid.Field(g.ownField("cpu.allocationRatio", own.AllocationRatio != nil), "requires sharedSet in addition to "+
			"dedicatedSet: dedicated processors are not shared; set sharedSet, or remove allocationRatio")
	}
	if cpu.Mode == "custom" && len(cpu.Models) == 0 {
		return invalid.Field(g.ownField("cpu.models", own.Mode != ""), "mode custom requires at least one model; set models, or another mode")
	}
	return nil
}

// checkEmulation returns an error for a mode that emulated processors do not have: QEMU passes the processors of the node through with KVM
// only, and libvirt refuses to start a server without it.
func (m *model) checkEmulation(g *group) error {
	if m.spec.Virtualization.Driver != "qemu" || g.node.CPU == nil || g.node.CPU.Mode != "host-passthrough" {
		return nil
	}
	own := ptr.Deref(g.own.CPU, hypervisorv1.CPU{})
	return invalid.Field(g.ownField("cpu.mode", own.Mode != ""), "host-passthrough requires virtualization.driver kvm: driver qemu emulates "+
		"processors; set another mode, or driver kvm")
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
		if b.Bridge == integrationBridge { // The schema rejects it, too.
			errs = append(errs, invalid.Field(at+".bridge", "cannot be %s, to which servers are connected; name another one, such as br-ex",
				b.Bridge))
		}
		if b.Interface == "" {
			continue
		}
		if j, duplicate := interfaces[b.Interface]; duplicate {
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
	for _, use := range endpoints(g) {
		if j, ok := interfaces[use.of]; ok && use.of != "" {
			errs = append(errs, invalid.Field(g.ownField(use.name, use.set),
				"%s is put into bridge %s, where the node does not reach its address, and "+
					"%s; name another interface, or the bridge", use.of, g.network.BridgeMappings[j].Bridge, use.is))
		}
	}
	return errors.Join(append(errs, checkCardsOfBridges(g, interfaces))...)
}

// systemInterfaces are interfaces that a node reserves, by name or by the prefix of their names. The kernel creates lo on every node; Open
// vSwitch creates the others for its datapath and for tunnels (lib/dpif-netlink.c, lib/netdev-vport.c).
var systemInterfaces = []struct {
	name, is string
	prefix   bool
}{
	{"lo", "the loopback interface, which only the node itself reaches", false},
	{"ovs-system", "the datapath of Open vSwitch", false},
	{"ovs-netdev", "the datapath of Open vSwitch", false},
	{"genev_sys_", "an interface that Open vSwitch makes for tunnels", true},
	{"vxlan_sys_", "an interface that Open vSwitch makes for tunnels", true},
}

// checkReserved returns an error for a bridge, or an interface for any use, that the node or Open vSwitch reserves.
func checkReserved(g *group) error {
	var errs []error
	check := func(field string, name hypervisorv1.Interface) {
		for _, s := range systemInterfaces {
			if string(name) == s.name || s.prefix && strings.HasPrefix(string(name), s.name) {
				errs = append(errs, invalid.Field(field, "cannot be %s, which is %s; set another name", name, s.is))
			}
		}
	}
	bridges := g.ownField("networks.bridgeMappings", g.ownNetwork.BridgeMappings != nil)
	for i, b := range g.network.BridgeMappings {
		check(fmt.Sprintf("%s[%d].bridge", bridges, i), b.Bridge)
		check(fmt.Sprintf("%s[%d].interface", bridges, i), b.Interface)
	}
	for i, d := range g.node.PCIDevices {
		check(fmt.Sprintf("%s[%d].interface", g.ownField("pciDevices", g.own.PCIDevices != nil), i), d.Interface)
	}
	for _, use := range endpoints(g) {
		field := g.ownField(use.name, use.set)
		check(field, use.of)
		// Bridges of physical networks may have an address of the node; these two have none.
		if use.of == integrationBridge || use.of == tunnelBridge {
			errs = append(errs, invalid.Field(field, "%s is a bridge of Neutron, which has no address, and %s; set an interface of the node",
				use.of, use.is))
		}
	}
	return errors.Join(errs...)
}

// checkGateway returns an error for a gateway selector that matches no node of the group.
func checkGateway(g *group) error {
	key, other := conflict(g.gateway(), g.with)
	if !other {
		return nil
	}
	own := ptr.Deref(g.ownNetwork.Gateway, hypervisorv1.Gateway{})
	if g.slice != "" && len(own.NodeSelector) == 0 {
		return nil // The pool names gateways outside of this slice.
	}
	return invalid.Field(g.field("networks.gateway.nodeSelector"), "no node here has %s=%s, since all have %[1]s=%[3]s; remove that label, "+
		"or set another one", key, g.gateway()[key], g.with[key])
}

// An endpoint is an interface whose address is used as an endpoint of the node.
type endpoint struct {
	name, is string
	of       hypervisorv1.Interface
	// set reports whether the group sets it itself.
	set bool
}

func endpoints(g *group) []endpoint {
	return []endpoint{
		{
			"networks.encapsulation.interface", "tunnels end at its address",
			ptr.Deref(g.network.Encapsulation, hypervisorv1.Encapsulation{}).Interface,
			ptr.Deref(g.ownNetwork.Encapsulation, hypervisorv1.Encapsulation{}).Interface != "",
		},
		{
			"networks.liveMigration.interface", "live migrations end at its address",
			ptr.Deref(g.network.LiveMigration, hypervisorv1.LiveMigrationNetwork{}).Interface,
			ptr.Deref(g.ownNetwork.LiveMigration, hypervisorv1.LiveMigrationNetwork{}).Interface != "",
		},
	}
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

// checkPCIDevices returns an error for a device that is in two entries for different servers. Nova uses the first entry that matches
// (nova.pci.devspec.PciDeviceSpec), so that the second entry never has a device.
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
					"its devices also match pciDevices[%d] (%s), and a device is in "+
						"one entry; set another address, or other vendorID and productID", j, before.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// sameDevices reports whether every device of one can match the other, as far as the claim shows it: the device at an address, or of an
// interface, is unknown here.
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

// parts returns domain, bus, slot and function of an address, whose format the schema validates.
func parts(address string) [4]string {
	var out [4]string
	fields := strings.FieldsFunc(address, func(r rune) bool { return r == ':' || r == '.' })
	copy(out[:], fields)
	return out
}

// checkMigrationNetwork returns an error for a migration network that is not used: if the node's operating system runs libvirt, its
// configuration sets the address for migrations.
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

// checkPhysicalNetworks returns an error for physical networks that the control plane does not have: no network could be created in them,
// and servers would have no external access.
func (m *model) checkPhysicalNetworks(owner string, plane *controlplanev1.ControlPlaneClusterSpec) error {
	n := plane.Services.Neutron
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
					"%s, which has %s; correct the name, or ask its owner to add it to services.neutron.ml2.physicalNetworks", b.PhysicalNetwork,
				cmp.Or(owner, "control plane"), have))
		}
	}
	check("spec", m.spec.Networks)
	for i := range m.spec.Slices {
		check(fmt.Sprintf("spec.slices[%d]", i), m.spec.Slices[i].Networks)
	}
	return errors.Join(errs...)
}

// checkZones returns an error for nodes that would be in two availability zones: Nova does not add a host to an aggregate whose zone
// differs from the zone of the host's other aggregates (nova.compute.api.AggregateAPI.is_safe_to_update_az).
func (m *model) checkZones(owner string, plane *controlplanev1.ControlPlaneClusterSpec) error {
	if plane.Services.Nova == nil {
		return nil
	}
	zones := map[string]string{}
	for _, a := range plane.Services.Nova.Aggregates {
		if a.AvailabilityZone != "" {
			zones[a.Name] = a.AvailabilityZone
		}
	}
	var errs []error
	for i := range m.groups {
		g := &m.groups[i]
		zone, from := string(g.zone), "availabilityZone"
		for j, name := range g.node.Aggregates {
			other := zones[string(name)]
			if zone == "" && other != "" {
				zone, from = other, "aggregate "+string(name)
			}
			if other != "" && other != zone {
				field := fmt.Sprintf("%s[%d]", g.ownField("aggregates", g.own.Aggregates != nil), j)
				errs = append(errs, invalid.Field(field, "aggregate %s of the %s is in availability zone %s, and %s puts these nodes into %s; "+
					"a node is in one zone: remove one of them", name, cmp.Or(owner, "control plane"), other, from, zone))
			}
		}
	}
	return invalid.Distinct(errs...)
}

package hypervisor

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// devices returns nova.conf's options of the PCI devices that servers may get, and their aliases in flavors. Devices are always reported to
// Placement, because Nova does not start without that on a node that did so before
// (https://docs.openstack.org/nova/latest/admin/pci-passthrough.html). Devices of a physical network are not reported, and flavors cannot
// request them: they are for ports of networks there (https://docs.openstack.org/neutron/latest/admin/config-sriov.html).
func devices(g *group) oslo.Config {
	var specs, aliases oslo.Multi
	for _, d := range g.node.PCIDevices {
		where := []string{"address", d.Address}
		kind := []string{"vendor_id", d.VendorID, "product_id", d.ProductID, "resource_class", d.ResourceClass}
		if d.Address == "" { // Nova accepts only one of the two.
			where = []string{"devname", string(d.Interface)}
		}
		specs = append(specs, jsonObject(slices.Concat(where, kind, []string{"physical_network", string(d.PhysicalNetwork)})...))
		if d.PhysicalNetwork == "" {
			aliases = append(aliases, jsonObject(append([]string{"name", d.Name, "device_type", d.DeviceType, "numa_policy", d.NUMAPolicy},
				kind...)...))
		}
	}
	c := oslo.Config{"pci": {"report_in_placement": true}}
	if len(specs) > 0 {
		c["pci"]["device_spec"] = specs
	}
	if len(aliases) > 0 {
		c["pci"]["alias"] = aliases
		c["filter_scheduler"] = oslo.Options{"pci_in_placement": true} // Otherwise Nova rejects aliases without vendor and product.
	}
	return c
}

// jsonObject returns a JSON object of the given names and texts, without empty texts.
func jsonObject(pairs ...string) string {
	var out []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, fmt.Sprintf("%q: %q", pairs[i], pairs[i+1]))
		}
	}
	return "{" + strings.Join(out, ", ") + "}"
}

// passThrough adds the privileges for PCI passthrough: libvirt unbinds devices from their drivers, by kernel files that are read-only in
// other containers, and QEMU, which has no capabilities, locks all memory of a server for them.
// https://docs.kernel.org/driver-api/vfio.html
func passThrough(p workload.Privilege, devices []hypervisorv1.PCIDevice) workload.Privilege {
	if len(devices) == 0 {
		return p
	}
	p.Capabilities = append(p.Capabilities, "SYS_RESOURCE")
	p.Reason += "; PCI devices are taken from their drivers by files of the kernel, and given with memory that stays in place (SYS_RESOURCE)"
	for _, f := range []struct{ name, path string }{{"vfio", "/dev/vfio"}, {"pci", "/sys/bus/pci"}, {"devices", "/sys/devices"}} {
		p.HostPaths = append(p.HostPaths, workload.HostPath{Name: f.name, Path: f.path, Type: corev1.HostPathDirectory})
	}
	return p
}

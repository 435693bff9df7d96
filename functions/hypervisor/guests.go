package hypervisor

import "github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"

// pciePorts is the number of PCIe ports of a q35 machine for hot-plugged devices. QEMU adds one by default, which the first volume uses.
const pciePorts = 24

// guestOptions returns the defaults of servers' hardware and of live migration. A claim may override them (agents.novaCompute.config).
// docs/reference/hypervisor-defaults.md compares them with kolla-ansible and RHOSO.
func guestOptions() oslo.Config {
	return oslo.Config{
		"libvirt": {
			// Without it, Nova 2025.1 to 2026.2 create i440fx machines, which have no PCI Express and no Secure Boot. A server keeps the type of
			// its first start (nova/virt/libvirt/utils.py, get_machine_type).
			"hw_machine_type": []string{"x86_64=q35", "aarch64=virt"},
			"num_pcie_ports":  pciePorts,
		},
		// libvirt compares CPUs when a migration starts. Nova's own comparison uses the features that the source has after its microcode and QEMU
		// have changed the CPU model, and rejects equal nodes.
		"workarounds": {"skip_cpu_compare_on_dest": true},
	}
}

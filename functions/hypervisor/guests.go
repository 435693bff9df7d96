package hypervisor

import "github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"

// pciePorts are the ports of a q35 machine for what is attached while it runs. QEMU gives it one by itself, which the first volume takes.
const pciePorts = 24

// guestOptions are what virtual machines look like, and on what nodes they may move. A claim may set others (agents.novaCompute.config).
// docs/hypervisors.md compares them with kolla-ansible and RHOSO.
func guestOptions() oslo.Config {
	return oslo.Config{
		"libvirt": {
			// Without it, Nova 2025.1 to 2026.2 create i440fx machines, which have no PCI Express and no Secure Boot. A server keeps the type of
			// its first start (nova/virt/libvirt/utils.py, get_machine_type).
			"hw_machine_type": []string{"x86_64=q35", "aarch64=virt"},
			"num_pcie_ports":  pciePorts,
		},
		// libvirt compares processors itself when a migration starts. Nova's own comparison takes what the source has after its microcode and
		// QEMU have changed it for a model of libvirt's, and refuses equal nodes.
		"workarounds": {"skip_cpu_compare_on_dest": true},
	}
}

package servicecheck

import (
	"context"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

// fetchCapacity counts virtual machines on the check's nodes, those that are down or have left included, and asks what there is for them on
// those that take any.
func (obs *observation) fetchCapacity(ctx context.Context, hypervisors map[string]compute.Hypervisor) error {
	out := openstackv1.ComputeCapacity{}
	hosts := map[string]bool{}
	for _, r := range obs.records {
		hosts[r.Name] = true
	}
	for node := range obs.nodes.ownHosts {
		hosts[node] = true
	}
	for host := range hosts {
		out.VirtualMachines += int64(hypervisors[host].Servers)
	}
	for node := range obs.nodes.ownHosts {
		h, known := hypervisors[node]
		if s := obs.compute(node); !known || s == nil || !s.Up || s.Disabled {
			continue
		}
		capacity, err := obs.nova.Capacity(ctx, h.Provider)
		if err != nil {
			return obs.failed(err)
		}
		out.TotalVCPU, out.AvailableVCPU = out.TotalVCPU+capacity.VCPU, out.AvailableVCPU+capacity.FreeVCPU
		out.TotalMemoryMiB, out.AvailableMemoryMiB = out.TotalMemoryMiB+capacity.MemoryMiB, out.AvailableMemoryMiB+capacity.FreeMemoryMiB
	}
	obs.capacity = &out
	return nil
}

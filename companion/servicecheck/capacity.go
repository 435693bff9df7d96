package servicecheck

import (
	"context"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

// fetchCapacity counts the servers on the check's nodes, including nodes that are down or removed, and reads the capacity of
// the nodes that accept servers.
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

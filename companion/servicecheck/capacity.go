package servicecheck

import (
	"context"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

// askCapacity counts virtual machines on the check's nodes, those that are down or have left included, and asks what there is for them on
// those that take any.
func (w *world) askCapacity(ctx context.Context, hypervisors map[string]compute.Hypervisor) error {
	out := openstackv1.ComputeCapacity{}
	hosts := map[string]bool{}
	for _, r := range w.records {
		hosts[r.Name] = true
	}
	for node := range w.nodes.own {
		hosts[node] = true
	}
	for host := range hosts {
		out.VirtualMachines += int64(hypervisors[host].Servers)
	}
	for node := range w.nodes.own {
		h, known := hypervisors[node]
		if s := w.compute(node); !known || s == nil || !s.Up || s.Disabled {
			continue
		}
		room, err := w.nova.Room(ctx, h.Provider)
		if err != nil {
			return w.failed(err)
		}
		out.TotalVCPU, out.AvailableVCPU = out.TotalVCPU+room.VCPU, out.AvailableVCPU+room.FreeVCPU
		out.TotalMemoryMiB, out.AvailableMemoryMiB = out.TotalMemoryMiB+room.MemoryMiB, out.AvailableMemoryMiB+room.FreeMemoryMiB
	}
	w.capacity = &out
	return nil
}

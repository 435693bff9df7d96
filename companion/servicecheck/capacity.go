package servicecheck

import (
	"context"
	"fmt"
	"maps"
	"slices"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
)

// fetchCapacity counts the servers on the check's nodes, including nodes that are down or removed, and reads the capacity of
// the nodes that accept servers. Without a complete count, the previous numbers stay.
func (obs *observation) fetchCapacity(ctx context.Context, hypervisors map[string]compute.Hypervisor) error {
	hosts := map[string]bool{}
	for _, r := range obs.records {
		hosts[r.Name] = true
	}
	for node := range obs.nodes.ownHosts {
		hosts[node] = true
	}
	sorted := slices.Sorted(maps.Keys(hosts))
	if obs.counted = obs.countedCondition(sorted, hypervisors); !obs.counted.True {
		obs.capacity = obs.check.Status.Capacity
		return nil
	}
	out := openstackv1.ComputeCapacity{}
	for _, host := range sorted {
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

// countedCondition reports whether Nova lists each of the nodes that it has registered. It serves requests with the other rows
// while the database of a cell does not respond.
func (obs *observation) countedCondition(nodes []string, hypervisors map[string]compute.Hypervisor) condition.State {
	var silent, missing []string
	for _, node := range nodes {
		_, listed := hypervisors[node]
		switch s := obs.compute(node); {
		case s == nil: // It has never been able to run a server, or its records were deleted, which requires that it has none.
		case s.Unknown:
			silent = append(silent, node)
		case !listed:
			missing = append(missing, node)
		}
	}
	switch {
	case len(silent) > 0:
		return condition.False("CellUnavailable", "the database of the cell of "+condition.JoinNames(silent)+" does not respond")
	case len(obs.unrecorded) > 0:
		return condition.False("TooManyNodes", fmt.Sprintf("at most %d nodes can be recorded, and servers on %s would not be counted after "+
			"their pods are deleted; use more pools", nodeLimit, condition.JoinNames(obs.unrecorded)))
	case len(missing) > 0:
		return condition.False("HypervisorMissing", "Nova has a compute service and no hypervisor for "+condition.JoinNames(missing))
	}
	return condition.True("Complete", "the servers on all nodes are counted")
}

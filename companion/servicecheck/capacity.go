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

// fetchHypervisors reads the hypervisors of the check's nodes one by one while Nova cannot list those of all cells. Nodes in a cell whose
// database does not respond are skipped, and nodes whose resource provider is not recorded yet.
func (obs *observation) fetchHypervisors(ctx context.Context) error {
	if obs.areListed {
		return nil
	}
	var known []openstackv1.NodeRecord
	for _, r := range obs.records {
		s := obs.compute(r.Name)
		if _, read := obs.hypervisors[r.Name]; !read && s != nil && !s.Unknown && r.Provider != "" {
			known = append(known, r)
		}
	}
	servers := make([]int, len(known))
	if err := inParallel(obs.parallel, len(known), func(i int) (err error) {
		servers[i], err = obs.nova.CountServers(ctx, known[i].Name, known[i].Provider)
		return err
	}); err != nil {
		return err
	}
	for i, r := range known {
		obs.hypervisors[r.Name] = compute.Hypervisor{Provider: r.Provider, Servers: servers[i]}
	}
	return nil
}

// fetchCapacity counts the servers on the check's nodes, including nodes that are down or removed, and reads the capacity of
// the nodes that accept servers. Without a complete count, the previous numbers stay.
func (obs *observation) fetchCapacity(ctx context.Context) error {
	hosts := map[string]bool{}
	for _, r := range obs.records {
		hosts[r.Name] = true
	}
	for node := range obs.nodes.ownHosts {
		hosts[node] = true
	}
	sorted := slices.Sorted(maps.Keys(hosts))
	if obs.counted = obs.countedCondition(sorted); !obs.counted.True {
		obs.capacity = obs.check.Status.Capacity
		return nil
	}
	out := openstackv1.ComputeCapacity{}
	for _, host := range sorted {
		out.VirtualMachines += int64(obs.hypervisors[host].Servers)
	}
	var providers []string
	for _, node := range sorted {
		h, known := obs.hypervisors[node]
		if s := obs.compute(node); obs.nodes.ownHosts[node] && known && s != nil && s.Up && !s.Disabled {
			providers = append(providers, h.Provider)
		}
	}
	if out.VirtualMachines == 0 {
		if err := obs.fetchAllocations(ctx, sorted); err != nil {
			return obs.failed(err)
		}
	}
	if err := obs.fetchCapacities(ctx, providers); err != nil {
		return obs.failed(err)
	}
	for _, p := range providers {
		c := obs.capacities[p]
		out.TotalVCPU, out.AvailableVCPU = out.TotalVCPU+c.VCPU, out.AvailableVCPU+c.FreeVCPU
		out.TotalMemoryMiB, out.AvailableMemoryMiB = out.TotalMemoryMiB+c.MemoryMiB, out.AvailableMemoryMiB+c.FreeMemoryMiB
	}
	obs.capacity = &out
	return nil
}

// fetchAllocations changes the condition if servers can still arrive on nodes without servers: a server that is created or migrated has
// allocations in Placement before Nova lists it on the node, a server whose resize can be reverted still has them on its former node, and a
// server that moved between two nodes while the hypervisors were listed may be on neither of the pages. The list of all providers shows one
// moment. A provider that it does not contain, because it had no free memory, must still have none.
func (obs *observation) fetchAllocations(ctx context.Context, nodes []string) error {
	listed := maps.Clone(obs.capacities)
	var providers, allocated []string
	for _, node := range nodes {
		if h, known := obs.hypervisors[node]; known {
			providers = append(providers, h.Provider)
		}
	}
	if err := obs.fetchCapacities(ctx, providers); err != nil {
		return err
	}
	for _, node := range nodes {
		h, known := obs.hypervisors[node]
		c := obs.capacities[h.Provider]
		if _, isListed := listed[h.Provider]; known && (c.Allocated || !isListed && c.FreeMemoryMiB > 0) {
			allocated = append(allocated, node)
		}
	}
	if len(allocated) > 0 {
		obs.counted = condition.False("ServersScheduled", "no server is on the nodes, but Placement has allocations on "+
			condition.JoinNames(allocated)+"; wait for servers that are being created or migrated, confirm or revert resizes, and delete the "+
			"allocations of consumers that do not exist: openstack resource provider show --allocations, openstack resource provider "+
			"allocation delete")
	}
	return nil
}

// fetchCapacities reads the capacity of providers that Placement does not list, because they have no free memory.
func (obs *observation) fetchCapacities(ctx context.Context, providers []string) error {
	unlisted := slices.DeleteFunc(slices.Clone(providers), func(p string) bool { _, listed := obs.capacities[p]; return listed })
	capacities := make([]compute.Capacity, len(unlisted))
	err := inParallel(obs.parallel, len(unlisted), func(i int) (err error) {
		capacities[i], err = obs.nova.Capacity(ctx, unlisted[i])
		return err
	})
	if err != nil {
		return err
	}
	for i, p := range unlisted {
		obs.capacities[p] = capacities[i]
	}
	return nil
}

// countedCondition reports whether Nova lists each of the nodes that it has registered. It serves requests with the other rows
// while the database of a cell does not respond.
func (obs *observation) countedCondition(nodes []string) condition.State {
	var unresponsive, missing []string
	for _, node := range nodes {
		_, listed := obs.hypervisors[node]
		switch s := obs.compute(node); {
		case s == nil: // It has never been able to run a server, or its records were deleted, which requires that it has none.
		case s.Unknown:
			unresponsive = append(unresponsive, node)
		case !listed:
			missing = append(missing, node)
		}
	}
	switch {
	case len(unresponsive) > 0:
		return condition.False("CellUnavailable", obs.unresponsiveCells(unresponsive))
	case len(obs.unrecorded) > 0:
		return condition.False("TooManyNodes", fmt.Sprintf("at most %d nodes can be recorded, and servers on %s would not be counted after "+
			"their pods are deleted; use more pools", nodeLimit, condition.JoinNames(obs.unrecorded)))
	case len(missing) > 0:
		return condition.False("HypervisorMissing", "Nova has a compute service and no hypervisor for "+condition.JoinNames(missing))
	}
	return condition.True("Complete", "the servers on all nodes are counted")
}

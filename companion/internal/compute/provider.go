package compute

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/openstackapi"
)

// placementMicroversion is the first with trees of resource providers.
const placementMicroversion = "1.14"

// candidatesMicroversion is the first with which allocation candidates list all inventories of a provider.
const candidatesMicroversion = "1.27"

// Provider is a resource provider in Placement.
type Provider struct {
	ID, Name string
	// Consumers is the number of servers and migrations with allocations.
	Consumers int
}

// placement returns the client of the Placement API.
func (a *API) placement() (*gophercloud.ServiceClient, error) {
	client, err := a.user.Service("placement")
	if err == nil {
		client.Microversion = placementMicroversion
	}
	return client, err
}

// Tree returns a resource provider and its descendants, children before parents. The result may be empty.
// https://docs.openstack.org/api-ref/placement/#resource-providers
func (a *API) Tree(ctx context.Context, root string) ([]Provider, error) {
	var out []Provider
	err := a.walk(ctx, root, func(p resourceproviders.ResourceProvider, allocations map[string]resourceproviders.Allocation) {
		out = append(out, Provider{ID: p.UUID, Name: p.Name, Consumers: len(allocations)})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// walk calls a function for each resource provider of a tree, children before parents, with its allocations by consumer.
func (a *API) walk(
	ctx context.Context, root string, do func(resourceproviders.ResourceProvider, map[string]resourceproviders.Allocation),
) error {
	client, err := a.placement()
	if err != nil {
		return err
	}
	list, err := openstackapi.List(ctx, "Placement", "list resource providers",
		resourceproviders.List(client, resourceproviders.ListOpts{InTree: root}), resourceproviders.ExtractResourceProviders)
	if err != nil {
		return err
	}
	for _, p := range deepestFirst(list) {
		has, err := resourceproviders.GetAllocations(ctx, client, p.UUID).Extract()
		if err != nil {
			return describeErrorFrom("Placement", "list allocations of resource provider "+p.Name, err)
		}
		do(p, has.Allocations)
	}
	return nil
}

// deepestFirst sorts a tree, because Placement rejects the deletion of a provider with children.
func deepestFirst(all []resourceproviders.ResourceProvider) []resourceproviders.ResourceProvider {
	parents := map[string]string{}
	for _, p := range all {
		parents[p.UUID] = p.ParentProviderUUID
	}
	depth := func(p resourceproviders.ResourceProvider) (out int) {
		for id := p.UUID; id != "" && out <= len(all); id = parents[id] {
			out++
		}
		return out
	}
	slices.SortStableFunc(all, func(a, b resourceproviders.ResourceProvider) int { return depth(b) - depth(a) })
	return all
}

// DeleteProvider deletes a resource provider. Placement rejects this if it has allocations.
func (a *API) DeleteProvider(ctx context.Context, p Provider) error {
	client, err := a.placement()
	if err != nil {
		return err
	}
	return ignoreNotFoundFrom("Placement", "remove resource provider "+p.Name, resourceproviders.Delete(ctx, client, p.ID).Err)
}

// Capacity is the capacity of a resource provider for servers.
type Capacity struct {
	// VCPU is the number of virtual CPUs, on shared and dedicated CPUs, and MemoryMiB is memory: the totals that Placement
	// allocates, and the free amounts.
	VCPU, FreeVCPU, MemoryMiB, FreeMemoryMiB int64
	// Allocated is set if a server or a migration has an allocation of any resource class.
	Allocated bool
}

// add adds the allocatable and the free amount of a resource class.
func (c *Capacity) add(class string, gives, remaining int64) {
	switch class {
	case "VCPU", "PCPU":
		c.VCPU, c.FreeVCPU = c.VCPU+gives, c.FreeVCPU+remaining
	case "MEMORY_MB":
		c.MemoryMiB, c.FreeMemoryMiB = gives, remaining
	}
}

// ListCapacities returns the capacity of all providers that have free memory, in one request. Read the others, which are rare, with
// Capacity.
// https://docs.openstack.org/api-ref/placement/#list-allocation-candidates
func (a *API) ListCapacities(ctx context.Context) (map[string]Capacity, error) {
	client, err := a.placement()
	if err != nil {
		return nil, err
	}
	client.Microversion = candidatesMicroversion
	type summary struct {
		Resources map[string]struct {
			Capacity int64 `json:"capacity"`
			Used     int64 `json:"used"`
		} `json:"resources"`
	}
	out := map[string]Capacity{}
	query := url.Values{"resources": {"MEMORY_MB:1"}}
	first := client.ServiceURL("allocation_candidates") + "?" + query.Encode()
	list := openstackapi.Pages{Client: client, First: first, Key: "provider_summaries"}
	err = openstackapi.Each(ctx, "Placement", "list allocation candidates", list, func(provider string, s summary) {
		var c Capacity
		for class, r := range s.Resources {
			c.add(class, max(r.Capacity, 0), max(r.Capacity-r.Used, 0))
			c.Allocated = c.Allocated || r.Used > 0
		}
		out[provider] = c
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Capacity reads the capacity from Placement, which Nova's scheduler uses: the total minus the reserved amount, multiplied by
// the allocation ratio (https://docs.openstack.org/api-ref/placement/#list-resource-provider-inventories). A missing provider
// has no capacity.
func (a *API) Capacity(ctx context.Context, provider string) (out Capacity, err error) {
	client, err := a.placement()
	if err != nil {
		return out, err
	}
	has, err := resourceproviders.GetInventories(ctx, client, provider).Extract()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return out, nil
	}
	if err != nil {
		return out, describeErrorFrom("Placement", "list inventories of resource provider "+provider, err)
	}
	used, err := resourceproviders.GetUsages(ctx, client, provider).Extract()
	if err != nil {
		return out, describeErrorFrom("Placement", "list usages of resource provider "+provider, err)
	}
	for class, i := range has.Inventories {
		gives, remaining := allocatable(i, used.Usages[class])
		out.add(class, gives, remaining)
	}
	for _, n := range used.Usages {
		out.Allocated = out.Allocated || n > 0
	}
	return out, nil
}

// allocatable returns the allocatable amount of an inventory and the free part of it. More may be allocated than the current
// allocatable amount.
func allocatable(i resourceproviders.Inventory, used int) (gives, remaining int64) {
	// The ratio is a decimal, which float32 represents inexactly.
	ratio, err := strconv.ParseFloat(strconv.FormatFloat(float64(i.AllocationRatio), 'g', -1, 32), 64)
	if err != nil {
		return 0, 0 // A formatted number can always be parsed.
	}
	gives = int64(float64(max(i.Total-i.Reserved, 0)) * ratio)
	return gives, max(gives-int64(used), 0)
}

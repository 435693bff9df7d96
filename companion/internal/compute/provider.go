package compute

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"
)

// placementMicroversion is the first that knows of trees of resource providers.
const placementMicroversion = "1.14"

// Provider is a resource provider in Placement.
type Provider struct {
	ID, Name string
	// Consumers is how many virtual machines and migrations have a part of it.
	Consumers int
}

// placement is the API of what virtual machines have of hypervisors.
func (a *API) placement() (*gophercloud.ServiceClient, error) {
	client, err := a.user.Service("placement")
	if err == nil {
		client.Microversion = placementMicroversion
	}
	return client, err
}

// Tree is a resource provider with those below it, each before the one that it is below. There may be none.
// https://docs.openstack.org/api-ref/placement/#resource-providers
func (a *API) Tree(ctx context.Context, root string) ([]Provider, error) {
	client, err := a.placement()
	if err != nil {
		return nil, err
	}
	pages, err := resourceproviders.List(client, resourceproviders.ListOpts{InTree: root}).AllPages(ctx)
	if err != nil {
		return nil, describeErrorFrom("Placement", "list resource providers", err)
	}
	list, err := resourceproviders.ExtractResourceProviders(pages)
	if err != nil {
		return nil, errors.New("cannot list resource providers: Placement's answer is none")
	}
	out := make([]Provider, 0, len(list))
	for _, p := range deepestFirst(list) {
		has, err := resourceproviders.GetAllocations(ctx, client, p.UUID).Extract()
		if err != nil {
			return nil, describeErrorFrom("Placement", "list allocations of resource provider "+p.Name, err)
		}
		out = append(out, Provider{ID: p.UUID, Name: p.Name, Consumers: len(has.Allocations)})
	}
	return out, nil
}

// deepestFirst sorts a tree: Placement removes none that others are below.
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

// DeleteProvider removes a resource provider. Placement refuses to remove one that anybody has a part of.
func (a *API) DeleteProvider(ctx context.Context, p Provider) error {
	client, err := a.placement()
	if err != nil {
		return err
	}
	return ignoreNotFoundFrom("Placement", "remove resource provider "+p.Name, resourceproviders.Delete(ctx, client, p.ID).Err)
}

// Capacity is what virtual machines can have of a resource provider.
type Capacity struct {
	// VCPU are virtual CPUs, on processors that are shared and on such of their own alike, and MemoryMiB is memory: as many as Placement gives
	// away, and what it has left of them.
	VCPU, FreeVCPU, MemoryMiB, FreeMemoryMiB int64
}

// Capacity asks Placement, by which Nova's scheduler goes: what there is less what is reserved, as often as it is promised
// (https://docs.openstack.org/api-ref/placement/#list-resource-provider-inventories). A provider that is not there yet has none.
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
		gives, remaining := given(i, used.Usages[class])
		switch class {
		case "VCPU", "PCPU":
			out.VCPU, out.FreeVCPU = out.VCPU+gives, out.FreeVCPU+remaining
		case "MEMORY_MB":
			out.MemoryMiB, out.FreeMemoryMiB = gives, remaining
		}
	}
	return out, nil
}

// given is how much of an inventory Placement gives away, and what is left of that. More may have been given than is promised now.
func given(i resourceproviders.Inventory, used int) (gives, remaining int64) {
	// The ratio is a decimal, which 32 bits miss by a little.
	ratio, err := strconv.ParseFloat(strconv.FormatFloat(float64(i.AllocationRatio), 'g', -1, 32), 64)
	if err != nil {
		return 0, 0 // No number is written that cannot be read.
	}
	gives = int64(float64(max(i.Total-i.Reserved, 0)) * ratio)
	return gives, max(gives-int64(used), 0)
}

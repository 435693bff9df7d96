package compute

import (
	"context"
	"errors"
	"slices"

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
		return nil, explainOf("Placement", "list resource providers", err)
	}
	list, err := resourceproviders.ExtractResourceProviders(pages)
	if err != nil {
		return nil, errors.New("cannot list resource providers: Placement's answer is none")
	}
	out := make([]Provider, 0, len(list))
	for _, p := range deepestFirst(list) {
		has, err := resourceproviders.GetAllocations(ctx, client, p.UUID).Extract()
		if err != nil {
			return nil, explainOf("Placement", "list allocations of resource provider "+p.Name, err)
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
	return removalOf("Placement", "remove resource provider "+p.Name, resourceproviders.Delete(ctx, client, p.ID).Err)
}

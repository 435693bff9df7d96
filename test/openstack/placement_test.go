//go:build openstack && linux

package openstack

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/allocations"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"
	"k8s.io/apimachinery/pkg/util/uuid"

	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestPlacement checks that the Placement of every release stores inventories and allocations of hypervisors, and that
// the credential of its pods is rotated while clients use it.
func TestPlacement(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			cloud := start(t, of(t, "placement.yaml", r, dashed(r)), nil)
			t.Run("Entries", func(t *testing.T) {
				testEntries(t, cloud, placementv1.ServiceName, placementv1.ServiceType, placementv1.Port, "")
			})
			t.Run("Inventory", func(t *testing.T) { testInventory(t, inventoryOf(t, cloud)) })
			t.Run("Credential", func(t *testing.T) { testRotate(t, cloud, placementv1.ServiceName, providers(t, cloud)) })
		})
	}
}

// TestPlacementUpgrade upgrades a Placement from one SLURP release to the next, and checks that it keeps its data, and
// that no request fails.
func TestPlacementUpgrade(t *testing.T) {
	t.Parallel()
	cloud := start(t, of(t, "placement.yaml", before, "-up"), nil)
	inventory := inventoryOf(t, cloud)
	provider := testInventory(t, inventory)
	load := providers(t, cloud)
	load.more(t, 10)
	upgrade(t, cloud, of(t, "placement.yaml", after, "-up"), after, "keystone", placementv1.ServiceName)
	load.more(t, 20)
	load.stop(t)
	t.Log(load)
	checkAllocated(t, inventory, provider)
}

// inventoryOf returns a client of a Placement.
func inventoryOf(t *testing.T, cloud *Cloud) *gophercloud.ServiceClient {
	t.Helper()
	provider, ends := administrator(t, cloud)
	c, err := openstack.NewPlacementV1(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	c.Microversion = "1.39" // of all releases here
	return c
}

const cores = 8

// testInventory creates a hypervisor with cores, of which a server uses some, and checks that another server gets no
// more than the remaining ones.
func testInventory(t *testing.T, c *gophercloud.ServiceClient) (provider string) {
	ctx := context.Background()
	created, err := resourceproviders.Create(ctx, c, resourceproviders.CreateOpts{Name: "hypervisor"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resourceproviders.UpdateInventories(ctx, c, created.UUID, resourceproviders.UpdateInventoriesOpts{
		ResourceProviderGeneration: created.Generation,
		Inventories: map[string]resourceproviders.Inventory{"VCPU": {
			AllocationRatio: 1, MaxUnit: cores, MinUnit: 1, StepSize: 1, Total: cores,
		}},
	}).Extract(); err != nil {
		t.Fatal(err)
	}
	use := func(n int) error {
		return allocations.Update(ctx, c, string(uuid.NewUUID()), allocations.UpdateOpts{
			Allocations: map[string]allocations.ProviderAllocationsOpts{created.UUID: {Resources: map[string]int{"VCPU": n}}},
			ProjectID:   "project", UserID: "user", ConsumerType: "INSTANCE",
		}).ExtractErr()
	}
	if err := use(cores - 1); err != nil {
		t.Fatal(err)
	}
	if got := status(use(2)); got != http.StatusConflict {
		t.Errorf("more than is left: got %d, want 409", got)
	}
	checkAllocated(t, c, created.UUID)
	return created.UUID
}

// checkAllocated checks the allocations of testInventory.
func checkAllocated(t *testing.T, c *gophercloud.ServiceClient, provider string) {
	t.Helper()
	got, err := resourceproviders.GetUsages(context.Background(), c, provider).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"VCPU": cores - 1}, got.Usages); diff != "" {
		t.Errorf("usages (-want +got):\n%s", diff)
	}
}

// providers starts clients that create, list and delete resource providers.
func providers(t *testing.T, cloud *Cloud) *load {
	t.Helper()
	c := inventoryOf(t, cloud)
	return startClients(t, 2, func(ctx context.Context, client, round int, try request) error {
		name, created := fmt.Sprintf("load-%d-%d", client, round), &resourceproviders.ResourceProvider{}
		if err := try("make a provider", func() (err error) {
			created, err = resourceproviders.Create(ctx, c, resourceproviders.CreateOpts{Name: name}).Extract()
			return err
		}); err != nil {
			return err
		}
		if err := try("list providers", func() error {
			page, err := resourceproviders.List(c, resourceproviders.ListOpts{Name: name}).AllPages(ctx)
			if err != nil {
				return err
			}
			all, err := resourceproviders.ExtractResourceProviders(page)
			if err == nil && (len(all) != 1 || all[0].UUID != created.UUID) {
				err = fmt.Errorf("there are %v, want one with the id %s", all, created.UUID)
			}
			return err
		}); err != nil {
			return err
		}
		return try("delete a provider", func() error { return resourceproviders.Delete(ctx, c, created.UUID).ExtractErr() })
	})
}

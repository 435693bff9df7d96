//go:build openstack && linux

package placement

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/allocations"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// Of returns a client of a Placement.
func Of(t *testing.T, cloud *clouds.Cloud) *gophercloud.ServiceClient {
	t.Helper()
	provider, ends := harness.Administrator(t, cloud)
	c, err := openstack.NewPlacementV1(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	c.Microversion = "1.39" // of all releases here
	return c
}

const cores = 8

// CheckInventory creates a hypervisor with cores, of which a server uses some, and checks that another server gets no
// more than the remaining ones.
func CheckInventory(t *testing.T, c *gophercloud.ServiceClient) (provider string) {
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
	if got := harness.ResponseStatus(use(2)); got != http.StatusConflict {
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

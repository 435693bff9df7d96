//go:build openstack && linux

package placement

import (
	"context"
	"fmt"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"

	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestPlacement checks that the Placement of every release stores inventories and allocations of hypervisors, and that
// the credential of its pods is rotated while clients use it.
func TestPlacement(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			cloud := harness.Start(t, harness.Claim(t, "placement.yaml", r, harness.Suffix(r)), nil)
			t.Run("Entries", func(t *testing.T) {
				harness.CheckCatalog(t, cloud, placementv1.ServiceName, placementv1.ServiceType, placementv1.Port, "")
			})
			t.Run("Inventory", func(t *testing.T) { CheckInventory(t, Of(t, cloud)) })
			t.Run("Credential", func(t *testing.T) { harness.CheckRotation(t, cloud, placementv1.ServiceName, providers(t, cloud)) })
		})
	}
}

// TestPlacementUpgrade upgrades a Placement from one SLURP release to the next, and checks that it keeps its data, and
// that no request fails.
func TestPlacementUpgrade(t *testing.T) {
	t.Parallel()
	cloud := harness.Start(t, harness.Claim(t, "placement.yaml", harness.UpgradeFrom, "-up"), nil)
	inventory := Of(t, cloud)
	provider := CheckInventory(t, inventory)
	load := providers(t, cloud)
	load.More(t, 10)
	planned := harness.Upgrade(t, cloud, harness.Claim(t, "placement.yaml", harness.UpgradeTo, "-up"), harness.UpgradeTo, "keystone", placementv1.ServiceName)
	load.More(t, 20)
	load.Stop(t)
	t.Log(load)
	planned.Check(t, map[string]harness.Loss{placementv1.ServiceName: load.Loss()})
	checkAllocated(t, inventory, provider)
}

// providers starts clients that create, list and delete resource providers.
func providers(t *testing.T, cloud *clouds.Cloud) *harness.Clients {
	t.Helper()
	c := Of(t, cloud)
	return harness.StartClients(t, 2, func(ctx context.Context, client, round int, try harness.Request) error {
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

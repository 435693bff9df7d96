//go:build openstack && linux

package placement

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"

	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestPlacementStoresAllocations checks that the Placement of every release stores inventories and allocations of hypervisors, and that
// the credential of its pods is rotated while clients use it.
func TestPlacementStoresAllocations(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			cloud := harness.Start(t, harness.Claim(t, "placement.yaml", r, harness.Suffix(r)), nil)
			t.Run("Entries", func(t *testing.T) {
				harness.CheckCatalog(t, cloud, placementv1.ServiceName, placementv1.ServiceType, placementv1.Port, "")
			})
			t.Run("Inventory", func(t *testing.T) { CheckInventory(t, Of(t, cloud)) })
			t.Run("Exempt", func(t *testing.T) { testExempt(t, cloud) })
			t.Run("Credential", func(t *testing.T) { harness.CheckRotation(t, cloud, placementv1.ServiceName, providers(t, cloud)) })
		})
	}
}

// testExempt locks out and disables users, as the claim requires, and checks that Placement's user and its credential remain valid. The
// rotation that follows logs in with its password.
func testExempt(t *testing.T, cloud *clouds.Cloud) {
	ctx := context.Background()
	c := harness.KeystoneClient(t, cloud, false)
	a := harness.AdminOf(t, c)
	person := a.Create("user", map[string]any{
		"name": "person", "domain_id": "default", "password": "right-password",
		"options": map[string]any{"ignore_password_expiry": true}, // so that only inactivity and lockout remain
	})
	login := clouds.Password("person", "Default", "right-password", nil)
	if _, err := c.Issue(ctx, login); err != nil {
		t.Fatal(err)
	}
	own := a.Named("users", "name=placement&domain_id=default")
	if _, err := cloud.Operators.SQL(ctx, cloud.Namespace, "mariadb", fmt.Sprintf(
		"UPDATE keystone.user SET last_active_at = '2020-01-01', created_at = '2020-01-01' WHERE id IN ('%s', '%s')", person, own,
	)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Issue(ctx, login); clouds.StatusOf(err) != http.StatusUnauthorized {
		t.Errorf("an inactive user is not disabled, so that this test has no effect: %v", err)
	}
	a.Do(http.MethodDelete, "/users/"+person, nil, nil)
	_, is := harness.ServiceCredential(t, cloud, placementv1.ServiceName)
	harness.Login(t, c, clouds.ApplicationCredential(is.ID, is.Secret))
	for range 4 {
		if _, err := c.Issue(ctx, clouds.Password(placementv1.ServiceName, "Default", "wrong", nil)); clouds.StatusOf(err) != http.StatusUnauthorized {
			t.Errorf("a wrong password: %v", err)
		}
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

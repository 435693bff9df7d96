//go:build openstack && linux

package openstack

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"
	"k8s.io/apimachinery/pkg/api/resource"
)

// testCapacity: the pool's claim says how many virtual machines are on its node, what there is for more, and whether it may be deleted.
// Each virtual machine has one processor, of eight that one is promised as and one that is given whole, and 128 MiB.
func testCapacity(t *testing.T, m *machines, guests int) {
	const processors, mebi, each = 9, 1 << 20, 128
	says := "STATUS_CONDITION_TRUE Counted"
	if guests > 0 {
		says = "STATUS_CONDITION_FALSE VirtualMachinesOnNodes"
	}
	memory := m.promised(t)
	want := map[string]any{
		"virtualMachines": float64(guests), "totalVCPU": float64(processors), "availableVCPU": float64(processors - guests),
		"totalMemory":     resource.NewQuantity(memory*mebi, resource.BinarySI).String(),
		"availableMemory": resource.NewQuantity((memory-int64(guests)*each)*mebi, resource.BinarySI).String(),
	}
	m.cloud.Operators.Forward(2 * time.Minute) // the companion looks once a minute
	m.until(t, "what the claim says of virtual machines", "", func() error {
		if err := m.cloud.Follow(); err != nil {
			t.Fatal(err)
		}
		all, got := m.cloud.Pool().Status(), map[string]any{}
		for field := range want {
			got[field] = all[field]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		if is := m.cloud.Pool().ConditionMessage("NoVirtualMachines"); is != says {
			return fmt.Errorf("it says %q, want %q", is, says)
		}
		return nil
	})
}

// promised is the memory that Placement gives away of the node, in MiB: half as much again as there is without what is reserved.
func (m *machines) promised(t *testing.T) int64 {
	t.Helper()
	ctx, c := context.Background(), inventoryOf(t, m.cloud)
	page, err := resourceproviders.List(c, resourceproviders.ListOpts{Name: "node-0"}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found, err := resourceproviders.ExtractResourceProviders(page)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	i, err := resourceproviders.GetInventory(ctx, c, found[0].UUID, "MEMORY_MB").Extract()
	if err != nil {
		t.Fatal(err)
	}
	return int64(i.Total-256) * 3 / 2
}

//go:build openstack && linux

package hypervisors

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/placement"
)

// testCapacity checks that the pool's claim reports the number of servers on its node, the remaining capacity, and
// whether the pool may be deleted. Each server has one processor, of eight shared ones with overcommit and one
// dedicated one, and 128 MiB.
func testCapacity(t *testing.T, m *Machines, serverCount int) {
	const processors, mebi, each = 9, 1 << 20, 128
	expected := "STATUS_CONDITION_TRUE Counted"
	if serverCount > 0 {
		expected = "STATUS_CONDITION_FALSE VirtualMachinesOnNodes"
	}
	memory := m.promised(t)
	want := map[string]any{
		"virtualMachines": float64(serverCount), "totalVCPU": float64(processors), "availableVCPU": float64(processors - serverCount),
		"totalMemory":     resource.NewQuantity(memory*mebi, resource.BinarySI).String(),
		"availableMemory": resource.NewQuantity((memory-int64(serverCount)*each)*mebi, resource.BinarySI).String(),
	}
	m.Cloud.Operators.Forward(2 * time.Minute) // the companion looks once a minute
	m.Until(t, "the claim's report of servers", "", func() error {
		if err := m.Cloud.Follow(); err != nil {
			t.Fatal(err)
		}
		all, got := m.Cloud.Pool().Status(), map[string]any{}
		for field := range want {
			got[field] = all[field]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		if is := m.Cloud.Pool().ConditionMessage("NoVirtualMachines"); is != expected {
			return fmt.Errorf("it reports %q, want %q", is, expected)
		}
		return nil
	})
}

// promised returns the memory that Placement offers for the node, in MiB: the memory without the reserved part, with 50
// % overcommit.
func (m *Machines) promised(t *testing.T) int64 {
	t.Helper()
	ctx, c := context.Background(), placement.Of(t, m.Cloud)
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

//go:build openstack && linux

package cinder

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/schedulerstats"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
)

// testCapacityReport checks that the claim reports the backend's capacity, as Cinder does, and whether its Ceph is
// reachable. It runs before any test that sets the companion's clock forward, by which the companion measures the age
// of reports. Managers report every ten seconds, as set in the claim, and the companion reads the reports once a
// minute. The Ceph is only paused if paused is set.
func testCapacityReport(t *testing.T, c Cinder, paused bool) {
	connected := "STATUS_CONDITION_TRUE Connected"
	c.waitCondition(t, connected)
	if !paused {
		return
	}
	ctx := context.Background()
	if err := c.Ceph.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Ceph.Resume(context.Background()); err != nil {
			t.Error(err)
		}
	})
	began := time.Now()
	c.waitCondition(t, "STATUS_CONDITION_FALSE Unreachable")
	t.Logf("the outage of Ceph is reported after %.0f s", time.Since(began).Seconds())
	if err := c.Ceph.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	c.waitCondition(t, connected)
	t.Logf("its recovery is reported after %.0f s", time.Since(began).Seconds())
	c.CreateVolume(t, volumes.CreateOpts{Name: "after the pause", Size: 1})
}

// waitCondition waits until the claim reports a condition of Ceph, and Cinder's capacity, which may change meanwhile.
func (c Cinder) waitCondition(t *testing.T, want string) {
	t.Helper()
	var last error
	for end := time.Now().Add(waiting); ; time.Sleep(2 * time.Second) {
		if last = c.report(want); last == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(last)
		}
	}
}

func (c Cinder) report(want string) error {
	if err := c.Cloud.Follow(); err != nil {
		return err
	}
	if is := c.Cloud.ConditionMessage(cinderv1.CephConnected); is != want {
		return fmt.Errorf("it reports %q, want %q", is, want)
	}
	page, err := schedulerstats.List(c.ServiceClient, schedulerstats.ListOpts{Detail: true}).AllPages(context.Background())
	if err != nil {
		return err
	}
	all, err := schedulerstats.ExtractStoragePools(page)
	if err != nil {
		return err
	}
	backend := map[string]any{"name": "ceph-rbd", "phase": "Ready", "totalGiB": 0.0, "availableGiB": 0.0}
	for _, p := range all {
		if !strings.HasSuffix(p.Name, "@ceph-rbd#ceph-rbd") || p.Capabilities.TotalCapacityGB <= 0 {
			return fmt.Errorf("Cinder has a pool %+v", p)
		}
		backend["totalGiB"], backend["availableGiB"] = float64(int64(p.Capabilities.TotalCapacityGB)), float64(int64(p.Capabilities.FreeCapacityGB))
	}
	if diff := cmp.Diff([]any{backend}, c.Cloud.Status()["backends"]); diff != "" {
		return fmt.Errorf("backends (-want +got):\n%s", diff)
	}
	return nil
}

//go:build openstack && linux

package openstack

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

// testRoom: the claim says how much room the backend has, as Cinder does, and whether its Ceph answers. It comes before whatever sets the
// companion's clock forward, by which it knows how long nobody has looked. Managers look every ten seconds, as the claim says, and the
// companion asks once a minute. The Ceph is only paused if it is to be.
func testRoom(t *testing.T, c cinder, paused bool) {
	connected := "STATUS_CONDITION_TRUE Connected"
	c.says(t, connected)
	if !paused {
		return
	}
	ctx := context.Background()
	if err := c.ceph.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.ceph.Resume(context.Background()); err != nil {
			t.Error(err)
		}
	})
	begin := time.Now()
	c.says(t, "STATUS_CONDITION_FALSE Unreachable")
	t.Logf("that the Ceph is away is said after %.0f s", time.Since(begin).Seconds())
	if err := c.ceph.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	begin = time.Now()
	c.says(t, connected)
	t.Logf("that it is back is said after %.0f s", time.Since(begin).Seconds())
	c.create(t, volumes.CreateOpts{Name: "after the pause", Size: 1})
}

// says waits until the claim says that of the Ceph, and the room that Cinder says, which may grow and shrink meanwhile.
func (c cinder) says(t *testing.T, want string) {
	t.Helper()
	var last error
	for end := time.Now().Add(waiting); ; time.Sleep(2 * time.Second) {
		if last = c.said(want); last == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(last)
		}
	}
}

func (c cinder) said(want string) error {
	if err := c.cloud.Follow(); err != nil {
		return err
	}
	if is := c.cloud.ConditionMessage(cinderv1.CephConnected); is != want {
		return fmt.Errorf("it says %q, want %q", is, want)
	}
	page, err := schedulerstats.List(c.ServiceClient, schedulerstats.ListOpts{Detail: true}).AllPages(context.Background())
	if err != nil {
		return err
	}
	all, err := schedulerstats.ExtractStoragePools(page)
	if err != nil {
		return err
	}
	room := map[string]any{"name": "ceph-rbd", "phase": "Ready", "totalGiB": 0.0, "availableGiB": 0.0}
	for _, p := range all {
		if !strings.HasSuffix(p.Name, "@ceph-rbd#ceph-rbd") || p.Capabilities.TotalCapacityGB <= 0 {
			return fmt.Errorf("Cinder has a pool %+v", p)
		}
		room["totalGiB"], room["availableGiB"] = float64(int64(p.Capabilities.TotalCapacityGB)), float64(int64(p.Capabilities.FreeCapacityGB))
	}
	if diff := cmp.Diff([]any{room}, c.cloud.Status()["backends"]); diff != "" {
		return fmt.Errorf("backends (-want +got):\n%s", diff)
	}
	return nil
}

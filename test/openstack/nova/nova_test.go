//go:build openstack && linux

package nova

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/services"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// TestNova checks that the Nova of every release runs servers in two cells, shows their screens, and serves their
// metadata.
func TestNova(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			n := Start(t, r, harness.Suffix(r))
			t.Run("Entries", func(t *testing.T) {
				harness.CheckCatalog(t, n.Cloud, novav1.ServiceName, novav1.ServiceType, novav1.Port, novav1.Version)
			})
			t.Run("Services", func(t *testing.T) { CheckComputeServices(t, n) })
			t.Run("Servers", func(t *testing.T) { CheckServers(t, n) })
			t.Run("Credential", func(t *testing.T) { harness.CheckRotation(t, n.Cloud, novav1.ServiceName, serversUsed(t, n)) })
		})
	}
}

// Start runs a claim with VNC screens, and its hypervisors.
func Start(t *testing.T, r release.Release, end string) Nova {
	t.Helper()
	return startAs(t, harness.Claim(t, "machines.yaml", r, end), r, end, novav1.Consoles{Graphical: novav1.VNC}, "")
}

// startAs starts a Nova with a given claim and its consoles, and a second cell with a separate queue.
func startAs(t *testing.T, claim []byte, r release.Release, end string, consoles novav1.Consoles, queue string) Nova {
	t.Helper()
	return StartIn(t, harness.Start(t, claim, nil), r, consoles, Hypervisor{Domain: "machines" + end + ".tenant-a.example.com", queue: queue})
}

// replace makes a hypervisor run the Nova of a release, or another one than before, and returns when it accepts
// servers: servers that are created while it starts fail, because it treats them as builds interrupted by the restart
// (nova.compute.manager.ComputeManager._error_out_instances_whose_build_was_interrupted).
func (n Nova) replace(t *testing.T, h Hypervisor, r release.Release) {
	t.Helper()
	h.run(t, n.Cloud, r)
	began := time.Now()
	err := n.Cloud.Cluster.Wait(context.Background(), operators.Timeout, "a report of "+h.host(), func(ctx context.Context) (bool, error) {
		page, err := services.List(n.ServiceClient, services.ListOpts{Host: h.host()}).AllPages(ctx)
		if err != nil {
			return false, err
		}
		all, err := services.ExtractServices(page)
		return len(all) == 1 && all[0].UpdatedAt.After(began), err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// serversUsed starts two clients, each with a cell, that create, list and delete servers.
func serversUsed(t *testing.T, n Nova) *harness.Clients {
	t.Helper()
	return harness.StartClients(t, len(n.Hypervisors), func(ctx context.Context, client, round int, try harness.Request) error {
		name, id := fmt.Sprintf("load-%d-%d-", client, round), ""
		if err := try("make a virtual machine", func() (err error) {
			id, err = n.CreateServer(ctx, n.Hypervisors[client], name)
			return err
		}); err != nil {
			return err
		}
		return errors.Join(
			try("see it run", func() error { return n.WaitForServer(ctx, id) }),
			try("list virtual machines", func() error {
				all, err := n.list(ctx, name)
				if err == nil && (len(all) != 1 || all[0].ID != id) {
					err = fmt.Errorf("there are %d, want the one with the id %s", len(all), id)
				}
				return err
			}),
			try("delete a virtual machine", func() error { return n.DeleteServer(ctx, id) }),
		)
	})
}

//go:build openstack && linux

package hypervisors

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// place is the location, status and task of a server.
type place struct {
	Host   string `json:"OS-EXT-SRV-ATTR:host"`
	Status string `json:"status"`
	Task   string `json:"OS-EXT-STS:task_state"`
	Power  int    `json:"OS-EXT-STS:power_state"`
}

// Place returns the node and the state of a server.
func (m *Machines) Place(t *testing.T, g Guest) place {
	t.Helper()
	var p place
	if err := servers.Get(context.Background(), m.ServiceClient, g.Server.ID).ExtractInto(&p); err != nil {
		t.Fatal(err)
	}
	return p
}

// OtherNode returns the node without the server.
func (m *Machines) OtherNode(t *testing.T, g Guest) string {
	t.Helper()
	if m.Place(t, g).Host == "node-0" {
		return "node-1"
	}
	return "node-0"
}

// Migrate starts a migration. Without a target, Nova's scheduler selects one.
func (m *Machines) Migrate(t *testing.T, g Guest, to string) {
	t.Helper()
	host := any(to)
	if to == "" {
		host = nil
	}
	body := map[string]any{"os-migrateLive": map[string]any{"host": host, "block_migration": "auto"}}
	_, err := m.Post(context.Background(), m.ServiceURL("servers", g.Server.ID, "action"), body, nil, &gophercloud.RequestOpts{ //nolint:bodyclose // the client does
		OkCodes: []int{http.StatusAccepted},
	})
	if err != nil {
		t.Fatalf("cannot move it to %q: %v", to, err)
	}
}

// migration is Nova's record of a migration.
type migration struct {
	Status string `json:"status"`
	Source string `json:"source_compute"`
	Dest   string `json:"dest_compute"`
}

// WaitForMigration waits until the last migration of a server has ended, and returns it.
func (m *Machines) WaitForMigration(t *testing.T, g Guest) migration {
	t.Helper()
	var last migration
	err := m.Cloud.Cluster.Wait(context.Background(), operators.Timeout, "the end of a migration", func(ctx context.Context) (bool, error) {
		var all struct {
			Migrations []migration `json:"migrations"`
		}
		_, err := m.Get(ctx, m.ServiceURL("os-migrations")+"?instance_uuid="+g.Server.ID, &all, nil) //nolint:bodyclose // the client does
		if err != nil || len(all.Migrations) == 0 {
			return false, err
		}
		last = all.Migrations[0] // sorted by time, the latest first
		return slices.Contains([]string{"completed", "error", "failed", "cancelled"}, last.Status) && m.Place(t, g).Task == "", nil
	})
	if err != nil {
		t.Fatalf("%.300v: %+v, %+v\n%s", err, last, m.Place(t, g), m.Logs(t, "nova-compute"))
	}
	return last
}

// DiskCount returns the counter that the server has written to its disk.
func (m *Machines) DiskCount(t *testing.T, g Guest) int {
	t.Helper()
	text, err := g.Get("cgi-bin/disk")
	n, e := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || e != nil {
		t.Fatalf("on its disk is %q: %v, %v", text, err, e)
	}
	return n
}

// CheckRunning fails unless the server runs on a node without any interruption.
func (m *Machines) CheckRunning(t *testing.T, g Guest, before int, on string) {
	t.Helper()
	m.Until(t, "the virtual machine's answer", g.Server.ID, func() error { _, err := g.Get("seconds"); return err })
	if got := m.Place(t, g); got.Host != on || got.Status != "ACTIVE" {
		t.Errorf("it is %+v, want it on %s", got, on)
	}
	after := m.Seconds(t, g)
	if after <= before {
		t.Errorf("it has started again: it counted to %d, and now to %d", before, after)
	}
	const late = 3
	if disk := m.DiskCount(t, g); disk < after-late || disk > after+late {
		t.Errorf("on its disk is %d, in its memory %d", disk, after)
	}
	m.Until(t, "metadata", g.Server.ID, func() error {
		id, err := g.Get("cgi-bin/metadata")
		if err == nil && !strings.HasPrefix(id, "i-") {
			err = fmt.Errorf("its id is %q", id)
		}
		return err
	})
}

// On returns the pod of a component on a node.
func (m *Machines) On(t *testing.T, node, component string) *corev1.Pod {
	t.Helper()
	for _, p := range m.Pods(t, component) {
		if p.Spec.NodeName == node {
			return &p
		}
	}
	return nil
}

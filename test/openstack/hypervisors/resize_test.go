//go:build openstack && linux

package hypervisors

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// found contains the disk and memory that a server detected at its start.
type found struct {
	// count is the last number that the server wrote to its disk before this start.
	count int
	// sectors of the disk, of 512 bytes each.
	sectors int
	// memory in KiB.
	memory int
}

func (m *Machines) found(t *testing.T, g Guest) found {
	t.Helper()
	var out found
	m.Until(t, "the server's answer", g.Server.ID, func() error {
		text, err := g.Get("found")
		if err != nil {
			return err
		}
		fields := strings.Fields(text)
		if len(fields) != 3 { //nolint:mnd // the fields of found
			return fmt.Errorf("it found %q", text)
		}
		for i, into := range []*int{&out.count, &out.sectors, &out.memory} {
			if *into, err = strconv.Atoi(fields[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return out
}

// act requests an action on a server.
func (m *Machines) act(t *testing.T, g Guest, body map[string]any) {
	t.Helper()
	accepted := &gophercloud.RequestOpts{OkCodes: []int{http.StatusAccepted, http.StatusNoContent}}
	//nolint:bodyclose // The client does.
	_, err := m.Post(context.Background(), m.ServiceURL("servers", g.Server.ID, "action"), body, nil, accepted)
	if err != nil {
		t.Fatalf("%v: %v", body, err)
	}
}

// becomes waits until a server has a status and no task.
func (m *Machines) becomes(t *testing.T, g Guest, status string) {
	t.Helper()
	var last place
	err := m.Cloud.Cluster.Wait(context.Background(), operators.Timeout, "status "+status, func(context.Context) (bool, error) {
		last = m.Place(t, g)
		if last.Status == "ERROR" {
			return false, fmt.Errorf("it is %+v", last)
		}
		return last.Status == status && last.Task == "", nil
	})
	if err != nil {
		s, _ := servers.Get(context.Background(), m.ServiceClient, g.Server.ID).Extract()
		t.Fatalf("%.300v: %+v: %+v\n%s\n%s", err, last, s.Fault, m.Logs(t, "nova-compute"), m.Logs(t, "disk-transfer"))
	}
}

// resizing is a way to change a server's flavor or node.
type resizing struct {
	name   string
	action map[string]any
	// same: the other node accepts no servers, so that the server stays on its node.
	same bool
	// end is the action in status VERIFY_RESIZE.
	end string
	// larger: the server has the larger flavor afterwards.
	larger bool
}

// testResize migrates and resizes a server, which is shut off for it. Its disk is moved with it, and each node removes
// the files that it does not need any more.
func testResize(t *testing.T, m *Machines, g Guest) {
	const mebi, sectorsOfGiB = 1024, 1 << 21
	large := harness.Created(t, func() (*flavors.Flavor, error) {
		opts := flavors.CreateOpts{Name: "large", RAM: 256, VCPUs: 1, Disk: new(1)}
		return flavors.Create(context.Background(), m.ServiceClient, opts).Extract()
	})
	resize := map[string]any{"resize": map[string]any{"flavorRef": large.ID}}
	migrate := map[string]any{"migrate": nil}
	for _, r := range []resizing{
		{name: "MigrateConfirm", action: migrate, end: "confirmResize"},
		{name: "MigrateRevert", action: migrate, end: "revertResize"},
		{name: "ResizeRevert", action: resize, end: "revertResize"},
		{name: "ResizeSameNodeRevert", action: resize, same: true, end: "revertResize"},
		{name: "ResizeConfirm", action: resize, end: "confirmResize", larger: true},
		{name: "MigrateLargeConfirm", action: migrate, end: "confirmResize", larger: true},
	} {
		t.Run(r.name, func(t *testing.T) {
			from, other, began := m.Place(t, g).Host, m.OtherNode(t, g), time.Now()
			to, closed := other, from
			if r.same {
				to, closed = from, other
			}
			m.setEnabled(t, closed, false)
			defer m.setEnabled(t, closed, true)
			before := m.DiskCount(t, g)
			m.act(t, g, r.action)
			m.becomes(t, g, "VERIFY_RESIZE")
			moved := m.found(t, g)
			if p := m.Place(t, g); p.Host != to {
				t.Errorf("it is %+v, want it on %s", p, to)
			}
			if moved.count < before {
				t.Errorf("on its disk was %d, and before it %d", moved.count, before)
			}
			if _, grows := r.action["resize"]; grows && (moved.sectors != sectorsOfGiB || moved.memory <= 128*mebi) {
				t.Errorf("it found %+v, want the disk and memory of the larger flavor", moved)
			}
			m.Lap(t, fmt.Sprintf("it is reachable on %s after %.1f s", to, time.Since(began).Seconds()))
			m.act(t, g, map[string]any{r.end: nil})
			m.becomes(t, g, "ACTIVE")
			on, old := to, from
			if r.end == "revertResize" {
				on, old = from, to
				m.found(t, g)
			}
			after := m.found(t, g)
			if p := m.Place(t, g); p.Host != on {
				t.Errorf("it is %+v, want it on %s", p, on)
			}
			if after.count < before {
				t.Errorf("on its disk was %d, and before it %d", after.count, before)
			}
			if is := after.sectors == sectorsOfGiB && after.memory > 128*mebi; is != r.larger {
				t.Errorf("it found %+v, want the larger flavor: %v", after, r.larger)
			}
			m.cleaned(t, g, old, old == on)
		})
	}
}

// cleaned waits until a node has no files of a migration. If the server still runs on the node, the server's files
// stay.
func (m *Machines) cleaned(t *testing.T, g Guest, node string, exists bool) {
	t.Helper()
	m.Until(t, "removal of files on "+node, g.Server.ID, func() error {
		p := m.On(t, node, "nova-compute")
		out, err := m.Cloud.Cluster.Exec(context.Background(), p.Namespace, p.Name, "ls", "/var/lib/nova/instances")
		if err != nil {
			return err
		}
		for file := range strings.FieldsSeq(out) {
			if strings.HasPrefix(file, g.Server.ID) && (file != g.Server.ID || !exists) {
				return fmt.Errorf("there is still %s", file)
			}
		}
		return nil
	})
}

//go:build openstack && linux

package hypervisors

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// restart is a pod of a node, with the maximum network outage of a server while it is replaced.
type restart struct {
	component string
	without   time.Duration
}

// restarts are the restarts of a node's pods. With a switch in userspace the restart of the switch interrupts the
// network, because the flows are in its process.
var restarts = []restart{
	{"libvirt", 0},
	{"nova-compute", 0},
	{"metadata", 0},
	{"ovn-gateway", 0},
	{"openvswitch", 30 * time.Second},
}

// testRestarts replaces each pod of the node while the server is pinged, and checks that everything works as before.
func testRestarts(t *testing.T, m *Machines, g Guest, all []restart) {
	var table strings.Builder
	for _, r := range all {
		t.Run(r.component, func(t *testing.T) {
			before, took := m.Seconds(t, g), time.Duration(0)
			came := harness.Ping(t, g.Address, func() {
				began := time.Now()
				m.ReplacePod(t, r.component)
				took = time.Since(began)
			})
			fmt.Fprintf(&table, "\n%-14s %s; replaced in %.1f s", r.component, came, took.Seconds())
			if came.Gap > r.without {
				t.Errorf("%s: more than %s", came, r.without)
			}
			m.Until(t, "the virtual machine's answer", g.Server.ID, func() error { _, err := g.Get("seconds"); return err })
			if after := m.Seconds(t, g); after <= before {
				t.Errorf("the virtual machine has started again: it counted to %d, and now to %d", before, after)
			}
			m.Until(t, "metadata", g.Server.ID, func() error {
				id, err := g.Get("cgi-bin/metadata")
				if err == nil && !strings.HasPrefix(id, "i-") {
					err = fmt.Errorf("its id is %q", id)
				}
				return err
			})
		})
	}
	t.Log(table.String())
}

// testDelete checks that the deletion of a server leaves nothing on the node and in OVN.
func testDelete(t *testing.T, m *Machines, g Guest) {
	ctx := context.Background()
	if got := m.traces(t, g); len(got) != 3 {
		t.Errorf("of a virtual machine that runs, there is only %v", got)
	}
	if err := m.DeleteServer(ctx, g.Server.ID); err != nil {
		t.Fatal(err)
	}
	if err := ports.Delete(ctx, m.Neutron.ServiceClient, g.Port.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if got := m.traces(t, g); len(got) > 0 {
		t.Errorf("of a virtual machine that was deleted, there is still %v", got)
	}
}

// traces returns the processes and files of a server on its node.
func (m *Machines) traces(t *testing.T, g Guest) (out []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), "guest="+g.InstanceName+",") {
			out = append(out, "its process")
		}
	}
	pod := m.Pods(t, "openvswitch")[0]
	links, err := m.Cloud.Cluster.Exec(context.Background(), pod.Namespace, pod.Name, "ip", "-o", "link")
	if err != nil {
		t.Fatalf("%v: %s", err, links)
	}
	const device = 11 // of a port's id are in the name of its device
	if strings.Contains(links, "tap"+g.Port.ID[:device]) {
		out = append(out, "its network device")
	}
	if slices.Contains(m.Neutron.Ovn(t, "northbound", "Logical_Switch_Port", "name"), g.Port.ID) {
		out = append(out, "its port in OVN")
	}
	return out
}

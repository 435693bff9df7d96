//go:build openstack && linux

package openstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
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
func testRestarts(t *testing.T, m *machines, g guest, all []restart) {
	var table strings.Builder
	for _, r := range all {
		t.Run(r.component, func(t *testing.T) {
			before, took := m.seconds(t, g), time.Duration(0)
			came := pinged(t, g.address, func() {
				began := time.Now()
				m.replacePod(t, r.component)
				took = time.Since(began)
			})
			fmt.Fprintf(&table, "\n%-14s %s; replaced in %.1f s", r.component, came, took.Seconds())
			if came.Gap > r.without {
				t.Errorf("%s: more than %s", came, r.without)
			}
			m.until(t, "the virtual machine's answer", g.server.ID, func() error { _, err := g.get("seconds"); return err })
			if after := m.seconds(t, g); after <= before {
				t.Errorf("the virtual machine has started again: it counted to %d, and now to %d", before, after)
			}
			m.until(t, "metadata", g.server.ID, func() error {
				id, err := g.get("cgi-bin/metadata")
				if err == nil && !strings.HasPrefix(id, "i-") {
					err = fmt.Errorf("its id is %q", id)
				}
				return err
			})
		})
	}
	t.Log(table.String())
}

// seconds returns the seconds that the server has counted since its start.
func (m *machines) seconds(t *testing.T, g guest) int {
	t.Helper()
	text, err := g.get("seconds")
	n, e := strconv.Atoi(text)
	if err := errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	return n
}

// replacePod stops the pod of a component of the node as Kubernetes does, and waits until another one is ready.
func (m *machines) replacePod(t *testing.T, component string) {
	t.Helper()
	pods := m.pods(t, component)
	if len(pods) != 1 {
		t.Fatalf("%s has %d pods", component, len(pods))
	}
	if err := m.cloud.Cluster.Evict(pods[0].Namespace, pods[0].Name); err != nil {
		t.Fatal(err)
	}
	err := m.cloud.Cluster.Wait(context.Background(), operators.Timeout, "another pod of "+component, func(context.Context) (bool, error) {
		now := m.pods(t, component)
		return len(now) == 1 && now[0].UID != pods[0].UID && slices.ContainsFunc(now[0].Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// testSecond checks that replaced pods can still start a server, and delete it.
func testSecond(t *testing.T, m *machines, g guest) {
	ctx := context.Background()
	port := created(t, func() (*ports.Port, error) {
		return ports.Create(ctx, m.neutron.ServiceClient, ports.CreateOpts{NetworkID: g.port.NetworkID, Name: "second"}).Extract()
	})
	s, err := servers.Create(ctx, m.ServiceClient, servers.CreateOpts{
		Name: "second", FlavorRef: m.flavor, ImageRef: m.image, Networks: []servers.Network{{Port: port.ID}},
	}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.active(ctx, s.ID); err != nil {
		t.Fatalf("%v\n%s", err, m.logs(t, "nova-compute"))
	}
	m.until(t, "the output of the second server", s.ID, func() error {
		text, err := servers.ShowConsoleOutput(ctx, m.ServiceClient, s.ID, servers.ShowConsoleOutputOpts{}).Extract()
		if err == nil && !strings.Contains(text, s.ID) {
			err = errors.New("it has no metadata yet")
		}
		return err
	})
	if err := m.delete(ctx, s.ID); err != nil {
		t.Error(err)
	}
}

// testDelete checks that the deletion of a server leaves nothing on the node and in OVN.
func testDelete(t *testing.T, m *machines, g guest) {
	ctx := context.Background()
	if got := m.traces(t, g); len(got) != 3 {
		t.Errorf("of a virtual machine that runs, there is only %v", got)
	}
	if err := m.delete(ctx, g.server.ID); err != nil {
		t.Fatal(err)
	}
	if err := ports.Delete(ctx, m.neutron.ServiceClient, g.port.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if got := m.traces(t, g); len(got) > 0 {
		t.Errorf("of a virtual machine that was deleted, there is still %v", got)
	}
}

// traces returns the processes and files of a server on its node.
func (m *machines) traces(t *testing.T, g guest) (out []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), "guest="+g.instanceName+",") {
			out = append(out, "its process")
		}
	}
	pod := m.pods(t, "openvswitch")[0]
	links, err := m.cloud.Cluster.Exec(context.Background(), pod.Namespace, pod.Name, "ip", "-o", "link")
	if err != nil {
		t.Fatalf("%v: %s", err, links)
	}
	const device = 11 // of a port's id are in the name of its device
	if strings.Contains(links, "tap"+g.port.ID[:device]) {
		out = append(out, "its network device")
	}
	if slices.Contains(m.neutron.ovn(t, "northbound", "Logical_Switch_Port", "name"), g.port.ID) {
		out = append(out, "its port in OVN")
	}
	return out
}

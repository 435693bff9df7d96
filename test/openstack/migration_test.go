//go:build openstack && linux

package openstack

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/services"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/agents"
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// TestMigration checks that a server can be resized and migrated while it is shut off, and live-migrated between two
// nodes while it is pinged; that a node can be drained, updated and returned to service; that a cordoned node is
// evacuated and enabled after it is uncordoned; and the failures of a node by power loss, during a migration to it, and
// permanently.
func TestMigration(t *testing.T) {
	t.Run(string(restarted), func(t *testing.T) {
		m := startMachinesOn(t, 2)
		g := m.boot(t)
		m.memory(t)
		t.Run("Resize", func(t *testing.T) { testResize(t, m, g) })
		t.Run("ThereAndBack", func(t *testing.T) { testMigrations(t, m, g) })
		t.Run("Leave", func(t *testing.T) { testLeave(t, m, g) })
		t.Run("Evicted", func(t *testing.T) { testEvicted(t, m, g) })
		t.Run("Receiver", func(t *testing.T) { testReceiver(t, m, g) })
		t.Run("Outages", func(t *testing.T) { testOutages(t, m, g) })
		t.Run("PowerLoss", func(t *testing.T) { testPowerLoss(t, m, g) })
		t.Run("Gone", func(t *testing.T) { testNodeRemoved(t, m, g) }) // It is the last one: the node does not return.
		m.memory(t)
	})
}

// startMachinesOn creates a cloud with a number of nodes from two claims, with distributed floating IPs.
func startMachinesOn(t *testing.T, nodes int) *machines {
	t.Helper()
	plane := bytes.Replace(of(t, "compute.yaml", restarted, dashed(restarted)),
		[]byte("      ml2:"), []byte("      distributedFloatingIPs: true\n      ml2:"), 1)
	// A migration has a middle: an idle server has about 90 MiB to send.
	const slow = "virtualization: {driver: qemu, evictOnCordon: true, liveMigration: {bandwidthPerMigration: 16Mi}}"
	pool := bytes.Replace(of(t, "hypervisors.yaml", restarted, dashed(restarted)), []byte("virtualization: {driver: qemu}"), []byte(slow), 1)
	m := startMachines(t, plane, pool, 0, func(o *Options) { o.Nodes = nodes })
	m.kernelArguments = " counts"
	return m
}

// place is the location, status and task of a server.
type place struct {
	Host   string `json:"OS-EXT-SRV-ATTR:host"`
	Status string `json:"status"`
	Task   string `json:"OS-EXT-STS:task_state"`
	Power  int    `json:"OS-EXT-STS:power_state"`
}

func (m *machines) place(t *testing.T, g guest) place {
	t.Helper()
	var p place
	if err := servers.Get(context.Background(), m.ServiceClient, g.server.ID).ExtractInto(&p); err != nil {
		t.Fatal(err)
	}
	return p
}

// otherNode returns the node without the server.
func (m *machines) otherNode(t *testing.T, g guest) string {
	t.Helper()
	if m.place(t, g).Host == "node-0" {
		return "node-1"
	}
	return "node-0"
}

// moves starts a migration. Without a target, Nova's scheduler selects one.
func (m *machines) moves(t *testing.T, g guest, to string) {
	t.Helper()
	host := any(to)
	if to == "" {
		host = nil
	}
	body := map[string]any{"os-migrateLive": map[string]any{"host": host, "block_migration": "auto"}}
	_, err := m.Post(context.Background(), m.ServiceURL("servers", g.server.ID, "action"), body, nil, &gophercloud.RequestOpts{ //nolint:bodyclose // the client does
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

// moved waits until the last migration of a server has ended, and returns it.
func (m *machines) moved(t *testing.T, g guest) migration {
	t.Helper()
	var last migration
	err := m.cloud.Cluster.Wait(context.Background(), operators.Timeout, "the end of a migration", func(ctx context.Context) (bool, error) {
		var all struct {
			Migrations []migration `json:"migrations"`
		}
		_, err := m.Get(ctx, m.ServiceURL("os-migrations")+"?instance_uuid="+g.server.ID, &all, nil) //nolint:bodyclose // the client does
		if err != nil || len(all.Migrations) == 0 {
			return false, err
		}
		last = all.Migrations[0] // sorted by time, the latest first
		return slices.Contains([]string{"completed", "error", "failed", "cancelled"}, last.Status) && m.place(t, g).Task == "", nil
	})
	if err != nil {
		t.Fatalf("%.300v: %+v, %+v\n%s", err, last, m.place(t, g), m.logs(t, "nova-compute"))
	}
	return last
}

// diskCount returns the counter that the server has written to its disk.
func (m *machines) diskCount(t *testing.T, g guest) int {
	t.Helper()
	text, err := g.get("cgi-bin/disk")
	n, e := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || e != nil {
		t.Fatalf("on its disk is %q: %v, %v", text, err, e)
	}
	return n
}

// testMigrations checks that a server can be live-migrated to the other node and back, with its disk, by TLS, without a
// restart.
func testMigrations(t *testing.T, m *machines, g guest) {
	for _, direction := range []string{"There", "Back"} {
		t.Run(direction, func(t *testing.T) {
			to, before, took := m.otherNode(t, g), m.seconds(t, g), time.Duration(0)
			w := tap(t, g.server.ID) // its metadata has the ID, so that it is in its memory
			came := pinged(t, g.address, func() {
				began := time.Now()
				m.moves(t, g, to)
				if got := m.moved(t, g); got.Status != "completed" {
					t.Errorf("it has %s\n%s", got.Status, m.logs(t, "nova-compute"))
				}
				took = time.Since(began)
			})
			w.end(t)
			m.lap(t, fmt.Sprintf("it has moved to %s in %.1f s; %s", to, took.Seconds(), came))
			m.goesOn(t, g, before, to)
		})
	}
}

// goesOn fails unless the server runs on a node without any interruption.
func (m *machines) goesOn(t *testing.T, g guest, before int, on string) {
	t.Helper()
	m.until(t, "the virtual machine's answer", g.server.ID, func() error { _, err := g.get("seconds"); return err })
	if got := m.place(t, g); got.Host != on || got.Status != "ACTIVE" {
		t.Errorf("it is %+v, want it on %s", got, on)
	}
	after := m.seconds(t, g)
	if after <= before {
		t.Errorf("it has started again: it counted to %d, and now to %d", before, after)
	}
	const late = 3
	if disk := m.diskCount(t, g); disk < after-late || disk > after+late {
		t.Errorf("on its disk is %d, in its memory %d", disk, after)
	}
	m.until(t, "metadata", g.server.ID, func() error {
		id, err := g.get("cgi-bin/metadata")
		if err == nil && !strings.HasPrefix(id, "i-") {
			err = fmt.Errorf("its id is %q", id)
		}
		return err
	})
}

// service returns the service of nova-compute on a node.
func (m *machines) service(t *testing.T, node string) services.Service {
	t.Helper()
	s, err := m.serviceOf(node)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (m *machines) serviceOf(node string) (services.Service, error) {
	page, err := services.List(m.ServiceClient, services.ListOpts{Binary: "nova-compute", Host: node}).AllPages(context.Background())
	if err != nil {
		return services.Service{}, err
	}
	all, err := services.ExtractServices(page)
	if err != nil || len(all) != 1 {
		return services.Service{}, fmt.Errorf("%d services of %s, %w", len(all), node, err)
	}
	return all[0], nil
}

// setEnabled enables or disables a node for new servers.
func (m *machines) setEnabled(t *testing.T, node string, enabled bool) {
	t.Helper()
	o := services.UpdateOpts{Status: services.ServiceEnabled}
	if !enabled {
		o = services.UpdateOpts{Status: services.ServiceDisabled, DisabledReason: "it is updated"}
	}
	if _, err := services.Update(context.Background(), m.ServiceClient, m.service(t, node).ID, o).Extract(); err != nil {
		t.Fatal(err)
	}
}

// on returns the pod of a component on a node.
func (m *machines) on(t *testing.T, node, component string) *corev1.Pod {
	t.Helper()
	for _, p := range m.pods(t, component) {
		if p.Spec.NodeName == node {
			return &p
		}
	}
	return nil
}

// ready waits until a node has a ready pod of a component with another UID.
func (m *machines) ready(t *testing.T, node, component, not string) {
	t.Helper()
	err := m.cloud.Cluster.Wait(context.Background(), operators.Timeout, component+" of "+node, func(context.Context) (bool, error) {
		p := m.on(t, node, component)
		return p != nil && string(p.UID) != not && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// controllerOf returns the name of ovn-controller on a node.
func controllerOf(node string) string {
	if node == "node-0" {
		return "ovn-gateway"
	}
	return "ovn-controller"
}

// testLeave follows docs/how-to/node-maintenance.md to drain a node manually for an update: no server loses its network, because
// none is left on the node. The node returns, and gets the server again.
func testLeave(t *testing.T, m *machines, g guest) {
	node, before := m.place(t, g).Host, m.seconds(t, g)
	other := m.otherNode(t, g)
	m.setEnabled(t, node, false)
	came := pinged(t, g.address, func() {
		m.moves(t, g, "")
		if got := m.moved(t, g); got.Status != "completed" || got.Dest != other {
			t.Fatalf("%+v\n%s", got, m.logs(t, "nova-compute"))
		}
	})
	m.lap(t, fmt.Sprintf("%s is empty: %s", node, came))
	m.goesOn(t, g, before, other)
	came = pinged(t, g.address, func() {
		for _, component := range []string{"openvswitch", "libvirt"} {
			p := m.on(t, node, component)
			if err := m.cloud.Cluster.Evict(p.Namespace, p.Name); err != nil {
				t.Fatal(err)
			}
			m.ready(t, node, component, string(p.UID))
		}
	})
	m.lap(t, fmt.Sprintf("its switch and its libvirt are others: %s", came))
	if came.Lost > 0 {
		t.Errorf("%s: nothing of another node concerns it", came)
	}
	m.setEnabled(t, node, true)
	came = pinged(t, g.address, func() {
		m.moves(t, g, node)
		if got := m.moved(t, g); got.Status != "completed" {
			t.Fatalf("%+v\n%s", got, m.logs(t, "nova-compute"))
		}
	})
	m.lap(t, fmt.Sprintf("%s has its virtual machine again: %s", node, came))
	m.goesOn(t, g, before, node)
}

// testReceiver kills each process of the node that receives a server during the migration. The server keeps running, on
// either node, and can be migrated afterwards.
func testReceiver(t *testing.T, m *machines, g guest) {
	for _, component := range []string{"nova-compute", "libvirt", "ovn-controller", "openvswitch"} {
		t.Run(component, func(t *testing.T) {
			to, before := m.otherNode(t, g), m.seconds(t, g)
			if component == "ovn-controller" {
				component = controllerOf(to)
			}
			var end migration
			came := pinged(t, g.address, func() {
				m.moves(t, g, to)
				m.until(t, "the middle of a migration", g.server.ID, func() error {
					if p := m.place(t, g); p.Task != "migrating" {
						return fmt.Errorf("it is %+v", p)
					}
					return nil
				})
				p := m.on(t, to, component)
				if err := m.cloud.Cluster.Kill(p.Namespace, p.Name); err != nil {
					t.Fatal(err)
				}
				end = m.moved(t, g)
				m.ready(t, to, component, string(p.UID))
			})
			m.lap(t, fmt.Sprintf("%s of %s was killed: the migration has %s, the virtual machine is %+v; %s", component, to, end.Status,
				m.place(t, g), came))
			m.until(t, "the hypervisor", g.server.ID, func() error {
				if s := m.service(t, to); s.State != "up" {
					return fmt.Errorf("it is %s", s.State)
				}
				return nil
			})
			m.goesOn(t, g, before, m.place(t, g).Host)
			m.moves(t, g, m.otherNode(t, g))
			if got := m.moved(t, g); got.Status != "completed" {
				t.Errorf("afterwards a migration has %s\n%s", got.Status, m.logs(t, "nova-compute"))
			}
			m.goesOn(t, g, before, m.place(t, g).Host)
		})
	}
}

// testPowerLoss powers off a node, with the loss of its memory. Nova and Neutron report it, and the node recovers
// without intervention: the server is shut off, and starts on request.
func testPowerLoss(t *testing.T, m *machines, g guest) {
	const node = "node-1" // The first one also has the control plane.
	if m.place(t, g).Host != node {
		m.moves(t, g, node)
		m.moved(t, g)
	}
	began := time.Now()
	if err := m.cloud.Cluster.PowerOff(node); err != nil {
		t.Fatal(err)
	}
	since := func(event string) { t.Logf("%5.1f s after it lost power: %s", time.Since(began).Seconds(), event) }
	m.until(t, "Nova's word that the node is down", g.server.ID, func() error {
		if s := m.service(t, node); s.State != "down" {
			return fmt.Errorf("it is %s", s.State)
		}
		return nil
	})
	since(fmt.Sprintf("Nova reports it as down; the server is %+v", m.place(t, g)))
	m.until(t, "Neutron's report that its agents are dead", g.server.ID, func() error {
		if alive := m.alive(t, node); len(alive) > 0 {
			return fmt.Errorf("%v are alive", alive)
		}
		return nil
	})
	since("Neutron reports its agents as dead")
	m.cloud.Cluster.PowerOn(node)
	began = time.Now()
	for _, component := range []string{"openvswitch", controllerOf(node), "libvirt", "metadata", "nova-compute"} {
		m.ready(t, node, component, "")
	}
	t.Logf("%5.1f s after it has power again, all of its pods are ready", time.Since(began).Seconds())
	m.until(t, "Nova's word that the virtual machine is shut down", g.server.ID, func() error {
		if p := m.place(t, g); p.Status != "SHUTOFF" || p.Task != "" {
			return fmt.Errorf("it is %+v", p)
		}
		return nil
	})
	t.Logf("%5.1f s after it has power again, the virtual machine is %+v", time.Since(began).Seconds(), m.place(t, g))
	m.until(t, "Nova's and Neutron's report that the node is up", g.server.ID, func() error {
		if s := m.service(t, node); s.State != "up" || len(m.alive(t, node)) == 0 {
			return fmt.Errorf("it is %s, %v are alive", s.State, m.alive(t, node))
		}
		return nil
	})
	if err := servers.Start(context.Background(), m.ServiceClient, g.server.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	m.until(t, "the virtual machine's answer", g.server.ID, func() error { _, err := g.get("seconds"); return err })
	t.Logf("%5.1f s after it has power again, the started server responds", time.Since(began).Seconds())
	to := m.otherNode(t, g)
	m.moves(t, g, to)
	if got := m.moved(t, g); got.Status != "completed" {
		t.Errorf("afterwards a migration has %s\n%s", got.Status, m.logs(t, "nova-compute"))
	}
	m.goesOn(t, g, 0, to)
}

// alive returns Neutron's agents of a node that are alive.
func (m *machines) alive(t *testing.T, node string) (out []string) {
	t.Helper()
	page, err := agents.List(m.neutron.ServiceClient, agents.ListOpts{Host: node}).AllPages(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all, err := agents.ExtractAgents(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if a.Alive {
			out = append(out, a.AgentType)
		}
	}
	return out
}

//go:build openstack && linux

package hypervisors

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/services"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/agents"
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// TestMigration checks that a server can be resized and migrated while it is shut off, and live-migrated between two
// nodes while it is pinged; that a node can be drained, updated and returned to service; that a cordoned node is
// evacuated and enabled after it is uncordoned; and the failures of a node by power loss, during a migration to it, and
// permanently.
func TestMigration(t *testing.T) {
	t.Run(string(RestartRelease), func(t *testing.T) {
		m := startOn(t, 2)
		g := m.Boot(t)
		m.Memory(t)
		t.Run("Peers", func(t *testing.T) { testPeerCertificates(t, m) })
		t.Run("Escaped", func(t *testing.T) { testEscaped(t, m, g) })
		t.Run("Resize", func(t *testing.T) { testResize(t, m, g) })
		t.Run("ThereAndBack", func(t *testing.T) { testMigrations(t, m, g) })
		t.Run("Leave", func(t *testing.T) { testLeave(t, m, g) })
		t.Run("Evicted", func(t *testing.T) { testEvicted(t, m, g) })
		t.Run("Maintenance", func(t *testing.T) { testMaintenance(t, m, g) })
		t.Run("Receiver", func(t *testing.T) { testReceiver(t, m, g) })
		t.Run("Outages", func(t *testing.T) { testOutages(t, m, g) })
		t.Run("PowerLoss", func(t *testing.T) { testPowerLoss(t, m, g) })
		t.Run("Gone", func(t *testing.T) { testNodeRemoved(t, m, g) }) // It is the last one: the node does not return.
		m.Memory(t)
	})
}

// startOn creates a cloud with a number of nodes from two claims, with distributed floating IPs.
func startOn(t *testing.T, nodes int) *Machines {
	t.Helper()
	plane := bytes.Replace(harness.Claim(t, "compute.yaml", RestartRelease, harness.Suffix(RestartRelease)),
		[]byte("      ml2:"), []byte("      distributedFloatingIPs: true\n      ml2:"), 1)
	// A migration has a middle: an idle server has about 90 MiB to send.
	const slow = "virtualization: {driver: qemu, evictOnCordon: true, liveMigration: {bandwidthPerMigration: 16Mi}}"
	pool := bytes.Replace(harness.Claim(t, "hypervisors.yaml", RestartRelease, harness.Suffix(RestartRelease)), []byte("virtualization: {driver: qemu}"), []byte(slow), 1)
	m := Start(t, plane, pool, 0, func(o *clouds.Options) { o.Nodes = nodes })
	m.KernelArguments = " counts"
	return m
}

// testMigrations checks that a server can be live-migrated to the other node and back, with its disk, by TLS, without a
// restart.
func testMigrations(t *testing.T, m *Machines, g Guest) {
	for _, direction := range []string{"There", "Back"} {
		t.Run(direction, func(t *testing.T) {
			to, before, took := m.OtherNode(t, g), m.Seconds(t, g), time.Duration(0)
			w := Tap(t, g.Server.ID) // its metadata has the ID, so that it is in its memory
			came := harness.Ping(t, g.Address, func() {
				began := time.Now()
				m.Migrate(t, g, to)
				if got := m.WaitForMigration(t, g); got.Status != "completed" {
					t.Errorf("it has %s\n%s", got.Status, m.Logs(t, "nova-compute"))
				}
				took = time.Since(began)
			})
			w.Stop(t)
			m.Lap(t, fmt.Sprintf("it has moved to %s in %.1f s; %s", to, took.Seconds(), came))
			m.CheckRunning(t, g, before, to)
		})
	}
}

// service returns the service of nova-compute on a node.
func (m *Machines) service(t *testing.T, node string) services.Service {
	t.Helper()
	s, err := m.serviceOf(node)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (m *Machines) serviceOf(node string) (services.Service, error) {
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
func (m *Machines) setEnabled(t *testing.T, node string, enabled bool) {
	t.Helper()
	o := services.UpdateOpts{Status: services.ServiceEnabled}
	if !enabled {
		o = services.UpdateOpts{Status: services.ServiceDisabled, DisabledReason: "it is updated"}
	}
	if _, err := services.Update(context.Background(), m.ServiceClient, m.service(t, node).ID, o).Extract(); err != nil {
		t.Fatal(err)
	}
}

// ready waits until a node has a ready pod of a component with another UID.
func (m *Machines) ready(t *testing.T, node, component, not string) {
	t.Helper()
	err := m.Cloud.Cluster.Wait(context.Background(), operators.Timeout, component+" of "+node, func(context.Context) (bool, error) {
		p := m.On(t, node, component)
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
func testLeave(t *testing.T, m *Machines, g Guest) {
	node, before := m.Place(t, g).Host, m.Seconds(t, g)
	other := m.OtherNode(t, g)
	m.setEnabled(t, node, false)
	came := harness.Ping(t, g.Address, func() {
		m.Migrate(t, g, "")
		if got := m.WaitForMigration(t, g); got.Status != "completed" || got.Dest != other {
			t.Fatalf("%+v\n%s", got, m.Logs(t, "nova-compute"))
		}
	})
	m.Lap(t, fmt.Sprintf("%s is empty: %s", node, came))
	m.CheckRunning(t, g, before, other)
	came = harness.Ping(t, g.Address, func() {
		for _, component := range []string{"openvswitch", "libvirt"} {
			p := m.On(t, node, component)
			if err := m.Cloud.Cluster.Evict(p.Namespace, p.Name); err != nil {
				t.Fatal(err)
			}
			m.ready(t, node, component, string(p.UID))
		}
	})
	m.Lap(t, fmt.Sprintf("its switch and its libvirt are others: %s", came))
	if came.Lost > 0 {
		t.Errorf("%s: nothing of another node concerns it", came)
	}
	m.setEnabled(t, node, true)
	came = harness.Ping(t, g.Address, func() {
		m.Migrate(t, g, node)
		if got := m.WaitForMigration(t, g); got.Status != "completed" {
			t.Fatalf("%+v\n%s", got, m.Logs(t, "nova-compute"))
		}
	})
	m.Lap(t, fmt.Sprintf("%s has its virtual machine again: %s", node, came))
	m.CheckRunning(t, g, before, node)
}

// testReceiver kills each process of the node that receives a server during the migration. The server keeps running, on
// either node, and can be migrated afterwards.
func testReceiver(t *testing.T, m *Machines, g Guest) {
	for _, component := range []string{"nova-compute", "libvirt", "ovn-controller", "openvswitch"} {
		t.Run(component, func(t *testing.T) {
			to, before := m.OtherNode(t, g), m.Seconds(t, g)
			if component == "ovn-controller" {
				component = controllerOf(to)
			}
			var end Migration
			came := harness.Ping(t, g.Address, func() {
				m.Migrate(t, g, to)
				m.Until(t, "the middle of a migration", g.Server.ID, func() error {
					if p := m.Place(t, g); p.Task != "migrating" {
						return fmt.Errorf("it is %+v", p)
					}
					return nil
				})
				p := m.On(t, to, component)
				if err := m.Cloud.Cluster.Kill(p.Namespace, p.Name); err != nil {
					t.Fatal(err)
				}
				end = m.WaitForMigration(t, g)
				m.ready(t, to, component, string(p.UID))
			})
			m.Lap(t, fmt.Sprintf("%s of %s was killed: the migration has %s, the virtual machine is %+v; %s", component, to, end.Status,
				m.Place(t, g), came))
			// nova-compute disables itself when its connection to libvirt is lost, until its next connection: within a minute at most.
			m.Until(t, "the hypervisor", g.Server.ID, func() error {
				if s := m.service(t, to); s.State != "up" || s.Status != "enabled" {
					return fmt.Errorf("it is %s and %s", s.State, s.Status)
				}
				return nil
			})
			m.CheckRunning(t, g, before, m.Place(t, g).Host)
			m.Migrate(t, g, m.OtherNode(t, g))
			if got := m.WaitForMigration(t, g); got.Status != "completed" {
				t.Errorf("afterwards a migration has %s\n%s", got.Status, m.Logs(t, "nova-compute"))
			}
			m.CheckRunning(t, g, before, m.Place(t, g).Host)
		})
	}
}

// testPowerLoss powers off a node, with the loss of its memory. Nova and Neutron report it, and the node recovers
// without intervention: the server is shut off, and starts on request.
func testPowerLoss(t *testing.T, m *Machines, g Guest) {
	const node = "node-1" // The first one also has the control plane.
	if m.Place(t, g).Host != node {
		m.Migrate(t, g, node)
		m.WaitForMigration(t, g)
	}
	began := time.Now()
	if err := m.Cloud.Cluster.PowerOff(node); err != nil {
		t.Fatal(err)
	}
	since := func(event string) { t.Logf("%5.1f s after it lost power: %s", time.Since(began).Seconds(), event) }
	m.Until(t, "Nova's word that the node is down", g.Server.ID, func() error {
		if s := m.service(t, node); s.State != "down" {
			return fmt.Errorf("it is %s", s.State)
		}
		return nil
	})
	since(fmt.Sprintf("Nova reports it as down; the server is %+v", m.Place(t, g)))
	m.Until(t, "Neutron's report that its agents are dead", g.Server.ID, func() error {
		if alive := m.alive(t, node); len(alive) > 0 {
			return fmt.Errorf("%v are alive", alive)
		}
		return nil
	})
	since("Neutron reports its agents as dead")
	m.Cloud.Cluster.PowerOn(node)
	began = time.Now()
	for _, component := range []string{"openvswitch", controllerOf(node), "libvirt", "metadata", "nova-compute"} {
		m.ready(t, node, component, "")
	}
	t.Logf("%5.1f s after it has power again, all of its pods are ready", time.Since(began).Seconds())
	m.Until(t, "Nova's word that the virtual machine is shut down", g.Server.ID, func() error {
		if p := m.Place(t, g); p.Status != "SHUTOFF" || p.Task != "" {
			return fmt.Errorf("it is %+v", p)
		}
		return nil
	})
	t.Logf("%5.1f s after it has power again, the virtual machine is %+v", time.Since(began).Seconds(), m.Place(t, g))
	m.Until(t, "Nova's and Neutron's report that the node is up", g.Server.ID, func() error {
		if s := m.service(t, node); s.State != "up" || len(m.alive(t, node)) == 0 {
			return fmt.Errorf("it is %s, %v are alive", s.State, m.alive(t, node))
		}
		return nil
	})
	if err := servers.Start(context.Background(), m.ServiceClient, g.Server.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	m.Until(t, "the virtual machine's answer", g.Server.ID, func() error { _, err := g.Get("seconds"); return err })
	t.Logf("%5.1f s after it has power again, the started server responds", time.Since(began).Seconds())
	to := m.OtherNode(t, g)
	m.Migrate(t, g, to)
	if got := m.WaitForMigration(t, g); got.Status != "completed" {
		t.Errorf("afterwards a migration has %s\n%s", got.Status, m.Logs(t, "nova-compute"))
	}
	m.CheckRunning(t, g, 0, to)
}

// alive returns Neutron's agents of a node that are alive.
func (m *Machines) alive(t *testing.T, node string) (out []string) {
	t.Helper()
	page, err := agents.List(m.Neutron.ServiceClient, agents.ListOpts{Host: node}).AllPages(context.Background())
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

//go:build openstack && linux

package hypervisors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/agents"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsbinding"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/provider"
	virtual "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestHypervisorsSRIOV adds a network card to the nodes of a cloud with OVN. Neutron gets the agent's report of it, and
// binds ports to the node that it rejected before. The interface is no real card: it has no virtual functions, and no
// server gets one.
func TestHypervisorsSRIOV(t *testing.T) {
	const networks, before = "        physicalNetworks:\n", "  networks:\n"
	plane := bytes.Replace(harness.Claim(t, "compute.yaml", RestartRelease, "-sriov"), []byte(networks), []byte("        sriov: {}\n"+networks), 1)
	pool := harness.Claim(t, "hypervisors.yaml", RestartRelease, "-sriov")
	m := Start(t, plane, pool, 10)
	m.WaitForHypervisor(t)
	network := harness.Created(t, func() (*virtual.Network, error) {
		return virtual.Create(context.Background(), m.Neutron.ServiceClient, provider.CreateOptsExt{
			CreateOptsBuilder: virtual.CreateOpts{Name: "cards"},
			Segments:          []provider.Segment{{NetworkType: "flat", PhysicalNetwork: "physnet1"}},
		}).Extract()
	})
	if got := m.bound(t, network.ID); got != "binding_failed" {
		t.Errorf("a node without a card has a port of one, as %s", got)
	}
	// The pod of libvirt is not replaced, since it is not deleted: this machine has no /dev/vfio that it would mount.
	const card = `  pciDevices: [{name: vf, vendorID: "8086", productID: "1889", interface: sriov0, physicalNetwork: physnet1}]` + "\n"
	if err := m.Cloud.ChangePool(bytes.Replace(pool, []byte(before), []byte(card+before), 1)); err != nil {
		t.Fatalf("%v\n%s", err, m.Logs(t, "sriov-agent"))
	}
	m.Lap(t, "the pool has cards")
	m.Until(t, "Neutron's agent of network cards", "", func() error {
		page, err := agents.List(m.Neutron.ServiceClient, agents.ListOpts{AgentType: "NIC Switch agent"}).AllPages(context.Background())
		if err != nil {
			return err
		}
		all, err := agents.ExtractAgents(page)
		if err != nil {
			return err
		}
		if len(all) != 1 || !all[0].Alive || all[0].Host != "node-0" {
			return fmt.Errorf("the agents are %+v", all)
		}
		if diff := cmp.Diff(map[string]any{"physnet1": []any{"sriov0"}}, all[0].Configurations["device_mappings"]); diff != "" {
			return fmt.Errorf("its cards (-want +got):\n%s", diff)
		}
		return nil
	})
	m.Lap(t, "Neutron knows them")
	if got := m.bound(t, network.ID); got != "hw_veb" {
		t.Errorf("a port of a card is %s, want hw_veb\n%s", got, m.Logs(t, "sriov-agent"))
	}
	m.WaitForHypervisor(t) // Nova continues with the new settings of cards.
	if err := m.Cloud.ChangePool(pool); err != nil {
		t.Fatal(err)
	}
	m.Until(t, "the end of the agent", "", func() error {
		key := client.ObjectKey{Namespace: m.Cloud.Pool().Namespace, Name: "sriov-agent"}
		err := m.Cloud.Cluster.Client.Get(context.Background(), key, &appsv1.DaemonSet{})
		if err == nil {
			return errors.New("it is still there")
		}
		return client.IgnoreNotFound(err)
	})
	m.WaitForHypervisor(t)
}

// bound returns the type with which Neutron binds a port of a virtual function on the node; the port is deleted again.
func (m *Machines) bound(t *testing.T, network string) (vif string) {
	t.Helper()
	ctx, stop := stopwatch.WithTimeout(context.Background(), time.Minute)
	defer stop()
	created := struct {
		ports.Port
		portsbinding.PortsBindingExt
	}{}
	err := ports.Create(ctx, m.Neutron.ServiceClient, portsbinding.CreateOptsExt{
		CreateOptsBuilder: ports.CreateOpts{NetworkID: network, Name: "card"}, HostID: "node-0", VNICType: "direct",
	}).ExtractInto(&created)
	if err != nil {
		t.Fatal(err)
	}
	if err := ports.Delete(ctx, m.Neutron.ServiceClient, created.ID).ExtractErr(); err != nil && !gophercloud.ResponseCodeIs(err, 404) {
		t.Fatal(err)
	}
	return created.VIFType
}

//go:build openstack && linux

package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/hypervisors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/services"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/agents"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// providers returns the resource providers of nodes, which have the host names of libvirt and not of Kubernetes.
func (m *machines) providers(t *testing.T) map[string]string {
	t.Helper()
	page, err := hypervisors.List(m.ServiceClient, hypervisors.ListOpts{}).AllPages(context.Background())
	all, e := hypervisors.ExtractHypervisors(page)
	if err := errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, h := range all {
		out[h.ID] = h.Service.Host
	}
	return out
}

// records returns the records of each node, in text form. Resource providers belong to the nodes that had them.
func (m *machines) records(t *testing.T, had map[string]string) map[string][]string {
	t.Helper()
	ctx, out := context.Background(), map[string][]string{}
	add := func(node, record string) { out[node] = append(out[node], record) }
	page, err := services.List(m.ServiceClient, services.ListOpts{Binary: "nova-compute"}).AllPages(ctx)
	all, e := services.ExtractServices(page)
	if err := errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		add(s.Host, "service")
	}
	page, err = agents.List(m.neutron.ServiceClient, agents.ListOpts{}).AllPages(ctx)
	known, e := agents.ExtractAgents(page)
	if err := errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	for _, a := range known {
		add(a.Host, "agent "+a.AgentType)
	}
	page, err = resourceproviders.List(inventoryOf(t, m.cloud), resourceproviders.ListOpts{}).AllPages(ctx)
	providers, e := resourceproviders.ExtractResourceProviders(page)
	if err := errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	for _, p := range providers {
		add(cmp.Or(had[p.UUID], p.Name), "resource provider")
	}
	for _, table := range []string{"Chassis", "Chassis_Private"} {
		for _, name := range m.neutron.ovn(t, "southbound", table, "name") {
			add(name, table)
		}
	}
	for _, of := range out {
		slices.Sort(of)
	}
	return out
}

// check returns the companion's report about the pool's nodes, and the nodes that it remembers.
func (m *machines) check(t *testing.T) (report string, remembers []string) {
	t.Helper()
	c := &openstackv1.ServiceCheck{}
	key := client.ObjectKey{Namespace: m.cloud.Namespace, Name: m.cloud.Pool().Namespace}
	if err := m.cloud.Cluster.Client.Get(context.Background(), key, c); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Status.Nodes {
		remembers = append(remembers, n.Name)
	}
	if is := meta.FindStatusCondition(c.Status.Conditions, "Cleared"); is != nil {
		report = is.Reason
	}
	return report, remembers
}

// testNodeRemoved checks that a node without power, which may return, keeps its records, however long it is down. When
// it is removed from the cluster, all its records are removed, and none of the other one's, whose server is pinged all
// the time.
func testNodeRemoved(t *testing.T, m *machines, g guest) {
	const node, other = "node-1", "node-0"
	if m.place(t, g).Host != other {
		m.moves(t, g, other)
		if got := m.moved(t, g); got.Status != "completed" {
			t.Fatalf("%+v\n%s", got, m.logs(t, "nova-compute"))
		}
	}
	had := m.providers(t)
	before, began := m.records(t, had), m.seconds(t, g)
	for _, of := range []string{node, other} {
		if len(before[of]) < 5 { // a service, two agents or one, a provider, and both rows
			t.Fatalf("of %s there is %v", of, before[of])
		}
	}
	came := pinged(t, g.address, func() {
		if err := m.cloud.Cluster.PowerOff(node); err != nil {
			t.Fatal(err)
		}
		m.until(t, "Nova's and Neutron's word that it is down", g.server.ID, func() error {
			if s, alive := m.service(t, node), m.alive(t, node); s.State != "down" || len(alive) > 0 {
				return fmt.Errorf("it is %s, %v are alive", s.State, alive)
			}
			return nil
		})
		m.until(t, "the companion's look at it", g.server.ID, func() error {
			if report, remembers := m.check(t); report != "PodsMissing" && report != "NothingLeft" || !slices.Equal(remembers, []string{other, node}) {
				return fmt.Errorf("it reports %s, and remembers %v", report, remembers)
			}
			return nil
		})
		time.Sleep(75 * time.Second) // It checks once more.
		if got := m.records(t, had); !slices.Equal(got[node], before[node]) {
			t.Fatalf("of a node that may come back there is %v, and was %v", got[node], before[node])
		}
		removed := time.Now()
		m.cloud.Cluster.Retire(node)
		m.until(t, "that nothing is left of it", g.server.ID, func() error {
			report, remembers := m.check(t)
			if got := m.records(t, had); len(got[node]) > 0 || report != "NothingLeft" || !slices.Equal(remembers, []string{other}) {
				return fmt.Errorf("records are %v; the companion reports %s, and remembers %v", got, report, remembers)
			}
			return nil
		})
		m.lap(t, fmt.Sprintf("nothing is left of %s %.0f s after it has left", node, time.Since(removed).Seconds()))
	})
	m.lap(t, "the virtual machine of the other node meanwhile: "+came.String())
	if came.Lost > 0 {
		t.Errorf("%s: nothing of another node concerns it", came)
	}
	got := m.records(t, had)
	if !slices.Equal(got[other], before[other]) || len(got) != len(before)-1 {
		t.Errorf("there is %v, and was %v", got, before)
	}
	m.goesOn(t, g, began, other)
}

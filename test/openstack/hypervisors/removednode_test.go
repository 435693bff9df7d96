//go:build openstack && linux

package hypervisors

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
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/placement"
)

// providers returns the resource providers of nodes, which have the host names of libvirt and not of Kubernetes.
func (m *Machines) providers(t *testing.T) map[string]string {
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
func (m *Machines) records(t *testing.T, had map[string]string) map[string][]string {
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
	page, err = agents.List(m.Neutron.ServiceClient, agents.ListOpts{}).AllPages(ctx)
	known, e := agents.ExtractAgents(page)
	if err := errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	for _, a := range known {
		add(a.Host, "agent "+a.AgentType)
	}
	page, err = resourceproviders.List(placement.Of(t, m.Cloud), resourceproviders.ListOpts{}).AllPages(ctx)
	providers, e := resourceproviders.ExtractResourceProviders(page)
	if err := errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	for _, p := range providers {
		add(cmp.Or(had[p.UUID], p.Name), "resource provider")
	}
	for _, table := range []string{"Chassis", "Chassis_Private"} {
		for _, name := range m.Neutron.Ovn(t, "southbound", table, "name") {
			add(name, table)
		}
	}
	for _, of := range out {
		slices.Sort(of)
	}
	return out
}

// check returns the companion's report about the pool's nodes, and the nodes that it remembers.
func (m *Machines) check(t *testing.T) (report string, remembers []string) {
	t.Helper()
	c := &openstackv1.ServiceCheck{}
	key := client.ObjectKey{Namespace: m.Cloud.Namespace, Name: m.Cloud.Pool().Namespace}
	if err := m.Cloud.Cluster.Client.Get(context.Background(), key, c); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Status.Nodes {
		remembers = append(remembers, n.Name)
	}
	if is := meta.FindStatusCondition(c.Status.Conditions, "RemovedNodesCleanedUp"); is != nil {
		report = is.Reason
	}
	return report, remembers
}

// testNodeRemoved checks that a node without power, which may return, keeps its records, however long it is down. When
// it is removed from the cluster, all its records are removed, and none of the other one's, whose server is pinged all
// the time.
func testNodeRemoved(t *testing.T, m *Machines, g Guest) {
	const node, other = "node-1", "node-0"
	if m.Place(t, g).Host != other {
		m.Migrate(t, g, other)
		if got := m.WaitForMigration(t, g); got.Status != "completed" {
			t.Fatalf("%+v\n%s", got, m.Logs(t, "nova-compute"))
		}
	}
	had := m.providers(t)
	before, began := m.records(t, had), m.Seconds(t, g)
	for _, of := range []string{node, other} {
		if len(before[of]) < 5 { // a service, two agents or one, a provider, and both rows
			t.Fatalf("of %s there is %v", of, before[of])
		}
	}
	came := harness.Ping(t, g.Address, func() {
		if err := m.Cloud.Cluster.PowerOff(node); err != nil {
			t.Fatal(err)
		}
		m.Until(t, "Nova's and Neutron's word that it is down", g.Server.ID, func() error {
			if s, alive := m.service(t, node), m.alive(t, node); s.State != "down" || len(alive) > 0 {
				return fmt.Errorf("it is %s, %v are alive", s.State, alive)
			}
			return nil
		})
		m.Until(t, "the companion's look at it", g.Server.ID, func() error {
			if report, remembers := m.check(t); report != "PodsMissing" && report != "NoRecordsLeft" || !slices.Equal(remembers, []string{other, node}) {
				return fmt.Errorf("it reports %s, and remembers %v", report, remembers)
			}
			return nil
		})
		time.Sleep(75 * time.Second) // It checks once more.
		if got := m.records(t, had); !slices.Equal(got[node], before[node]) {
			t.Fatalf("of a node that may come back there is %v, and was %v", got[node], before[node])
		}
		removed := time.Now()
		m.Cloud.Cluster.Retire(node)
		m.Until(t, "that nothing is left of it", g.Server.ID, func() error {
			report, remembers := m.check(t)
			if got := m.records(t, had); len(got[node]) > 0 || report != "NoRecordsLeft" || !slices.Equal(remembers, []string{other}) {
				return fmt.Errorf("records are %v; the companion reports %s, and remembers %v", got, report, remembers)
			}
			return nil
		})
		m.Lap(t, fmt.Sprintf("nothing is left of %s %.0f s after it has left", node, time.Since(removed).Seconds()))
	})
	m.Lap(t, "the virtual machine of the other node meanwhile: "+came.String())
	if came.Lost > 0 {
		t.Errorf("%s: nothing of another node concerns it", came)
	}
	got := m.records(t, had)
	if !slices.Equal(got[other], before[other]) || len(got) != len(before)-1 {
		t.Errorf("there is %v, and was %v", got, before)
	}
	m.CheckRunning(t, g, began, other)
}

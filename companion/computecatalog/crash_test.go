package computecatalog

import (
	"flag"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// stride selects runs, to limit the duration of make test; make test-long has more runs, and 1 all of them. Writes are the
// most important ones.
var stride = flag.Int("crash.every", effort.Of(37, 11), "make every n-th run of TestRecoversFromFaultAtAnyCall")

// life creates flavors and aggregates, changes them, recreates removed ones, and deletes them, next to objects of others.
func life(t *testing.T, at faultinjection.Point) (*cluster, *faultinjection.API) {
	t.Helper()
	c := newCluster(t, nil, nil)
	c.nova.SetFlavors(foreignFlavor)
	c.nova.SetAggregates(foreignAggregate)
	a := faultinjection.New(c.api, at)
	// Every created object is recorded, so that it will be removed.
	a.Written = func() {
		recorded := map[string]bool{foreignFlavor.Name: true}
		for _, r := range c.catalog().Status.Flavors {
			recorded[r.Name] = r.Made
		}
		for _, f := range c.nova.Flavors() {
			if !recorded[f.Name] {
				t.Errorf("flavor %s exists without a record", f.Name)
			}
		}
		hosts := map[string]bool{"foreign west-1": true}
		for _, r := range c.catalog().Status.Aggregates {
			for _, host := range r.Hosts {
				hosts[r.Name+" "+host] = true
			}
		}
		for _, g := range c.nova.Aggregates() {
			for _, host := range g.Hosts {
				if !hosts[g.Name+" "+host] {
					t.Errorf("aggregate %s has host %s, and no record of it", g.Name, host)
				}
			}
		}
	}
	a.OnConcurrentWrite = func() { c.run(c.sound()) }
	c.onPassEnd = a.ReconcileDone
	r := c.reconciler(a.Client(), a.HTTP(c.nova))
	for _, step := range []struct {
		do         func(*openstackv1.ComputeCatalogSpec)
		flavors    []common.Flavor
		aggregates []common.HostAggregate
	}{
		{
			do: func(s *openstackv1.ComputeCatalogSpec) {
				s.Flavors = []common.Flavor{size("small", func(f *common.Flavor) { f.ExtraSpecs = specs{"k": "1"} })}
				s.Aggregates = []common.HostAggregate{zone("a", "az-a", "east-1"), zone("b", "az-b"), {Name: "foreign", Hosts: []string{"east-2"}}}
			},
			flavors: []common.Flavor{size("small", func(f *common.Flavor) { f.ExtraSpecs = specs{"k": "1"} })},
			aggregates: []common.HostAggregate{
				zone("a", "az-a", "east-1"), zone("b", "az-b"), {Name: "foreign", Hosts: []string{"east-2", "west-1"}, Metadata: specs{"theirs": "1"}},
			},
		},
		{
			do: func(s *openstackv1.ComputeCatalogSpec) {
				s.Flavors = []common.Flavor{size("small", func(f *common.Flavor) { f.ExtraSpecs = specs{"l": "2"} })}
				s.Aggregates = []common.HostAggregate{zone("a", "az-a"), zone("b", "az-b", "east-1")}
			},
			flavors:    []common.Flavor{size("small", func(f *common.Flavor) { f.ExtraSpecs = specs{"l": "2"} })},
			aggregates: []common.HostAggregate{zone("a", "az-a"), zone("b", "az-b", "east-1"), foreignAggregate.HostAggregate},
		},
		{
			do: func(*openstackv1.ComputeCatalogSpec) {
				c.nova.SetFlavors(foreignFlavor)
				c.nova.SetAggregates(foreignAggregate)
			},
			flavors:    []common.Flavor{size("small", func(f *common.Flavor) { f.ExtraSpecs = specs{"l": "2"} })},
			aggregates: []common.HostAggregate{zone("a", "az-a"), zone("b", "az-b", "east-1"), foreignAggregate.HostAggregate},
		},
		{
			do:         func(s *openstackv1.ComputeCatalogSpec) { s.Flavors, s.Aggregates = nil, nil },
			aggregates: []common.HostAggregate{foreignAggregate.HostAggregate},
		},
	} {
		c.edit(step.do)
		c.run(r)
		c.run(c.sound()) // Changes missed by a pass with stale reads are detected in the next one.
		flavors, aggregates := map[string]common.Flavor{foreignFlavor.Name: foreignFlavor}, map[string]common.HostAggregate{}
		for _, f := range step.flavors {
			flavors[f.Name] = f
		}
		for _, g := range step.aggregates {
			aggregates[g.Name] = g
		}
		ids := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".ID" }, cmp.Ignore())
		if diff := cmp.Diff(flavors, c.flavors(), cmpopts.EquateEmpty(), ids); diff != "" {
			t.Errorf("flavors (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(aggregates, c.aggregates(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("aggregates (-want +got):\n%s", diff)
		}
		if got := c.state(); got != upToDate {
			t.Error(got)
		}
	}
	return c, a
}

// TestRecoversFromFaultAtAnyCall repeats the life for each call to Kubernetes, Keystone and Nova and each fault.
func TestRecoversFromFaultAtAnyCall(t *testing.T) {
	_, full := life(t, faultinjection.NoFault)
	all := full.Points()
	points := faultinjection.Sample(all, *stride, func(p faultinjection.Point) bool { return full.Writes[p.Call] != "" })
	faultinjection.Run(t, points, func(t *testing.T, p faultinjection.Point) {
		c, _ := life(t, p)
		if s := c.catalog().Status; len(s.Flavors)+len(s.Aggregates) > 0 {
			t.Errorf("records are left: %+v", s)
		}
	})
	t.Logf("%d calls, %d of them writes; %d of %d runs", full.Calls, len(full.Writes), len(points), len(all))
}

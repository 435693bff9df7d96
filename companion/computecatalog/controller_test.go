package computecatalog

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

const (
	upToDate      = "True UpToDate: flavors and aggregates match the spec"
	existsMessage = ", which is immutable in Nova; use another name, or delete the existing flavor"
)

// zone returns an aggregate that is an availability zone.
func zone(name, zone string, hosts ...string) common.HostAggregate {
	return common.HostAggregate{Name: name, AvailabilityZone: zone, Hosts: hosts}
}

// foreign are objects of other users.
var (
	foreignFlavor    = common.Flavor{Name: "foreign", ID: "f", VCPUs: 8, MemoryMiB: 8192, ExtraSpecs: specs{"theirs": "1"}}
	foreignAggregate = compute.Aggregate{ID: 77, HostAggregate: common.HostAggregate{
		Name: "foreign", Hosts: []string{"west-1"}, Metadata: specs{"theirs": "1"},
	}}
)

// TestReconcilesFlavorsAndAggregates: Nova has the expected flavors and aggregates after a sequence of specs.
func TestReconcilesFlavorsAndAggregates(t *testing.T) {
	type (
		spec       = openstackv1.ComputeCatalogSpec
		flavors    = []common.Flavor
		aggregates = []common.HostAggregate
	)
	private := func(projects ...string) func(*common.Flavor) {
		return func(f *common.Flavor) { f.Private, f.Projects = true, projects }
	}
	for name, tc := range map[string]struct {
		reason     string
		prepare    func(*cluster)
		orders     []spec
		flavors    []common.Flavor
		aggregates []common.HostAggregate
		state      string
	}{
		"Nothing": {reason: "The spec may be empty.", orders: []spec{{}}, state: upToDate},
		"Flavors": {
			reason: "They are created with all fields.",
			orders: []spec{{Flavors: flavors{
				size("small", nil),
				{
					Name: "large", ID: "42", Description: "For databases", VCPUs: 16, MemoryMiB: 65536, DiskGiB: 40, EphemeralGiB: 100, SwapMiB: 1024,
					Private: true, Projects: []string{"p1", "p2"}, ExtraSpecs: specs{"hw:cpu_policy": "dedicated"},
				},
			}}},
			flavors: flavors{
				{
					Name: "large", ID: "42", Description: "For databases", VCPUs: 16, MemoryMiB: 65536, DiskGiB: 40, EphemeralGiB: 100, SwapMiB: 1024,
					Private: true, Projects: []string{"p1", "p2"}, ExtraSpecs: specs{"hw:cpu_policy": "dedicated"},
				},
				{Name: "small", ID: "id-1", VCPUs: 1, MemoryMiB: 512},
			},
			state: upToDate,
		},
		"FlavorChanged": {
			reason: "Mutable fields are changed, and additions of others are retained.",
			orders: []spec{
				{Flavors: flavors{size("small", func(f *common.Flavor) {
					f.Description, f.ExtraSpecs = "before", specs{"changed": "1", "removed": "1"}
				}), size("own", private("p1", "p2"))}},
				{Flavors: flavors{size("small", func(f *common.Flavor) { f.ExtraSpecs = specs{"changed": "2", "added": "1"} }), size("own",
					private("p2", "p3"))}},
			},
			flavors: flavors{
				{Name: "own", ID: "id-2", VCPUs: 1, MemoryMiB: 512, Private: true, Projects: []string{"p2", "p3"}},
				{Name: "small", ID: "id-1", VCPUs: 1, MemoryMiB: 512, ExtraSpecs: specs{"changed": "2", "added": "1"}},
			},
			state: upToDate,
		},
		"FlavorRemoved": {
			reason: "Created objects are deleted. Existing ones lose only the additions.",
			prepare: func(c *cluster) {
				c.nova.SetFlavors(foreignFlavor, common.Flavor{Name: "kept", ID: "k", VCPUs: 1, MemoryMiB: 512, ExtraSpecs: specs{"theirs": "1"}})
			},
			orders: []spec{
				{Flavors: flavors{size("small", nil), size("kept", func(f *common.Flavor) { f.ExtraSpecs = specs{"theirs": "1", "ours": "1"} })}}, {},
			},
			flavors: flavors{foreignFlavor, {Name: "kept", ID: "k", VCPUs: 1, MemoryMiB: 512, ExtraSpecs: specs{"theirs": "1"}}},
			state:   upToDate,
		},
		"AnotherSize": {
			reason: "It is immutable, and flavors of others are not deleted. The others are created.",
			prepare: func(c *cluster) {
				c.nova.SetFlavors(common.Flavor{Name: "small", ID: "s", VCPUs: 2, MemoryMiB: 512, DiskGiB: 1})
			},
			orders: []spec{{Flavors: flavors{size("small", nil), size("smaller", nil)}}},
			flavors: flavors{{Name: "small", ID: "s", VCPUs: 2, MemoryMiB: 512, DiskGiB: 1}, {Name: "smaller", ID: "id-1", VCPUs: 1,
				MemoryMiB: 512}},
			state: "False Conflict: flavor small exists with vcpus 2 rather than 1, diskGiB 1 rather than 0" + existsMessage,
		},
		"AnotherAccess": {
			reason:  "This is immutable, too.",
			prepare: func(c *cluster) { c.nova.SetFlavors(common.Flavor{Name: "small", ID: "s", VCPUs: 1, MemoryMiB: 512}) },
			orders:  []spec{{Flavors: flavors{size("small", func(f *common.Flavor) { f.ID = "t"; f.Private = true })}}},
			flavors: flavors{{Name: "small", ID: "s", VCPUs: 1, MemoryMiB: 512}},
			state:   "False Conflict: flavor small exists with id s rather than t, private false rather than true" + existsMessage,
		},
		"Aggregates": {
			reason: "They are created with all fields.",
			orders: []spec{{Aggregates: aggregates{
				zone("east", "az-east", "east-1", "east-2"), {Name: "ssd", Hosts: []string{"east-1"}, Metadata: specs{"ssd": "true"}},
			}}},
			aggregates: aggregates{
				zone("east", "az-east", "east-1", "east-2"), {Name: "ssd", Hosts: []string{"east-1"}, Metadata: specs{"ssd": "true"}},
			},
			state: upToDate,
		},
		"HostMissing": {
			reason:     "It is awaited and delays nothing else.",
			orders:     []spec{{Aggregates: aggregates{zone("east", "az-east", "east-1", "east-3")}}},
			aggregates: aggregates{zone("east", "az-east", "east-1")},
			state:      "True HostsMissing: flavors and aggregates match the spec, except for hosts that have not registered yet: east-3",
		},
		"HostMoved": {
			reason: "It is removed from one zone before it is added to another.",
			orders: []spec{
				{Aggregates: aggregates{zone("a", "az-a"), zone("b", "az-b", "east-1")}}, {Aggregates: aggregates{zone("a", "az-a", "east-1"),
					zone("b", "az-b")}},
			},
			aggregates: aggregates{zone("a", "az-a", "east-1"), zone("b", "az-b")},
			state:      upToDate,
		},
		"HostPinned": {
			reason: "Its servers were created in that zone.",
			orders: []spec{
				{Aggregates: aggregates{zone("a", "az-a"), zone("b", "az-b", "east-1")}},
				{Aggregates: aggregates{zone("a", "az-a", "east-1", "east-2"), zone("b", "az-b")}},
			},
			prepare:    func(c *cluster) { c.nova.Pin("east-1") },
			aggregates: aggregates{zone("a", "az-a", "east-2"), zone("b", "az-b", "east-1")},
			state: "False RejectedByNova: cannot remove host east-1 from aggregate b: Nova returned HTTP 409: Cannot remove host from aggregate: " +
				"instances need to move.; " +
				"cannot add host east-1 to aggregate a: Nova returned HTTP 409: One or more hosts already in availability zone(s) [az-b].",
		},
		"AggregateChanged": {
			reason: "Zone, metadata and hosts are changed; additions of others are retained.",
			prepare: func(c *cluster) {
				c.nova.SetAggregates(compute.Aggregate{ID: 5, HostAggregate: common.HostAggregate{
					Name: "east", Hosts: []string{"west-1"}, Metadata: specs{"theirs": "1"},
				}})
			},
			orders: []spec{
				{Aggregates: aggregates{{Name: "east", Hosts: []string{"east-1", "west-1"}, Metadata: specs{"removed": "1"}}}},
				{Aggregates: aggregates{{Name: "east", AvailabilityZone: "az", Hosts: []string{"east-2"}, Metadata: specs{"added": "1"}}}},
			},
			aggregates: aggregates{{
				Name: "east", AvailabilityZone: "az", Hosts: []string{"east-2", "west-1"}, Metadata: specs{"theirs": "1", "added": "1"},
			}},
			state: upToDate,
		},
		"AggregateRemoved": {
			reason:  "Created aggregates are deleted with their hosts. Existing ones lose only the additions.",
			prepare: func(c *cluster) { c.nova.SetAggregates(foreignAggregate) },
			orders: []spec{
				{Aggregates: aggregates{zone("east", "az-east", "east-1"), {Name: "foreign", Hosts: []string{"east-2"},
					Metadata: specs{"ours": "1"}}}}, {},
			},
			aggregates: aggregates{foreignAggregate.HostAggregate},
			state:      upToDate,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, nil, nil)
			if tc.prepare != nil {
				tc.prepare(c)
			}
			for _, order := range tc.orders {
				c.edit(func(s *openstackv1.ComputeCatalogSpec) { s.Flavors, s.Aggregates = order.Flavors, order.Aggregates })
				c.run(c.sound())
			}
			flavors, aggregates := map[string]common.Flavor{}, map[string]common.HostAggregate{}
			for _, f := range tc.flavors {
				flavors[f.Name] = f
			}
			for _, g := range tc.aggregates {
				aggregates[g.Name] = g
			}
			if diff := cmp.Diff(flavors, c.flavors(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s flavors (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(aggregates, c.aggregates(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s aggregates (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.state, c.state()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if last := c.catalog(); last.Status.ObservedGeneration != last.Generation {
				t.Errorf("generation %d of %d", last.Status.ObservedGeneration, last.Generation)
			}
		})
	}
}

// TestRestoresDeletedFlavorsAndAggregates: objects that are removed by others are created again, and objects that they create instead are
// left to them.
func TestRestoresDeletedFlavorsAndAggregates(t *testing.T) {
	c := newCluster(t, []common.Flavor{size("small", nil)}, []common.HostAggregate{zone("east", "az-east", "east-1")})
	c.run(c.sound())
	c.nova.SetFlavors()
	c.nova.SetAggregates()
	c.run(c.sound())
	if diff := cmp.Diff(map[string]common.HostAggregate{"east": zone("east", "az-east", "east-1")}, c.aggregates(),
		cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("aggregates (-want +got):\n%s", diff)
	}
	if _, ok := c.flavors()["small"]; !ok {
		t.Error("the flavor does not come back")
	}
	foreignObject := common.Flavor{Name: "small", ID: "theirs", VCPUs: 1, MemoryMiB: 512}
	c.nova.SetFlavors(foreignObject)
	c.nova.SetAggregates(compute.Aggregate{ID: 99, HostAggregate: zone("east", "az-east", "east-1")})
	c.run(c.sound())
	c.edit(func(s *openstackv1.ComputeCatalogSpec) { s.Flavors, s.Aggregates = nil, nil })
	c.run(c.sound())
	if diff := cmp.Diff(map[string]common.Flavor{"small": foreignObject}, c.flavors()); diff != "" {
		t.Errorf("flavors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]common.HostAggregate{"east": zone("east", "az-east", "east-1")}, c.aggregates()); diff != "" {
		t.Errorf("aggregates (-want +got):\n%s", diff)
	}
}

// TestRejectedObjectsAreNotRecordedAsCreated: objects whose creation Nova rejects are not recorded as created, so that an object that
// another user creates with the name is left to that user.
func TestRejectedObjectsAreNotRecordedAsCreated(t *testing.T) {
	managed := size("small", func(f *common.Flavor) { f.ExtraSpecs = specs{"k": "1"} })
	c := newCluster(t, []common.Flavor{managed}, []common.HostAggregate{zone("east", "az-east")})
	c.nova.FailCreates("Policy doesn't allow it.")
	for i := range 3 {
		c.run(c.sound())
		s := c.catalog().Status
		if diff := cmp.Diff([]openstackv1.FlavorRecord{{Name: "small"}}, s.Flavors); diff != "" {
			t.Errorf("run %d (-want +got):\n%s", i, diff)
		}
		if diff := cmp.Diff([]openstackv1.AggregateRecord{{Name: "east"}}, s.Aggregates); diff != "" {
			t.Errorf("run %d (-want +got):\n%s", i, diff)
		}
	}
	if got, want := c.state(), "False RejectedByNova: cannot create flavor small: Nova returned HTTP 403: Policy doesn't allow it.; "+
		"cannot create aggregate east: Nova returned HTTP 403: Policy doesn't allow it."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	foreignObject := common.Flavor{Name: "small", ID: "theirs", VCPUs: 1, MemoryMiB: 512}
	c.nova.SetFlavors(foreignObject)
	c.nova.SetAggregates(compute.Aggregate{ID: 99, HostAggregate: zone("east", "az-east")})
	c.run(c.sound())
	c.edit(func(s *openstackv1.ComputeCatalogSpec) { s.Flavors, s.Aggregates = nil, nil })
	c.run(c.sound())
	if diff := cmp.Diff(map[string]common.Flavor{"small": foreignObject}, c.flavors()); diff != "" {
		t.Errorf("flavors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]common.HostAggregate{"east": zone("east", "az-east")}, c.aggregates()); diff != "" {
		t.Errorf("aggregates (-want +got):\n%s", diff)
	}
}

// TestRecordsCreationWithoutResponse: a request without a response may have created the object, which is then recorded as created.
func TestRecordsCreationWithoutResponse(t *testing.T) {
	c := newCluster(t, []common.Flavor{size("small", nil)}, nil)
	missing := 0
	c.run(c.reconciler(c.api, roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := c.nova.RoundTrip(r)
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/flavors") && missing == 0 {
			missing++
			_ = response.Body.Close()
			return nil, errors.New("connection reset")
		}
		return response, err
	})))
	if r := c.catalog().Status.Flavors[0]; !r.Made || missing != 1 {
		t.Errorf("%+v, %d lost", r, missing)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRetainsAggregatesWithOtherHosts: an aggregate to which others have added hosts is not deleted when it is removed from the spec.
func TestRetainsAggregatesWithOtherHosts(t *testing.T) {
	c := newCluster(t, nil, []common.HostAggregate{zone("east", "az-east", "east-1")})
	c.run(c.sound())
	all := c.nova.Aggregates()
	all[0].Hosts = append(all[0].Hosts, "west-1")
	c.nova.SetAggregates(all...)
	c.edit(func(s *openstackv1.ComputeCatalogSpec) { s.Aggregates = nil })
	c.run(c.sound())
	if diff := cmp.Diff(map[string]common.HostAggregate{"east": zone("east", "az-east", "west-1")}, c.aggregates()); diff != "" {
		t.Errorf("aggregates (-want +got):\n%s", diff)
	}
	if s := c.catalog().Status; len(s.Aggregates) != 0 || c.state() != upToDate {
		t.Errorf("%+v", s)
	}
}

// TestReportsErrorsOfNova: an error of Nova is reported; a new hypervisor is added.
func TestReportsErrorsOfNova(t *testing.T) {
	c := newCluster(t, nil, []common.HostAggregate{zone("east", "az-east", "east-9")})
	c.nova.SetDown(true)
	c.run(c.sound())
	if got := c.state(); got != "False NovaUnavailable: cannot list flavors: Nova returned HTTP 503" {
		t.Error(got)
	}
	c.nova.SetDown(false)
	c.nova.FailRequests("Policy doesn't allow it.")
	c.run(c.sound())
	if got := c.state(); got != "False NovaUnavailable: cannot list flavors: Nova returned HTTP 403: Policy doesn't allow it." {
		t.Error(got)
	}
	c.nova.FailRequests("")
	c.run(c.sound())
	c.report("east-9")
	c.run(c.sound())
	if got := c.state(); got != upToDate || len(c.aggregates()["east"].Hosts) != 1 {
		t.Error(got, c.aggregates())
	}
}

// TestRepeatedRejectionEmitsOneEvent: a repeated rejection emits one event.
func TestRepeatedRejectionEmitsOneEvent(t *testing.T) {
	c := newCluster(t, nil, []common.HostAggregate{zone("b", "az-b", "east-1")})
	c.nova.SetAggregates(compute.Aggregate{ID: 7, HostAggregate: zone("a", "az-a", "east-1")})
	for range 3 {
		c.run(c.sound())
	}
	reported := 0
	for _, e := range controllertest.Events(c.events) {
		if strings.HasPrefix(e, "Warning "+reasonRejected) {
			reported++
		}
	}
	if reported != 1 {
		t.Errorf("%d warnings: %s", reported, c.state())
	}
}

// TestMovesHostsBetweenZonesInOrder: a host is removed from one zone before it is added to another, and from other aggregates after that:
// it is never without the aggregate that restricts its use.
func TestMovesHostsBetweenZonesInOrder(t *testing.T) {
	for _, tc := range []struct{ a, b, want string }{
		{"az-a", "az-b", "removed host east-1 from aggregate a, added host east-1 to aggregate b"},
		{"", "", "added host east-1 to aggregate b, removed host east-1 from aggregate a"},
	} {
		c := newCluster(t, nil, []common.HostAggregate{zone("a", tc.a, "east-1"), zone("b", tc.b)})
		c.run(c.sound())
		c.edit(func(s *openstackv1.ComputeCatalogSpec) {
			s.Aggregates = []common.HostAggregate{zone("a", tc.a), zone("b", tc.b, "east-1")}
		})
		c.run(c.sound())
		if got := strings.Join(controllertest.Events(c.events), "\n"); !strings.HasSuffix(got, "Normal Changed "+tc.want) {
			t.Errorf("%s, want %s last", got, tc.want)
		}
	}
}

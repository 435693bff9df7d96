package servicecheck

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute/computetest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

// evicting returns a check of nodes that are drained when they are cordoned; node-1 has the given servers.
func evicting(t *testing.T, servers ...compute.Server) *cluster {
	t.Helper()
	c := hypervisors(t)
	c.edit(name, func(s *openstackv1.ServiceCheckSpec) { s.Nodes[0].EvictOnCordon = true })
	for _, node := range []string{"node-1", "node-2", "theirs"} {
		if err := c.api.Create(context.Background(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}); err != nil {
			t.Fatal(err)
		}
	}
	all := c.nova.Hypervisors()
	all[0].Servers = servers
	c.nova.SetHypervisors(all...)
	return c
}

func runs(id string) compute.Server {
	return compute.Server{ID: id, Name: "name of " + id, Status: "ACTIVE"}
}

func (c *cluster) cordon(node string, is bool) {
	c.t.Helper()
	n := &corev1.Node{}
	if err := c.api.Get(context.Background(), keyOf(node), n); err != nil {
		c.t.Fatal(err)
	}
	n.Spec.Unschedulable = is
	if err := c.api.Update(context.Background(), n); err != nil {
		c.t.Fatal(err)
	}
}

// evicts runs passes of half a minute, finishes migrations after each, and returns the condition.
func (c *cluster) evicts(r *Reconciler, to string, passes int) string {
	c.t.Helper()
	for range passes {
		_, _ = c.pass(r)
		c.nova.End(to, c.clock.Now().UTC().Format("2006-01-02T15:04:05.000000"))
		c.clock.SetTime(c.clock.Now().Add(time.Minute))
	}
	got := meta.FindStatusCondition(c.check().Status.Conditions, conditionCordonedNodesEvacuated)
	if got == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", got.Status, got.Reason, got.Message)
}

// service returns the record of a host in Nova.
func (c *cluster) service(host string) compute.Service {
	for _, s := range c.nova.Services() {
		if s.Host == host {
			return s
		}
	}
	return compute.Service{}
}

const noNodesCordoned = "True NoNodesCordoned: no node is cordoned"

// TestEviction: the state of a cordoned node and of its servers after some passes.
func TestEviction(t *testing.T) {
	off := compute.Server{ID: "off", Name: "db", Status: "SHUTOFF"}
	for name, tc := range map[string]struct {
		reason      string
		servers     []compute.Server
		then        func(*cluster)
		to          string
		passes      int
		moves       string
		wantMessage string
		// disabled is the prefix of the reason in Nova, if the service is disabled.
		disabled string
	}{
		"Nothing": {"No node is cordoned.", []compute.Server{runs("a")}, func(*cluster) {}, "node-2", 3, "", noNodesCordoned, ""},
		"Cordoned": {
			"All servers are migrated, one after the other.", []compute.Server{runs("a"), runs("b")}, func(c *cluster) { c.cordon("node-1", true) },
			"node-2", 4, "a b", "True NodesEmpty: no servers are on node-1", disabledReasonPrefix,
		},
		"First": {
			"It is disabled before the first migration, so that no servers are added.", []compute.Server{runs("a")}, func(c *cluster) {
				c.cordon("node-1",
					true)
			},
			"node-2", 1, "", "False Evicting: node-1 has 1 servers", disabledReasonPrefix,
		},
		"Back": {
			"A host that this controller disabled is enabled again.", []compute.Server{runs("a")}, func(c *cluster) {
				c.cordon("node-1", true)
				c.evicts(c.reconciler(c.api, c.nova), "node-2", 3)
				c.cordon("node-1", false)
			}, "", 2, "a", noNodesCordoned, "",
		},
		"Theirs": {
			"Another user disabled it, possibly because of its servers.", []compute.Server{runs("a")}, func(c *cluster) {
				c.disable("node-1", "broken fan")
				c.cordon("node-1", true)
			}, "node-2", 3, "", "False Stuck: node-1 has 1 servers and was disabled by another user (\"broken fan\"): migrate them manually, or " +
				"enable the host to have them migrated", "broken fan",
		},
		"Ordered": {
			"A NodeMaintenance moves its servers.", []compute.Server{runs("a")}, func(c *cluster) {
				c.disable("node-1", compute.MaintenanceReason+"fan")
				c.cordon("node-1", true)
			}, "node-2", 3, "", "False Evicting: node-1 has 1 servers, and NodeMaintenance fan maintains it", compute.MaintenanceReason + "fan",
		},
		"OrderedEmpty": {
			"A NodeMaintenance has moved its servers.", nil, func(c *cluster) {
				c.disable("node-1", compute.MaintenanceReason+"fan")
				c.cordon("node-1", true)
			}, "node-2", 3, "", "True NodesEmpty: no servers are on node-1", compute.MaintenanceReason + "fan",
		},
		"TheirsBack": {
			"It was disabled by another user and stays disabled.", nil, func(c *cluster) { c.disable("node-1", "broken fan") }, "", 2, "",
			noNodesCordoned, "broken fan",
		},
		"Stopped": {
			"Running servers are migrated; stopped ones stay and are reported.", []compute.Server{off, runs("a")},
			func(c *cluster) { c.cordon("node-1", true) },
			"node-2", 5, "a", "False Stuck: node-1 has 1 servers that cannot be migrated: db (off): it is SHUTOFF, and only running servers " +
				"can be live-migrated: start it, migrate it manually, or delete it", disabledReasonPrefix,
		},
		"NoRoom": {
			"It is retried a few times.", []compute.Server{runs("a")}, func(c *cluster) { c.cordon("node-1", true) },
			"", 12, strings.TrimSpace(strings.Repeat("a ", attempts)), "False Stuck: node-1 has 1 servers that cannot be migrated: name of a (a): " +
				"3 migrations failed; see openstack server event list --long a", disabledReasonPrefix,
		},
		"Another": {
			"Earlier failures do not count.", []compute.Server{runs("a")}, func(c *cluster) {
				all := c.nova.Hypervisors()
				for range attempts {
					all[0].Migrations = append(all[0].Migrations, compute.Migration{Server: "a", Status: "error", Source: "node-1",
						Created: "2001-01-01T00:00:00.000000"})
				}
				c.nova.SetHypervisors(all...)
				c.cordon("node-1", true)
			}, "node-2", 4, "a", "True NodesEmpty: no servers are on node-1", disabledReasonPrefix,
		},
		"Silent": {
			"Servers cannot be migrated without nova-compute.", []compute.Server{runs("a")}, func(c *cluster) {
				c.stopReporting("node-1")
				c.cordon("node-1", true)
			}, "node-2", 3, "", "False Stuck: node-1 has 1 servers, and its nova-compute does not report: they cannot be migrated",
			disabledReasonPrefix,
		},
		"Incoming": {
			"A server is migrating to it.", nil, func(c *cluster) {
				c.cordon("node-1", true)
				c.migrates(compute.Migration{Server: "a", Status: "running", Source: "node-2"})
			}, "", 3, "", "False Evicting: node-1 may have servers: 1 servers are migrating to it", disabledReasonPrefix,
		},
		"Outgoing": {
			"A migration from it that is not recorded as finished leaves nothing on it.", nil, func(c *cluster) {
				c.cordon("node-1", true)
				c.migrates(compute.Migration{Server: "a", Status: "running", Source: "node-1"})
			}, "", 3, "", "True NodesEmpty: no servers are on node-1", disabledReasonPrefix,
		},
		"Scheduled": {
			"A server is being created on it, and nova-compute has no record of it yet.", nil, func(c *cluster) {
				c.cordon("node-1", true)
				all := c.nova.Hypervisors()
				all[0].Consumers = []string{"a"}
				c.nova.SetHypervisors(all...)
			}, "", 3, "", "False Evicting: node-1 may have servers: Placement has allocations of 1 servers on it, such as servers that are being " +
				"created or resized: see openstack resource provider show --allocations rp-of-node-1", disabledReasonPrefix,
		},
		"CellDown": {
			"Nova does not list its servers.", []compute.Server{runs("a")}, func(c *cluster) {
				c.nova.SetCellDown("node-1")
				c.cordon("node-1", true)
			}, "", 3, "", "False Evicting: node-1 may have servers: the database of the cell of node-1 does not respond: the " +
				"state of node-1 is unknown", "",
		},
		"OtherCellDown": {
			"Nova lists the servers and migrations of its cell.", []compute.Server{runs("a"), runs("b")}, func(c *cluster) {
				c.otherCellDown()
				c.cordon("node-1", true)
			}, "node-2", 5, "a b", "True NodesEmpty: no servers are on node-1", disabledReasonPrefix,
		},
		"OtherCellDownNoRoom": {
			"Failed migrations are listed, too.", []compute.Server{runs("a")}, func(c *cluster) {
				c.otherCellDown()
				c.cordon("node-1", true)
			}, "", 12, strings.TrimSpace(strings.Repeat("a ", attempts)), "False Stuck: node-1 has 1 servers that cannot be migrated: name of a " +
				"(a): 3 migrations failed; see openstack server event list --long a", disabledReasonPrefix,
		},
		"OtherCellDownIncoming": {
			"A server that migrates to it has allocations on it.", nil, func(c *cluster) {
				c.otherCellDown()
				c.cordon("node-1", true)
				all := c.nova.Hypervisors()
				all[0].Consumers = []string{"a"}
				all[0].Migrations = []compute.Migration{{Server: "a", Status: "running", Source: "node-2"}}
				c.nova.SetHypervisors(all...)
			}, "", 3, "", "False Evicting: node-1 may have servers: 1 servers are migrating to it", disabledReasonPrefix,
		},
		"OtherCellDownScheduled": {
			"A server is being created on it.", nil, func(c *cluster) {
				c.otherCellDown()
				c.cordon("node-1", true)
				all := c.nova.Hypervisors()
				all[0].Consumers = []string{"a"}
				c.nova.SetHypervisors(all...)
			}, "", 3, "", "False Evicting: node-1 may have servers: its hypervisor has 1 servers", disabledReasonPrefix,
		},
		"HypervisorMissing": {
			"Nova does not list it.", nil, func(c *cluster) {
				c.nova.SetHypervisors(c.nova.Hypervisors()[1:]...)
				c.cordon("node-1", true)
			}, "", 3, "", "False Evicting: node-1 may have servers: Nova lists no hypervisor for it", disabledReasonPrefix,
		},
		"NovaDown": {
			"The node was empty before.", nil, func(c *cluster) {
				c.cordon("node-1", true)
				c.evicts(c.reconciler(c.api, c.nova), "", 3)
				c.nova.SetDown(true)
			}, "", 1, "", "False ServiceUnavailable: cannot list compute services: Nova returned HTTP 503", disabledReasonPrefix,
		},
		"NotRegistered": {
			"It may register at any time.", nil, func(c *cluster) {
				c.nova.Set(c.nova.Services()[1:]...)
				c.cordon("node-1", true)
			}, "", 3, "", "False Evicting: node-1 may have servers: Nova has no record of its nova-compute", "",
		},
		"WithoutPod": {
			"Its servers run on without a pod.", []compute.Server{runs("a")}, func(c *cluster) {
				c.runPasses(c.reconciler(c.api, c.nova))
				c.pods(pool, 1, "node-2")
				c.cordon("node-1", true)
			}, "", 1, "", "False Evicting: node-1 has 1 servers", disabledReasonPrefix,
		},
		"NotAsked": {
			"The other pool's nodes are cordoned for other reasons.", []compute.Server{runs("a")}, func(c *cluster) { c.cordon("theirs", true) },
			"node-2", 3, "", noNodesCordoned, "",
		},
		"Off": {
			"The option was unset: a host that was disabled here is enabled again.", []compute.Server{runs("a")}, func(c *cluster) {
				c.cordon("node-1", true)
				c.evicts(c.reconciler(c.api, c.nova), "node-2", 3)
				c.edit("nova", func(s *openstackv1.ServiceCheckSpec) { s.Nodes[0].EvictOnCordon = false })
			}, "", 2, "a", "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := evicting(t, tc.servers...)
			tc.then(c)
			if got := c.evicts(c.reconciler(c.api, c.nova), tc.to, tc.passes); got != tc.wantMessage {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, got, tc.wantMessage)
			}
			if got := strings.Join(c.nova.LiveMigrations(), " "); got != tc.moves {
				t.Errorf("%s moved %q, want %q", tc.reason, got, tc.moves)
			}
			s := c.service("node-1")
			if s.Disabled != (tc.disabled != "") || s.Disabled && !strings.HasPrefix(s.Reason, tc.disabled) {
				t.Errorf("%s %+v", tc.reason, s)
			}
			for _, other := range []string{"node-2", "theirs"} {
				if c.service(other).Disabled {
					t.Errorf("%s %s is disabled", tc.reason, other)
				}
			}
		})
	}
}

// otherCellDown makes the database of the cell of another pool unavailable, after a pass that has recorded the resource providers.
func (c *cluster) otherCellDown() {
	c.runPasses(c.reconciler(c.api, c.nova))
	c.nova.SetCellDown("theirs")
}

// slowNova is Nova whose lists of servers and migrations wait for the database of a cell.
type slowNova struct {
	*computetest.Nova

	lists []string
	// counted is called after each read of the allocations on a node.
	counted func()
}

// RoundTrip serves a request.
func (s *slowNova) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/servers/detail") || strings.HasSuffix(r.URL.Path, "/os-migrations") {
		s.lists = append(s.lists, r.URL.Path)
	}
	out, err := s.Nova.RoundTrip(r)
	if strings.HasSuffix(r.URL.Path, "/allocations") {
		s.counted()
	}
	return out, err
}

// TestEviction_OtherCellDown verifies that Placement shows that a node is empty while Nova's lists wait for the database of another cell.
// A server that arrives after the servers of the node were counted has allocations on it.
func TestEviction_OtherCellDown(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		consumers []string
		want      string
	}{
		"empty": {"Nothing is on the node.", nil, "True NodesEmpty: no servers are on node-1"},
		"arrives": {
			"A server migrates to the node.", []string{"a"}, "False Evicting: node-1 may have servers: Placement has allocations of 1 servers on " +
				"it, such as servers that are being created or resized: see openstack resource provider show --allocations rp-of-node-1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := evicting(t)
			c.otherCellDown()
			c.cordon("node-1", true)
			slow := &slowNova{Nova: c.nova, counted: func() {}}
			r := c.reconciler(c.api, slow)
			c.evicts(r, "", 1)
			slow.counted = func() {
				all := c.nova.Hypervisors()
				all[0].Consumers = tc.consumers
				c.nova.SetHypervisors(all...)
			}
			if got := c.evicts(r, "", 1); got != tc.want {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, got, tc.want)
			}
			if len(slow.lists) > 0 {
				t.Errorf("%s Nova's lists were read: %v", tc.reason, slow.lists)
			}
		})
	}
}

// migrates replaces the migrations from and to node-1.
func (c *cluster) migrates(all ...compute.Migration) {
	nodes := c.nova.Hypervisors()
	nodes[0].Migrations = all
	c.nova.SetHypervisors(nodes...)
}

// lockedNova is Nova that rejects the deactivation of services.
type lockedNova struct{ *computetest.Nova }

// RoundTrip serves a request.
func (l lockedNova) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPut {
		return l.Nova.RoundTrip(r)
	}
	return identitytest.Answer(r, func(w http.ResponseWriter, _ *http.Request) {
		identitytest.Fail(w, http.StatusForbidden, "forbidden", "Policy doesn't allow it.")
	})
}

// TestEvictionWaitsForDisabledCompute: a node without servers is not empty while its nova-compute accepts new ones.
func TestEvictionWaitsForDisabledCompute(t *testing.T) {
	c := evicting(t)
	c.cordon("node-1", true)
	want := "False Evicting: node-1 may have servers: its nova-compute accepts new servers"
	if got := c.evicts(c.reconciler(c.api, lockedNova{c.nova}), "", 3); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOneByOne: servers are migrated one after the other.
func TestOneByOne(t *testing.T) {
	c := evicting(t, runs("a"), runs("b"))
	c.cordon("node-1", true)
	r := c.reconciler(c.api, c.nova)
	for range 5 {
		if _, err := c.pass(r); err != nil {
			t.Fatal(err)
		}
		c.clock.SetTime(c.clock.Now().Add(time.Minute))
	}
	if diff := cmp.Diff([]string{"a"}, c.nova.LiveMigrations()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want := "False Evicting: node-1 has 2 servers; migrating name of a"
	if got := c.evicts(r, "node-2", 0); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestEvictionRecoversFromAnyFault: after a fault at any call, and with another leader, the node has no servers in the end, each server was
// migrated once, and the node is enabled again when it is uncordoned.
func TestEvictionRecoversFromAnyFault(t *testing.T) {
	life := func(t *testing.T, at faultinjection.Point) *faultinjection.API {
		t.Helper()
		c := evicting(t, runs("a"), runs("b"))
		c.cordon("node-1", true)
		a := faultinjection.New(c.api, at)
		a.OnConcurrentWrite = func() { _, _ = c.pass(c.reconciler(c.api, c.nova)) }
		r := c.reconciler(a.Client(), a.HTTP(c.nova))
		pass := func(to string) {
			_, _ = c.pass(r)
			a.ReconcileDone()
			c.nova.End(to, c.clock.Now().UTC().Format("2006-01-02T15:04:05.000000"))
			c.clock.SetTime(c.clock.Now().Add(time.Minute))
		}
		for range 5 {
			pass("node-2")
		}
		if n := len(c.nova.Hypervisors()[0].Servers); n > 0 || len(c.nova.LiveMigrations()) != 2 || !c.service("node-1").Disabled {
			t.Errorf("%d are left, %v have moved", n, c.nova.LiveMigrations())
		}
		c.cordon("node-1", false)
		for range 3 { // One that fails, and one with stale reads.
			pass("")
		}
		if s := c.service("node-1"); s.Disabled {
			t.Errorf("%+v", s)
		}
		return a
	}
	completeState := life(t, faultinjection.NoFault)
	points := some(completeState, 13)
	faultinjection.Run(t, points, func(t *testing.T, p faultinjection.Point) { life(t, p) })
	t.Logf("%d calls, %d of them writes; %d of %d runs", completeState.Calls, len(completeState.Writes), len(points),
		len(completeState.Points()))
}

// some returns every n-th point, so that the test is fast enough, and all points with writes.
func some(completeState *faultinjection.API, n int) (out []faultinjection.Point) {
	for i, p := range completeState.Points() {
		if i%n == 0 || completeState.Writes[p.Call] != "" {
			out = append(out, p)
		}
	}
	return out
}

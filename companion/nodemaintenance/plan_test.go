package nodemaintenance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// summary lists the servers of the plan: ID, method, target, and "!" if it has a blocker.
func (c *cluster) summary() string {
	p := c.order(name).Status.Plan
	if p == nil {
		return ""
	}
	out := []string{fmt.Sprintf("%d/%d %ds", p.BlockedCount, p.ServerCount, p.EstimatedSeconds)}
	for _, s := range p.Servers {
		text := s.ID + ":" + string(s.Method) + s.Target
		if s.Blocker != "" {
			text += "!"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// TestPlan: the plan and the condition Unblocked, after one pass.
func TestPlan(t *testing.T) {
	grouped := func(s server, group string) server {
		return s.with(func(s *server) { s.Group = group })
	}
	const unblocked = "True NothingBlocks: no server blocks the maintenance"
	for name, tc := range map[string]struct {
		reason      string
		servers     []server
		then        func(*cluster)
		plan, state string
		unblocked   string
	}{
		"empty": {reason: "Nothing is on the node.", plan: "0/0 0s", state: "Planned", unblocked: unblocked},
		"order": {
			reason: "Small servers first, stopped ones last.",
			servers: []server{
				runs("a").wants("stop"), runs("b").with(func(s *server) { s.MemoryMiB = 8000 }), runs("c"), runs("d").in("SHUTOFF"),
			},
			plan: "0/4 180s c:Live b:Live d:Cold a:Stop", state: "Planned", unblocked: unblocked,
		},
		"largest": {
			reason:  "The operator selects the order, and servers that move at the same time take less time.",
			servers: []server{runs("b").with(func(s *server) { s.MemoryMiB = 8000 }), runs("c")},
			then: func(c *cluster) {
				c.edit(func(s *openstackv1.NodeMaintenanceSpec) { s.Order, s.ParallelServers = openstackv1.LargestFirst, 2 })
			},
			plan: "0/2 55s b:Live c:Live", state: "Planned", unblocked: unblocked,
		},
		"local disk": {
			reason:  "A disk that is not a volume is copied.",
			servers: []server{runs("a").with(func(s *server) { s.BootsFromVolume, s.SwapMiB = false, 1 })},
			plan:    "0/1 132s a:Live", state: "Planned", unblocked: unblocked,
		},
		"never": {
			reason:  "A server that must not move blocks with its name. It is the first in the list.",
			servers: []server{runs("a"), runs("b").wants(" Never ")},
			plan:    "1/2 20s b:Stay! a:Live", state: "Planned",
			unblocked: "False ServersBlocked: name of b (b): its metadata maintenance is never: its owner has to move or delete it",
		},
		"ignored": {
			reason:  "The operator decides that metadata has no effect.",
			servers: []server{runs("b").wants("never")},
			then: func(c *cluster) {
				c.edit(func(s *openstackv1.NodeMaintenanceSpec) { s.ServerMetadata = openstackv1.IgnoreMetadata })
			},
			plan: "0/1 20s b:Live", state: "Planned", unblocked: unblocked,
		},
		"affinity": {
			reason:  "Nova's scheduler keeps the members together.",
			servers: []server{grouped(runs("a"), "g"), grouped(runs("b"), "g")},
			then:    func(c *cluster) { c.nova.SetGroups(map[string]string{"g": "affinity"}) },
			plan:    "2/2 0s a:Live! b:Live!", state: "Planned",
			unblocked: "False ServersBlocked: name of a (a): its server group has affinity, and other members are on the node: set the metadata " +
				"maintenance of the members to stop; name of b (b): its server group has affinity, and other members are on the node: set the " +
				"metadata maintenance of the members to stop",
		},
		"affinity alone": {
			reason:  "The last member can move.",
			servers: []server{grouped(runs("a"), "g"), grouped(runs("b"), "h")},
			then:    func(c *cluster) { c.nova.SetGroups(map[string]string{"g": "affinity", "h": "affinity"}) },
			plan:    "0/2 40s a:Live b:Live", state: "Planned", unblocked: unblocked,
		},
		"other policies": {
			reason:  "They do not keep members on the node.",
			servers: []server{grouped(runs("a"), "g"), grouped(runs("b"), "g"), grouped(runs("c"), "gone"), grouped(runs("d"), "gone")},
			then:    func(c *cluster) { c.nova.SetGroups(map[string]string{"g": "soft-affinity"}) },
			plan:    "0/4 80s a:Live b:Live c:Live d:Live", state: "Planned", unblocked: unblocked,
		},
		"port": {
			reason:  "Neutron has the types of ports.",
			servers: []server{runs("a").with(func(s *server) { s.VNICs = []string{"direct", "accelerator-direct"} })},
			plan:    "1/1 0s a:Live!", state: "Planned",
			unblocked: "False ServersBlocked: name of a (a): it has a port with an accelerator, and Nova does not migrate it: set its metadata " +
				"maintenance to stop",
		},
		"migrating": {
			reason:  "Nova has selected the target.",
			servers: []server{runs("a").with(func(s *server) { s.Task = "migrating" })},
			then: func(c *cluster) {
				all := c.nova.Hypervisors()
				all[0].Migrations = []compute.Migration{
					{Server: "a", Status: "running", Source: "node-1", Target: "node-2"}, {Server: "a", Status: "error", Source: "node-1", Target: "node-3"},
				}
				c.nova.SetHypervisors(all...)
			},
			plan: "0/1 20s a:Livenode-2", state: "Planned", unblocked: unblocked,
		},
		"unknown pool": {
			reason: "The order names another pool.",
			then: func(c *cluster) {
				check := &openstackv1.ServiceCheck{}
				c.must(c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: pool}, check))
				c.must(c.api.Delete(context.Background(), check))
			},
			state: "Requested", unblocked: "False PoolNotFound: spec.serviceCheckName: ServiceCheck team-a-pool-54321 does not exist; the name is " +
				"the namespace of the pool",
		},
		"unknown node": {
			reason: "A node of another pool is not touched.",
			then:   func(c *cluster) { c.edit(func(s *openstackv1.NodeMaintenanceSpec) { s.NodeName = "node-9" }) },
			state:  "Requested", unblocked: "False NodeNotFound: spec.nodeName: node node-9 is not in status.nodes of ServiceCheck " +
				"team-a-pool-54321; it must run nova-compute of the pool",
		},
		"not registered": {
			reason: "Its record was deleted.", then: func(c *cluster) { c.nova.Set() }, state: "Requested",
			unblocked: "False ServiceUnavailable: Nova has no record of nova-compute on node-1",
		},
		"cell": {
			reason: "Nova does not list its servers.", then: func(c *cluster) { c.nova.SetCellDown("node-1") }, state: "Requested",
			unblocked: "False ServiceUnavailable: the database of the cell of node-1 does not respond",
		},
		"Nova": {
			reason: "Its state is unknown.", then: func(c *cluster) { c.nova.SetDown(true) }, state: "Requested",
			unblocked: "False ServiceUnavailable: cannot list compute services: Nova returned HTTP 503",
		},
		"Keystone": {
			reason: "Its state is unknown.", then: func(c *cluster) { c.nova.Keystone.SetDown(true) }, state: "Requested",
			unblocked: "False ServiceUnavailable: cannot log in as user admin: Keystone returned HTTP 503: Service Unavailable",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, tc.servers...)
			if tc.then != nil {
				tc.then(c)
			}
			if _, err := c.pass(c.sound()); err != nil {
				t.Fatal(err)
			}
			if got := c.summary(); got != tc.plan {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, got, tc.plan)
			}
			if got := string(c.order("replace-fan").Status.State); got != tc.state {
				t.Errorf("%s state %s, want %s", tc.reason, got, tc.state)
			}
			if got := c.condition(conditionUnblocked); got != tc.unblocked {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, got, tc.unblocked)
			}
			if moved := c.nova.LiveMigrations(); len(moved) > 0 || c.nova.Services() != nil && c.disabled("node-1") {
				t.Errorf("%s a plan changed Nova: %v", tc.reason, moved)
			}
		})
	}
}

func (c *cluster) disabled(host string) bool {
	for _, s := range c.nova.Services() {
		if s.Host == host {
			return s.Disabled
		}
	}
	return false
}

// TestPlan_Unavailable: the last plan is kept while Nova does not respond, and the condition Planned shows that it is not current.
func TestPlan_Unavailable(t *testing.T) {
	c := newCluster(t, runs("a"))
	r := c.sound()
	result, err := c.pass(r)
	if err != nil || result.RequeueAfter != planInterval {
		t.Fatalf("%v, %v", result, err)
	}
	if got, want := c.condition(conditionPlanned), "True PlanComplete: 1 servers are on the node, and 0 of them block the maintenance; see status.plan"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	observed := c.order(name).Status.LastObservationTime
	c.nova.SetDown(true)
	if result, err = c.pass(r); err != nil || result.RequeueAfter != shortestInterval {
		t.Errorf("a pass within the limit: %v, %v", result, err)
	}
	c.clock.SetTime(c.clock.Now().Add(time.Hour))
	if result, err = c.pass(r); err != nil || result.RequeueAfter != controller.Poll {
		t.Errorf("%v, %v", result, err)
	}
	if got, want := c.condition(conditionPlanned), "False ServiceUnavailable: cannot list compute services: Nova returned HTTP 503"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	o := c.order(name)
	if c.summary() != "0/1 20s a:Live" || o.Status.State != openstackv1.MaintenancePlanned || !o.Status.LastObservationTime.Equal(observed) {
		t.Errorf("%s %+v", c.summary(), o.Status)
	}
	if diff := cmp.Diff([]string{
		"Warning ServiceUnavailable cannot list compute services: Nova returned HTTP 503",
		"Warning ServiceUnavailable cannot list compute services: Nova returned HTTP 503",
	}, controllertest.Events(c.events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestPlan_Size: the status of a node with many servers stays below the limit of etcd, and has the number of omitted ones.
func TestPlan_Size(t *testing.T) {
	var all []server
	for i := range 500 {
		s := runs(fmt.Sprintf("%036d", i)).wants("never")
		s.Name, s.Metadata["maintenance"] = strings.Repeat("ä", 255), strings.Repeat("n", 255)
		all = append(all, s)
	}
	c := newCluster(t, all...)
	if _, err := c.pass(c.sound()); err != nil {
		t.Fatal(err)
	}
	o := c.order(name)
	p := o.Status.Plan
	if p.ServerCount != 500 || p.BlockedCount != 500 || p.OmittedCount != 400 || len(p.Servers) != 100 {
		t.Errorf("%d %d %d %d", p.ServerCount, p.BlockedCount, p.OmittedCount, len(p.Servers))
	}
	data, err := json.Marshal(o)
	if err != nil || len(data) > 300_000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	for _, s := range p.Servers {
		if len(s.Name) > 255 || len(s.Blocker) > 512 {
			t.Fatalf("%d %d", len(s.Name), len(s.Blocker))
		}
	}
	if got := c.condition(conditionUnblocked); len(got) > 10_000 || !strings.HasSuffix(got, "; and 495 more") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// TestMeasure: the exported number of servers, and no blocked state for a plan.
func TestMeasure(t *testing.T) {
	c := newCluster(t, runs("a"), runs("b").wants("never"))
	if _, err := c.pass(c.sound()); err != nil {
		t.Fatal(err)
	}
	got := controllertest.Series(t, metrics, name)
	if got["companion_node_maintenance_blocked"] != 0 || got["companion_node_maintenance_servers"] != 2 {
		t.Errorf("a plan: %v", got)
	}
	c.edit(func(s *openstackv1.NodeMaintenanceSpec) { s.Mode = openstackv1.MaintenanceDrain })
	c.clock.SetTime(c.clock.Now().Add(time.Hour))
	if _, err := c.pass(c.sound()); err != nil {
		t.Fatal(err)
	}
	if got := controllertest.Series(t, metrics, name); got["companion_node_maintenance_blocked"] != 1 {
		t.Errorf("a blocked order: %v", got)
	}
}

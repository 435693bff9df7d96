package nodemaintenance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

// draining returns a pool with Nodes and agents, and an order to drain the first one.
func draining(t testing.TB, servers ...server) *cluster {
	t.Helper()
	c := newCluster(t, servers...)
	var agents []compute.Agent
	for _, node := range []string{"node-1", "node-2"} {
		c.must(c.api.Create(context.Background(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: node},
			Status: corev1.NodeStatus{
				NodeInfo:   corev1.NodeSystemInfo{BootID: "first"},
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		}))
		agents = append(agents, compute.Agent{ID: node, Type: "OVN Controller agent", Host: node, Alive: true})
	}
	c.nova.SetAgents(agents...)
	c.edit(func(s *openstackv1.NodeMaintenanceSpec) {
		s.Mode, s.MaxNodes, s.ServerTimeoutSeconds = openstackv1.MaintenanceDrain, 1, 3600
	})
	return c
}

// node changes a Node.
func (c *cluster) node(name string, change func(*corev1.Node)) {
	c.t.Helper()
	n := &corev1.Node{}
	c.must(c.api.Get(context.Background(), client.ObjectKey{Name: name}, n))
	change(n)
	status := n.Status
	c.must(c.api.Update(context.Background(), n))
	n.Status = status
	c.must(c.api.Status().Update(context.Background(), n))
}

// ready sets the condition of a Node.
func (c *cluster) ready(is bool) {
	c.node("node-1", func(n *corev1.Node) {
		n.Status.Conditions[0].Status = map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}[is]
	})
}

// reboot changes the boot ID of the Node.
func (c *cluster) reboot() {
	c.node("node-1", func(n *corev1.Node) { n.Status.NodeInfo.BootID = "second" })
}

// change changes the record of nova-compute on the node.
func (c *cluster) change(host string, change func(*compute.Service)) {
	all := c.nova.Services()
	for i := range all {
		if all[i].Host == host {
			change(&all[i])
		}
	}
	c.nova.Set(all...)
}

// service returns the record of nova-compute.
func (c *cluster) service(host string) compute.Service {
	for _, s := range c.nova.Services() {
		if s.Host == host {
			return s
		}
	}
	return compute.Service{}
}

// run runs passes of half a minute, and ends the operations in progress after each. Servers move to the given node, or stay if it is "".
func (c *cluster) run(r *Reconciler, to string, passes int) {
	c.t.Helper()
	for range passes {
		if _, err := c.pass(r); err != nil {
			c.t.Fatal(err)
		}
		c.nova.End(to, c.clock.Now().UTC().Format("2006-01-02T15:04:05.000000"))
		c.clock.SetTime(c.clock.Now().Add(30 * time.Second))
	}
}

func (c *cluster) state() string { return string(c.order(name).Status.State) }

// TestDrainsRebootsAndReturnsNode: a node is drained by all methods, rebooted, verified and returned.
func TestDrainsRebootsAndReturnsNode(t *testing.T) {
	c := draining(t, runs("live"), runs("cold").wants("cold"), runs("off").in("SHUTOFF"), runs("stop").wants("stop"),
		runs("stays").wants("stop").in("SHUTOFF"))
	r := c.sound()
	c.run(r, "node-2", 2)
	if o := c.order(name); o.Status.State != openstackv1.MaintenanceDraining || o.Status.StartTime == nil || len(o.Finalizers) != 1 ||
		c.disabled("node-1") {
		t.Errorf("started before the plan is written: %+v", o)
	}
	c.run(r, "node-2", 20)
	want := []string{"os-migrateLive live", "migrate cold", "confirmResize cold", "migrate off", "confirmResize off", "os-stop stop"}
	if diff := cmp.Diff(want, c.nova.Actions()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if got, want := c.condition(conditionDrained), "True NodeEmpty: nova-compute is disabled, and 2 stopped servers are on the node"; got != want ||
		c.state() != "Drained" {
		t.Errorf("%s, got %s, want %s", c.state(), got, want)
	}
	if s := c.service("node-1"); !s.Disabled || s.Reason != "crossplane.c5c3.io: NodeMaintenance replace-fan" {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]string{"stop"}, c.order(name).Status.StoppedServers); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	c.change("node-1", func(s *compute.Service) { s.Up = false })
	c.ready(false)
	c.run(r, "node-2", 1)
	if c.state() != "InMaintenance" {
		t.Errorf("%s while the node is off", c.state())
	}
	c.reboot()
	c.run(r, "node-2", 1)
	if c.state() != "InMaintenance" {
		t.Errorf("%s before the node is ready", c.state())
	}
	c.ready(true)
	c.nova.SetAgents(compute.Agent{ID: "node-1", Type: "OVN Controller agent", Host: "node-1"})
	c.run(r, "node-2", 2)
	if got, want := c.condition(conditionDrained), "False Returning: the node is back: OVN Controller agent does not report; nova-compute does "+
		"not report; its agents are verified for 2m0s"; got != want || c.state() != "Returning" {
		t.Errorf("%s, got %s, want %s", c.state(), got, want)
	}
	c.change("node-1", func(s *compute.Service) { s.Up = true })
	c.nova.SetAgents(compute.Agent{ID: "node-1", Type: "OVN Controller agent", Host: "node-1", Alive: true})
	c.run(r, "node-2", 1)
	if !c.disabled("node-1") {
		t.Error("nova-compute is enabled while a report from before the reboot is valid")
	}
	c.run(r, "node-2", 10)
	o := c.order(name)
	if c.state() != "InService" || c.disabled("node-1") || len(o.Finalizers) != 0 || o.Status.Plan != nil {
		t.Errorf("%s %+v", c.state(), o)
	}
	if diff := cmp.Diff(append(want, "os-start stop"), c.nova.Actions()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	c.run(r, "node-2", 3)
	if c.state() != "InService" || c.disabled("node-1") || c.condition(conditionUnblocked) != "True InService: the maintenance has ended" {
		t.Errorf("an order that has ended continues: %s %s", c.state(), c.condition(conditionUnblocked))
	}
}

// TestDrain: the state, the conditions and the operations after some passes.
func TestDrain(t *testing.T) {
	const (
		unblocked = "True NothingBlocks: no server blocks the maintenance"
		own       = compute.MaintenanceReason + name
	)
	for name, tc := range map[string]struct {
		reason   string
		servers  []server
		then     func(*cluster)
		to       string
		passes   int
		state    string
		blocked  string
		actions  string
		disabled string
	}{
		"empty": {reason: "Nothing has to move.", passes: 5, state: "Drained", blocked: unblocked, disabled: own},
		"blocked before": {
			reason: "No server moves while another one blocks.", servers: []server{runs("a"), runs("b").wants("never")}, passes: 5, state: "Blocked",
			blocked: "False ServersBlocked: name of b (b): its metadata maintenance is never: its owner has to move or delete it",
		},
		"blocked later": {
			reason: "The others still move.", servers: []server{runs("a"), runs("b"), runs("c")}, to: "node-2", passes: 10, state: "Blocked",
			then: func(c *cluster) {
				c.run(c.sound(), "node-2", 4)
				c.place("node-1", runs("b").wants("never"), runs("c"))
			},
			blocked: "False ServersBlocked: name of b (b): its metadata maintenance is never: its owner has to move or delete it",
			actions: "os-migrateLive a os-migrateLive c", disabled: own,
		},
		"disabled by a user": {
			reason: "A user may need the servers there.", servers: []server{runs("a")}, passes: 5, state: "Blocked",
			then: func(c *cluster) {
				c.change("node-1", func(s *compute.Service) { s.Disabled, s.Reason = true, "broken fan" })
			},
			blocked: `False DisabledByOther: another user ("broken fan") disabled nova-compute on node-1: the maintenance continues after it is ` +
				"enabled, with openstack compute service set --enable node-1 nova-compute", disabled: "broken fan",
		},
		"disabled by a user later": {
			reason: "The order does not fight with the user.", servers: []server{runs("a"), runs("b")}, to: "node-2", passes: 5, state: "Blocked",
			then: func(c *cluster) {
				c.run(c.sound(), "node-2", 3)
				c.change("node-1", func(s *compute.Service) { s.Disabled, s.Reason = true, "broken fan" })
			},
			blocked: `False DisabledByOther: another user ("broken fan") disabled nova-compute on node-1: the maintenance continues after it is ` +
				"enabled, with openstack compute service set --enable node-1 nova-compute", disabled: "broken fan",
		},
		"another order": {
			reason: "It maintains the same node.", passes: 5, state: "Blocked",
			then: func(c *cluster) {
				c.change("node-1", func(s *compute.Service) { s.Disabled, s.Reason = true, compute.MaintenanceReason+"other" })
			},
			blocked: "False DisabledByOther: NodeMaintenance other disabled nova-compute on node-1: the maintenance continues after it is enabled, " +
				"with openstack compute service set --enable node-1 nova-compute", disabled: compute.MaintenanceReason + "other",
		},
		"cordoned": {
			reason: "The order takes over a node that evictOnCordon drains.", servers: []server{runs("a")}, to: "node-2", passes: 8,
			state: "InMaintenance",
			then: func(c *cluster) {
				c.node("node-1", func(n *corev1.Node) { n.Spec.Unschedulable = true })
				c.change("node-1", func(s *compute.Service) { s.Disabled, s.Reason = true, compute.CordonReason+"2026-01-01T00:00:00Z" })
			},
			blocked: unblocked, actions: "os-migrateLive a", disabled: own,
		},
		"nova-compute": {
			reason: "Its servers cannot move.", servers: []server{runs("a")}, passes: 5, state: "Blocked",
			then:    func(c *cluster) { c.change("node-1", func(s *compute.Service) { s.Up = false }) },
			blocked: "False ComputeDown: nova-compute on node-1 does not report, and its servers cannot be moved",
		},
		"late start": {
			reason: "The start is not delayed by an order that has ended.", passes: 5, state: "Drained", blocked: unblocked, disabled: own,
			then: func(c *cluster) { c.other("other", openstackv1.MaintenanceInService, 1) },
		},
		"another node": {
			reason: "The pool has one place.", servers: []server{runs("a")}, passes: 5, state: "Planned",
			then:    func(c *cluster) { c.other("other", openstackv1.MaintenanceDrained, 1) },
			blocked: "True WaitingForNodes: waiting for 1 of 1 NodeMaintenances of the pool to end: other",
		},
		"smallest limit": {
			reason: "The limit of the running order applies, too.", servers: []server{runs("a")}, passes: 5, state: "Planned",
			then: func(c *cluster) {
				c.edit(func(s *openstackv1.NodeMaintenanceSpec) { s.MaxNodes = 2 })
				c.other("other", openstackv1.MaintenanceBlocked, 1)
			},
			blocked: "True WaitingForNodes: waiting for 1 of 1 NodeMaintenances of the pool to end: other",
		},
		"two nodes": {
			reason: "The pool has two places.", passes: 5, state: "Drained", disabled: own, blocked: unblocked,
			then: func(c *cluster) {
				c.edit(func(s *openstackv1.NodeMaintenanceSpec) { s.MaxNodes = 2 })
				c.other("other", openstackv1.MaintenanceDraining, 2)
			},
		},
		"Node": {
			reason: "The reboot could not be detected.", passes: 5, state: "Blocked",
			then: func(c *cluster) { c.api = forbidNodes(c.api) },
			blocked: "False NodeUnreadable: the companion may not read Nodes: set virtualization.evictOnCordon in the " +
				"HypervisorCluster",
		},
		"no valid host": {
			reason: "No node has the capacity: three attempts, and the name of the server.", servers: []server{runs("a")}, passes: 12, state: "Blocked",
			then: func(c *cluster) {
				c.nova.FailMoves("a", "No valid host was found. There are not enough hosts available.")
			},
			to: "node-2", blocked: "False NoValidHost: name of a (a): 3 migrations failed, and the next one starts after 2001-09-09T02:04:10Z: No " +
				"valid host was found. There are not enough hosts available.",
			actions: "os-migrateLive a os-migrateLive a os-migrateLive a", disabled: own,
		},
		"retried": {
			reason: "Another node may have resources later.", servers: []server{runs("a")}, passes: 50, state: "Drained",
			then: func(c *cluster) {
				c.nova.FailMoves("a", "it failed")
				c.run(c.sound(), "node-2", 12)
				if got := c.condition(conditionUnblocked); !strings.HasPrefix(got, "False MigrationsFailed: name of a (a): 3 migrations failed") {
					c.t.Error(got)
				}
				c.nova.FailMoves("a", "")
			},
			to: "node-2", blocked: unblocked, actions: "os-migrateLive a os-migrateLive a os-migrateLive a os-migrateLive a", disabled: own,
		},
		"rejected": {
			reason: "A server that Nova rejects does not stop the others.", servers: []server{runs("a"), runs("b"), runs("c").wants("stop")}, passes: 12,
			then: func(c *cluster) { c.nova.RejectActions("a", true) },
			to:   "node-2", state: "Blocked", blocked: "False RejectedByService: cannot live-migrate server a: Nova returned HTTP 409: Cannot " +
				"'os-migrateLive' instance a while it is so.", actions: "os-migrateLive b os-stop c", disabled: own,
		},
		"parallel": {
			reason: "As many as the order allows.", servers: []server{runs("a"), runs("b"), runs("c")}, passes: 4, state: "Draining",
			then: func(c *cluster) {
				c.edit(func(s *openstackv1.NodeMaintenanceSpec) { s.ParallelServers = 2 })
			},
			to: "node-2", blocked: unblocked, actions: "os-migrateLive a os-migrateLive b", disabled: own,
		},
		"resize": {
			reason: "The owner of a resized server decides.", passes: 6, state: "Blocked",
			then: func(c *cluster) {
				c.migrations(compute.Migration{Server: "r", Status: "finished", Type: "resize", Source: "node-1", Created: "2001-09-10T00:00:00.000000"})
			},
			blocked: "False ResizePending: the resize of server r has data on the node: run openstack server resize confirm or revert", disabled: own,
		},
		"earlier migration": {
			reason: "A migration from before the order is not confirmed.", passes: 6, state: "Blocked",
			then: func(c *cluster) {
				c.migrations(compute.Migration{Server: "r", Status: "finished", Type: "migration", Source: "node-1", Created: "2001-01-01T00:00:00.000000"})
			},
			blocked: "False ResizePending: the resize of server r has data on the node: run openstack server resize confirm or revert", disabled: own,
		},
		"incoming": {
			reason: "A server migrates to the node.", passes: 6, state: "Draining",
			then: func(c *cluster) {
				c.migrations(compute.Migration{
					Server: "r", Status: "running", Type: "live-migration", Source: "node-2", Created: "2001-09-09T01:40:00.000000",
				})
			},
			blocked: unblocked, disabled: own,
		},
		"allocation": {
			reason: "A server is being created on the node, or its allocation is left.", passes: 6, state: "Blocked",
			then: func(c *cluster) {
				all := c.nova.Hypervisors()
				all[0].Consumers = []string{"new"}
				c.nova.SetHypervisors(all...)
			},
			blocked: "False AllocationLeft: Placement has an allocation of new on the node: a server that is being created or moved, or one that " +
				"was evacuated; see openstack resource provider allocation show new", disabled: own,
		},
		"slow": {
			reason: "A migration that hangs is reported.", servers: []server{runs("a").with(func(s *server) { s.Task = "migrating" })}, passes: 6,
			then: func(c *cluster) {
				c.migrations(compute.Migration{Server: "a", Status: "running", Type: "live-migration", Source: "node-1", Created: "2001-09-09T00:00:00.000000"})
			},
			to: "hang", state: "Blocked", blocked: "False MigrationSlow: the migration of server a runs for more than 1h0m0s: wait, or run openstack " +
				"server migration abort", disabled: own,
		},
		"enabled again": {
			reason: "A drained node must not get servers.", passes: 6, state: "Drained",
			then: func(c *cluster) {
				c.run(c.sound(), "", 6)
				c.change("node-1", func(s *compute.Service) { s.Disabled, s.Reason = false, "" })
			},
			blocked: unblocked, disabled: own,
		},
		"server arrives": {
			reason: "An administrator has moved a server there.", passes: 6, state: "Drained",
			then: func(c *cluster) {
				c.run(c.sound(), "", 6)
				c.place("node-1", runs("a"))
			},
			to: "node-2", blocked: unblocked, actions: "os-migrateLive a", disabled: own,
		},
		"reboot while draining": {
			reason: "A crash is not the ordered reboot.", servers: []server{runs("a")}, passes: 8, state: "Drained",
			then: func(c *cluster) {
				c.run(c.sound(), "", 4)
				c.reboot()
			},
			to: "node-2", blocked: unblocked, actions: "os-migrateLive a os-migrateLive a", disabled: own,
		},
		"return without a reboot": {
			reason: "The operator ends the maintenance.", passes: 12, state: "InService",
			then: func(c *cluster) {
				c.run(c.sound(), "", 6)
				c.edit(func(s *openstackv1.NodeMaintenanceSpec) { s.Mode = openstackv1.MaintenanceReturn })
			},
			blocked: "True InService: the maintenance has ended",
		},
		"return early": {
			reason: "The operator ends the draining.", servers: []server{runs("a")}, passes: 12, state: "InService",
			then: func(c *cluster) {
				c.run(c.sound(), "", 4)
				c.edit(func(s *openstackv1.NodeMaintenanceSpec) { s.Mode = openstackv1.MaintenanceReturn })
			},
			blocked: "True InService: the maintenance has ended", actions: "os-migrateLive a",
		},
		"return of nothing": {
			reason: "Nothing was started.", servers: []server{runs("a")}, passes: 3, state: "Planned",
			then: func(c *cluster) {
				c.edit(func(s *openstackv1.NodeMaintenanceSpec) { s.Mode = openstackv1.MaintenanceReturn })
			},
			blocked: unblocked,
		},
		"cordoned after the reboot": {
			reason: "The operator keeps the node.", passes: 12, state: "InMaintenance",
			then: func(c *cluster) {
				c.run(c.sound(), "", 6)
				c.node("node-1", func(n *corev1.Node) { n.Spec.Unschedulable, n.Status.NodeInfo.BootID = true, "second" })
			},
			blocked: unblocked, disabled: own,
		},
		"not ready again": {
			reason: "The node reboots twice.", passes: 3, state: "InMaintenance",
			then: func(c *cluster) {
				c.run(c.sound(), "", 6)
				c.reboot()
				c.run(c.sound(), "", 2)
				if c.state() != "Returning" {
					c.t.Error(c.state())
				}
				c.ready(false)
			},
			blocked: unblocked, disabled: own,
		},
		"agents": {
			reason: "The network of the node does not work.", passes: 45, state: "Blocked",
			then: func(c *cluster) {
				c.run(c.sound(), "", 6)
				c.reboot()
				c.nova.SetAgents()
			},
			blocked:  "False AgentsDown: node-1 is back, and does not return to service: Neutron has no agent on the node",
			disabled: own,
		},
		"disabled by a user before the return": {
			reason: "Another user keeps the node.", passes: 12, state: "Blocked",
			then: func(c *cluster) {
				c.run(c.sound(), "", 6)
				c.change("node-1", func(s *compute.Service) { s.Disabled, s.Reason = true, "broken fan" })
				c.reboot()
			},
			blocked: `False DisabledByOther: another user ("broken fan") disabled nova-compute on node-1: enable it with openstack compute service ` +
				"set --enable node-1 nova-compute", disabled: "broken fan",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := draining(t, tc.servers...)
			if tc.then != nil {
				tc.then(c)
			}
			if tc.to == "hang" {
				for range tc.passes {
					_, err := c.pass(c.sound())
					c.must(err)
					c.clock.SetTime(c.clock.Now().Add(30 * time.Second))
				}
			} else {
				c.run(c.sound(), tc.to, tc.passes)
			}
			if got := c.state(); got != tc.state {
				t.Errorf("%s state %s, want %s: %s", tc.reason, got, tc.state, c.condition(conditionDrained))
			}
			if got := c.condition(conditionUnblocked); got != tc.blocked {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, got, tc.blocked)
			}
			if got := strings.Join(c.nova.Actions(), " "); got != tc.actions {
				t.Errorf("%s actions %q, want %q", tc.reason, got, tc.actions)
			}
			if s := c.service("node-1"); s.Disabled != (tc.disabled != "") || s.Reason != tc.disabled {
				t.Errorf("%s %+v, want %q", tc.reason, s, tc.disabled)
			}
		})
	}
}

// other creates a started order of the other node.
func (c *cluster) other(name string, state openstackv1.MaintenanceState, most int32) {
	c.t.Helper()
	o := order(name, "node-2")
	o.Spec.Mode, o.Spec.MaxNodes = openstackv1.MaintenanceDrain, most
	c.must(c.api.Create(context.Background(), o))
	o.Status.State, o.Status.StartTime = state, &metav1.Time{Time: c.clock.Now()}
	c.must(c.api.Status().Update(context.Background(), o))
}

// TestStart_Concurrent: of two orders that started at the same moment, the second one withdraws before it changes anything.
func TestStart_Concurrent(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, other, state string
	}{
		"first":  {"It waits, because the other one may have disabled its node already.", "zebra", "Draining"},
		"second": {"It withdraws.", "ant", "Planned"},
	} {
		t.Run(name, func(t *testing.T) {
			c := draining(t, runs("a"))
			r := c.sound()
			c.run(r, "node-2", 1)
			now := c.clock.Now()
			c.run(r, "node-2", 1)
			c.other(tc.other, openstackv1.MaintenanceDraining, 1)
			o := c.order(tc.other)
			o.Status.StartTime = &metav1.Time{Time: now}
			c.must(c.api.Status().Update(context.Background(), o))
			c.run(r, "node-2", 1)
			if got := c.state(); got != tc.state || c.disabled("node-1") || len(c.nova.Actions()) > 0 {
				t.Errorf("%s got %s, disabled %v, %v", tc.reason, got, c.disabled("node-1"), c.nova.Actions())
			}
			c.must(c.api.Delete(context.Background(), c.order(tc.other)))
			c.run(r, "node-2", 5)
			if !c.disabled("node-1") {
				t.Errorf("%s it does not continue: %s", tc.reason, c.state())
			}
		})
	}
}

// migrations replaces the migrations from and to the node.
func (c *cluster) migrations(all ...compute.Migration) {
	nodes := c.nova.Hypervisors()
	nodes[0].Migrations = all
	c.nova.SetHypervisors(nodes...)
}

// forbidNodes returns a client that may not read Nodes.
func forbidNodes(api client.WithWatch) client.WithWatch {
	return interceptor.NewClient(api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, is := o.(*corev1.Node); is {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, k.Name, nil)
			}
			return c.Get(ctx, k, o, opts...)
		},
	})
}

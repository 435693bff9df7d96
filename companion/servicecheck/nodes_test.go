package servicecheck

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute/computetest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

// pool is the namespace of the nodes' pods, and elsewhere the namespace of another pool.
const (
	pool      = "team-a-pool-54321"
	otherPool = "team-b-pool-98765"
	daemons   = "nova-compute"
)

// allRecords lists all records of a node.
func allRecords(node string) []string {
	return []string{
		"service id-of-" + node, "provider rp-of-" + node, "provider gpu-of-" + node, "agent " + node, "agent " + node + "-metadata",
	}
}

// hypervisors returns a check of nodes that all have their pods: two of the pool, and one of another pool.
func hypervisors(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	c.edit(name, func(s *openstackv1.ServiceCheckSpec) {
		s.Processes, s.Nodes = nil, []openstackv1.CheckedNodes{{Namespace: pool, DaemonSet: daemons}}
	})
	other := check()
	other.Name, other.Spec.Processes = "another", nil
	other.Spec.Nodes = []openstackv1.CheckedNodes{{Namespace: otherPool, DaemonSet: daemons}}
	if err := c.api.Create(context.Background(), other); err != nil {
		t.Fatal(err)
	}
	c.pods(pool, 2, "node-1", "node-2")
	c.pods(otherPool, 1, "theirs")
	var hypervisors []computetest.Hypervisor
	var services []compute.Service
	var agents []compute.Agent
	for _, node := range []string{"node-1", "node-2", "theirs", "by-hand"} {
		hypervisors = append(hypervisors, computetest.Hypervisor{Host: node, Provider: "rp-of-" + node, Below: []string{"gpu-of-" + node}})
		services = append(services, compute.Service{ID: "id-of-" + node, Binary: compute.Compute, Host: node, Up: true})
		agents = append(agents, compute.Agent{ID: node, Type: "OVN Controller agent", Host: node, Alive: true},
			compute.Agent{ID: node + "-metadata", Type: "OVN Metadata agent", Host: node, Alive: true})
	}
	c.nova.SetHypervisors(hypervisors...)
	c.nova.Set(services...)
	c.nova.SetAgents(agents...)
	return c
}

func (c *cluster) edit(name string, change func(*openstackv1.ServiceCheckSpec)) {
	c.t.Helper()
	o := &openstackv1.ServiceCheck{}
	if err := c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		c.t.Fatal(err)
	}
	change(&o.Spec)
	if err := c.api.Update(context.Background(), o); err != nil {
		c.t.Fatal(err)
	}
}

// pods creates a DaemonSet with a desired number of nodes, and pods on the given nodes.
func (c *cluster) pods(namespace string, desired int32, on ...string) {
	c.t.Helper()
	ctx, labels := context.Background(), map[string]string{"app": daemons}
	_ = c.api.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace))
	_ = c.api.Delete(ctx, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: daemons, Namespace: namespace}})
	d := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: daemons, Namespace: namespace, Generation: 3, UID: types.UID("uid-" + namespace)},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
		Status:     appsv1.DaemonSetStatus{ObservedGeneration: 3, DesiredNumberScheduled: desired},
	}
	objects := []client.Object{d}
	for _, node := range on {
		objects = append(objects, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: daemons + "-" + node, Namespace: namespace, Labels: labels,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
			},
			Spec: corev1.PodSpec{NodeName: node},
		})
	}
	for _, o := range objects {
		if err := c.api.Create(ctx, o); err != nil {
			c.t.Fatal(err)
		}
	}
}

// misscheduled sets the number of pods on nodes that the DaemonSet does not select.
func (c *cluster) misscheduled(namespace string, n int32) {
	c.t.Helper()
	d := &appsv1.DaemonSet{}
	if err := c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: daemons}, d); err != nil {
		c.t.Fatal(err)
	}
	d.Status.NumberMisscheduled = n
	if err := c.api.Status().Update(context.Background(), d); err != nil {
		c.t.Fatal(err)
	}
}

// disable disables a host as another user does.
func (c *cluster) disable(host, reason string) {
	services := c.nova.Services()
	for i := range services {
		if services[i].Host == host {
			services[i].Disabled, services[i].Reason = true, reason
		}
	}
	c.nova.Set(services...)
}

func keyOf(node string) client.ObjectKey { return client.ObjectKey{Name: node} }

// stopReporting stops the reports of a host's nova-compute and agents.
func (c *cluster) stopReporting(host string) {
	services := c.nova.Services()
	for i := range services {
		services[i].Up = services[i].Up && services[i].Host != host
	}
	c.nova.Set(services...)
	agents := c.nova.Agents()
	for i := range agents {
		agents[i].Alive = agents[i].Alive && agents[i].Host != host
	}
	c.nova.SetAgents(agents...)
}

// runPasses runs some passes and returns the condition.
func (c *cluster) runPasses(r *Reconciler) string {
	c.t.Helper()
	for range 3 {
		if _, err := c.pass(r); err != nil {
			c.t.Fatal(err)
		}
		c.clock.SetTime(c.clock.Now().Add(time.Minute))
	}
	got := meta.FindStatusCondition(c.check().Status.Conditions, conditionRemovedNodesCleanedUp)
	if got == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", got.Status, got.Reason, got.Message)
}

// migrations returns a migration for each state.
func migrations(states ...string) (out []compute.Migration) {
	for _, s := range states {
		out = append(out, compute.Migration{Status: s})
	}
	return out
}

const reasonCleared = "True NoRecordsLeft: no records of removed nodes are left"

// TestNodes: which records of a removed node are deleted, and what prevents that.
func TestNodes(t *testing.T) {
	hypervisor := func(change func(*computetest.Hypervisor)) func(*cluster) {
		return func(c *cluster) {
			c.pods(pool, 1, "node-2")
			c.stopReporting("node-1")
			all := c.nova.Hypervisors()
			change(&all[0])
			c.nova.SetHypervisors(all...)
		}
	}
	for name, tc := range map[string]struct {
		reason string
		then   func(*cluster)
		// wantRecords are the remaining records of node-1, and wantMessage is the condition.
		wantRecords []string
		wantMessage string
		// remembers are the nodes in the status.
		remembers string
	}{
		"There": {"It is unchanged.", func(*cluster) {}, allRecords("node-1"), reasonCleared, "node-1 node-2"},
		"Gone": {
			"It lost its label, or was removed from Kubernetes.", func(c *cluster) { c.pods(pool, 1, "node-2"); c.stopReporting("node-1") },
			nil, reasonCleared, "node-2",
		},
		"Off": {
			"It is powered off, and its pod still exists: it may return.", func(c *cluster) { c.stopReporting("node-1") },
			allRecords("node-1"), reasonCleared, "node-1 node-2",
		},
		"Renewed": {
			"Its pod is being replaced.", func(c *cluster) { c.pods(pool, 2, "node-2"); c.stopReporting("node-1") }, allRecords("node-1"),
			"True PodsMissing: nova-compute has no pod on node-1; they are considered removed only while the DaemonSets of all pools have a " +
				"pod on each " +
				"of their nodes", "node-1 node-2",
		},
		"Misscheduled": {
			"Its pod is being replaced, while the pod of a node with a new taint runs on.", func(c *cluster) {
				c.pods(pool, 2, "node-2", "tainted")
				c.misscheduled(pool, 1)
				c.stopReporting("node-1")
			}, allRecords("node-1"),
			"True PodsMissing: nova-compute has no pod on node-1; they are considered removed only while the DaemonSets of all pools have a " +
				"pod on each " +
				"of their nodes", "node-1 node-2",
		},
		"CellDown": {
			"Nova does not list its servers.", func(c *cluster) {
				c.pods(pool, 1, "node-2")
				c.stopReporting("node-1")
				c.nova.SetCellDown("node-1")
			}, allRecords("node-1"), "True RecordRemovalPending: node-1 was removed, and the database of its cell does not respond", "node-1 node-2",
		},
		"OtherCellDown": {
			"Nova searches a service in one cell after the other, and cannot delete it.", func(c *cluster) {
				c.pods(pool, 1, "node-2")
				c.stopReporting("node-1")
				c.nova.SetCellDown("theirs")
			}, allRecords("node-1"), "True RecordRemovalPending: node-1 was removed, and Nova can delete its records when the databases of all cells respond",
			"node-1 node-2",
		},
		"OtherCellDownInUse": {
			"The servers on it are still reported.", func(c *cluster) {
				hypervisor(func(h *computetest.Hypervisor) { h.Servers = []compute.Server{{ID: "a"}} })(c)
				c.nova.SetCellDown("theirs")
			}, allRecords("node-1"), "False NodeInUse: node-1 was removed, and it has 1 server: bring the node back, or evacuate them " +
				"(openstack server evacuate), or delete them", "node-1 node-2",
		},
		"Unsettled": {
			"It may be moving to the other pool, whose DaemonSet has one more node.",
			func(c *cluster) { c.pods(pool, 1, "node-2"); c.pods(otherPool, 2, "theirs"); c.stopReporting("node-1") }, allRecords("node-1"),
			"True PodsMissing: nova-compute has no pod on node-1; they are considered removed only while the DaemonSets of all pools have a " +
				"pod on each " +
				"of their nodes", "node-1 node-2",
		},
		"Moved": {
			"It belongs to the other pool now, and is powered off.",
			func(c *cluster) {
				c.pods(pool, 1, "node-2")
				c.pods(otherPool, 2, "theirs", "node-1")
				c.stopReporting("node-1")
			}, allRecords("node-1"), reasonCleared, "node-2",
		},
		"Lost": {
			"The DaemonSet does not exist.", func(c *cluster) {
				_ = c.api.DeleteAllOf(context.Background(), &corev1.Pod{}, client.InNamespace(pool))
				_ = c.api.Delete(context.Background(), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: daemons, Namespace: pool}})
				c.stopReporting("node-1")
				c.stopReporting("node-2")
			}, allRecords("node-1"), "True PodsMissing: nova-compute has no pod on node-1, node-2; they are considered removed only while the " +
				"DaemonSets " +
				"of all pools have a pod on each of their nodes", "node-1 node-2",
		},
		"Reports": {
			"Its process still runs.", func(c *cluster) { c.pods(pool, 1, "node-2") }, allRecords("node-1"),
			"True RecordRemovalPending: node-1 was removed, and its nova-compute still reports", "node-1 node-2",
		},
		"AgentReports": {
			"Its network agent still runs.", func(c *cluster) {
				c.pods(pool, 1, "node-2")
				alive := c.nova.Agents()
				c.stopReporting("node-1")
				c.nova.SetAgents(alive...)
			}, allRecords("node-1"), "True RecordRemovalPending: node-1 was removed, and Neutron agent OVN Controller agent still reports", "node-1 node-2",
		},
		"Machines": {
			"Its disks may return.", hypervisor(func(h *computetest.Hypervisor) { h.Servers = []compute.Server{{ID: "a"}, {ID: "b"}} }),
			allRecords("node-1"), "False NodeInUse: node-1 was removed, and it has 2 servers: bring the node back, or evacuate them " +
				"(openstack server evacuate), or delete them", "node-1 node-2",
		},
		"Migrations": {
			"A migration waits for confirmation.", hypervisor(func(h *computetest.Hypervisor) {
				h.Migrations = migrations("completed", "finished",
					"error")
			}),
			allRecords("node-1"), "False NodeInUse: node-1 was removed, and 1 migrations from or to the node are unfinished: confirm or revert " +
				"them " +
				"(openstack server migration list --host node-1)", "node-1 node-2",
		},
		"MigrationsOver": {"They are finished.", hypervisor(func(h *computetest.Hypervisor) { h.Migrations = migrations("completed", "error") }),
			nil, reasonCleared, "node-2"},
		"Evacuated": {
			"A node that returns removes data of evacuated servers, but not as a new node.",
			hypervisor(func(h *computetest.Hypervisor) { h.Consumers = []string{"c"} }), allRecords("node-1"),
			"False NodeInUse: node-1 was removed, and Placement still has allocations of 1 servers on the node, such as evacuated ones: if the " +
				"node " +
				"does not return, run openstack compute service delete, and openstack resource provider allocation delete for the rest",
			"node-1 node-2",
		},
		"Unreachable": {
			"Nova could not reach Placement when it deleted the service, and returned no error.",
			hypervisor(func(h *computetest.Hypervisor) { h.Unreachable = true }), nil, reasonCleared, "node-2",
		},
		"ByHand": {
			"Another user deleted the service.", func(c *cluster) {
				c.pods(pool, 1, "node-2")
				c.stopReporting("node-1")
				c.nova.Set(c.nova.Services()[1:]...)
			}, nil, reasonCleared, "node-2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := hypervisors(t)
			r := c.reconciler(c.api, c.nova)
			if got := c.runPasses(r); got != reasonCleared {
				t.Fatal(got)
			}
			tc.then(c)
			if got := c.runPasses(r); got != tc.wantMessage {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, got, tc.wantMessage)
			}
			if diff := cmp.Diff(tc.wantRecords, c.nova.Leftovers("node-1")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for _, node := range []string{"node-2", "theirs", "by-hand"} {
				if diff := cmp.Diff(allRecords(node), c.nova.Leftovers(node)); diff != "" {
					t.Errorf("%s of %s (-want +got):\n%s", tc.reason, node, diff)
				}
			}
			var remembers []string
			for _, n := range c.check().Status.Nodes {
				remembers = append(remembers, n.Name)
			}
			if got := strings.Join(remembers, " "); got != tc.remembers {
				t.Errorf("%s it remembers %s, want %s", tc.reason, got, tc.remembers)
			}
		})
	}
}

// TestRetainsRecordsOfUnobservedNodes: nodes that had no pod during any pass are ignored.
func TestRetainsRecordsOfUnobservedNodes(t *testing.T) {
	c := hypervisors(t)
	c.pods(pool, 1, "node-2")
	c.stopReporting("node-1")
	c.stopReporting("by-hand")
	if got := c.runPasses(c.reconciler(c.api, c.nova)); got != reasonCleared {
		t.Error(got)
	}
	for _, node := range []string{"node-1", "by-hand"} {
		if diff := cmp.Diff(allRecords(node), c.nova.Leftovers(node)); diff != "" {
			t.Errorf("of %s (-want +got):\n%s", node, diff)
		}
	}
}

// TestNodesComeBack: a removed node is recorded again when it registers as a new one.
func TestNodesComeBack(t *testing.T) {
	c := hypervisors(t)
	r, services, agents, all := c.reconciler(c.api, c.nova), c.nova.Services(), c.nova.Agents(), c.nova.Hypervisors()
	c.runPasses(r)
	for range 2 {
		c.pods(pool, 1, "node-2")
		c.stopReporting("node-1")
		c.runPasses(r)
		if remaining := c.nova.Leftovers("node-1"); len(remaining) > 0 {
			t.Fatal(remaining)
		}
		c.pods(pool, 2, "node-1", "node-2")
		c.nova.Set(services...)
		c.nova.SetAgents(agents...)
		c.nova.SetHypervisors(all...)
		c.runPasses(r)
		if n := c.check().Status.Nodes; len(n) != 2 || n[0].Provider != "rp-of-node-1" || len(n[0].Agents) != 2 {
			t.Fatalf("%+v", n)
		}
	}
	if s := c.check().Status; s.Up != 2 || s.Down != 0 {
		t.Errorf("%+v", s)
	}
}

// TestRecordRemovalRecoversFromAnyFault: after a fault at any call, and with another leader, all records of the removed node are deleted in
// the end, and none of other nodes.
func TestRecordRemovalRecoversFromAnyFault(t *testing.T) {
	life := func(t *testing.T, at faultinjection.Point) *faultinjection.API {
		t.Helper()
		c := hypervisors(t)
		if _, err := c.pass(c.reconciler(c.api, c.nova)); err != nil {
			t.Fatal(err)
		}
		c.pods(pool, 1, "node-2")
		c.stopReporting("node-1")
		a := faultinjection.New(c.api, at)
		a.OnConcurrentWrite = func() { _, _ = c.pass(c.reconciler(c.api, c.nova)) }
		r := c.reconciler(a.Client(), a.HTTP(c.nova))
		for range 4 {
			_, _ = c.pass(r)
			a.ReconcileDone()
			c.clock.SetTime(c.clock.Now().Add(time.Minute))
		}
		if remaining := c.nova.Leftovers("node-1"); len(remaining) > 0 {
			t.Errorf("left: %v", remaining)
		}
		for _, node := range []string{"node-2", "theirs", "by-hand"} {
			if diff := cmp.Diff(allRecords(node), c.nova.Leftovers(node)); diff != "" {
				t.Errorf("of %s (-want +got):\n%s", node, diff)
			}
		}
		if n := c.check().Status.Nodes; len(n) != 1 {
			t.Errorf("remembered: %+v", n)
		}
		return a
	}
	completeState := life(t, faultinjection.NoFault)
	faultinjection.Run(t, some(completeState, 7), func(t *testing.T, p faultinjection.Point) { life(t, p) })
	t.Logf("%d calls, %d of them writes", completeState.Calls, len(completeState.Writes))
}

package servicecheck

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute/computetest"
)

// on sets the servers of a host with eight CPUs, overcommitted twice, and 4 GiB; each server uses one CPU and 1 GiB.
func (c *cluster) on(host string, servers ...string) {
	all := c.nova.Hypervisors()
	for i := range all {
		h := &all[i]
		if h.Host != host {
			continue
		}
		h.Servers = nil
		for _, s := range servers {
			h.Servers = append(h.Servers, compute.Server{ID: s, Name: s, Status: "ACTIVE"})
		}
		h.Inventories = map[string]computetest.Inventory{
			"VCPU": {Total: 8, Used: len(servers), Ratio: 2}, "MEMORY_MB": {Total: 4096, Used: len(servers) * 1024, Ratio: 1},
		}
	}
	c.nova.SetHypervisors(all...)
}

// TestCountsServersAndAvailableCapacity: servers on all nodes of the pool are counted, and the capacity of nodes that accept servers.
func TestCountsServersAndAvailableCapacity(t *testing.T) {
	completeState := openstackv1.ComputeCapacity{
		VirtualMachines: 3, TotalVCPU: 32, AvailableVCPU: 29, TotalMemoryMiB: 8192, AvailableMemoryMiB: 5120,
	}
	second := openstackv1.ComputeCapacity{
		VirtualMachines: 3, TotalVCPU: 16, AvailableVCPU: 15, TotalMemoryMiB: 4096, AvailableMemoryMiB: 3072,
	}
	for name, tc := range map[string]struct {
		reason string
		change func(*cluster)
		want   openstackv1.ComputeCapacity
	}{
		"Whole":    {"Nodes of other pools, and of none, are ignored.", func(*cluster) {}, completeState},
		"Silent":   {"Servers on a node that is down are counted, but not its capacity.", func(c *cluster) { c.stopReporting("node-1") }, second},
		"Disabled": {"The same applies to a disabled node.", func(c *cluster) { c.disable("node-1", "maintenance") }, second},
		"Left": {
			"Servers of a removed node are counted.", func(c *cluster) {
				c.stopReporting("node-1")
				c.pods(pool, 1, "node-2")
			}, second,
		},
		"Unknown": {
			"Its pod exists, but it is not registered in Nova.", func(c *cluster) {
				c.nova.SetHypervisors(c.nova.Hypervisors()[1:]...)
				c.nova.Set(c.nova.Services()[1:]...)
			}, openstackv1.ComputeCapacity{VirtualMachines: 1, TotalVCPU: 16, AvailableVCPU: 15, TotalMemoryMiB: 4096, AvailableMemoryMiB: 3072},
		},
		"Empty": {
			"Zero is a valid number.", func(c *cluster) {
				c.on("node-1")
				c.on("node-2")
			}, openstackv1.ComputeCapacity{TotalVCPU: 32, AvailableVCPU: 32, TotalMemoryMiB: 8192, AvailableMemoryMiB: 8192},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := hypervisors(t)
			r := c.reconciler(c.api, c.nova)
			c.on("node-1", "a", "b")
			c.on("node-2", "c")
			c.on("theirs", "d")
			c.on("by-hand", "e")
			c.runPasses(r)
			if diff := cmp.Diff(&completeState, c.check().Status.Capacity); diff != "" {
				t.Fatalf("before (-want +got):\n%s", diff)
			}
			tc.change(c)
			c.runPasses(r)
			if diff := cmp.Diff(&tc.want, c.check().Status.Capacity); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestCounted: servers are counted only while Nova lists each registered node. Otherwise the previous numbers stay.
func TestCounted(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		then   func(*cluster)
		want   string
	}{
		"complete": {"Nova lists both nodes.", func(*cluster) {}, "True Complete: the servers on all nodes are counted"},
		"nodes down": {"Their servers are listed.", func(c *cluster) { c.stopReporting("node-1"); c.stopReporting("node-2") },
			"True Complete: the servers on all nodes are counted"},
		"cell down": {
			"Nova serves requests without the rows of the cell.", func(c *cluster) { c.nova.SetCellDown("node-1"); c.on("node-2") },
			"False CellUnavailable: the database of the cell of node-1 does not respond: the state of node-1 is unknown",
		},
		"cell of a removed node down": {
			"Its servers are not listed.", func(c *cluster) { c.pods(pool, 1, "node-2"); c.nova.SetCellDown("node-1"); c.on("node-2") },
			"False CellUnavailable: the database of the cell of node-1 does not respond: the state of node-1 is unknown",
		},
		"cell of another pool down": {"Its nodes do not count.", func(c *cluster) { c.nova.SetCellDown("theirs") },
			"True Complete: the servers on all nodes are counted"},
		"hypervisor missing": {
			"Nova has lost its record.", func(c *cluster) { c.nova.SetHypervisors(c.nova.Hypervisors()[1:]...); c.on("node-2") },
			"False HypervisorMissing: Nova has a compute service and no hypervisor for node-1",
		},
		"nova down": {"It does not respond.", func(c *cluster) { c.nova.SetDown(true) },
			"False ServiceUnavailable: cannot list compute services: Nova returned HTTP 503"},
	} {
		t.Run(name, func(t *testing.T) {
			c := hypervisors(t)
			r := c.reconciler(c.api, c.nova)
			c.on("node-1", "a", "b")
			c.on("node-2", "c")
			c.runPasses(r)
			tc.then(c)
			c.runPasses(r)
			s := c.check().Status
			got := meta.FindStatusCondition(s.Conditions, conditionCounted)
			if text := fmt.Sprintf("%s %s: %s", got.Status, got.Reason, got.Message); text != tc.want {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, text, tc.want)
			}
			if s.Capacity.VirtualMachines != 3 {
				t.Errorf("%s %d servers are reported", tc.reason, s.Capacity.VirtualMachines)
			}
		})
	}
}

// TestOtherCellDown: while the database of another cell does not respond, servers and capacity of a pool are current, although Nova cannot
// list hypervisors. The number is 0 only if neither Nova nor Placement has a server.
func TestOtherCellDown(t *testing.T) {
	servers := func(n int) (out []compute.Server) {
		for i := range n {
			out = append(out, compute.Server{ID: fmt.Sprint(i)})
		}
		return out
	}
	for name, tc := range map[string]struct {
		reason string
		nodes  []computetest.Hypervisor
		want   int64
	}{
		"servers":     {"They have allocations.", []computetest.Hypervisor{{Servers: servers(2)}, {Servers: servers(1)}}, 3},
		"none":        {"The guard opens.", make([]computetest.Hypervisor, 2), 0},
		"scheduled":   {"A server is being created.", []computetest.Hypervisor{{Consumers: []string{"x"}}, {}}, 1},
		"unallocated": {"The allocation was lost.", []computetest.Hypervisor{{}, {Servers: servers(1), Unallocated: true}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := hypervisors(t)
			r := c.reconciler(c.api, c.nova)
			c.on("node-1", "a", "b", "c", "d")
			c.on("node-2")
			c.runPasses(r)
			for i, n := range tc.nodes {
				allocated := n.Consumers
				for _, s := range n.Servers {
					if !n.Unallocated {
						allocated = append(allocated, s.ID)
					}
				}
				c.on(fmt.Sprintf("node-%d", i+1), allocated...)
				all := c.nova.Hypervisors()
				all[i].Servers, all[i].Consumers, all[i].Unallocated = n.Servers, n.Consumers, n.Unallocated
				c.nova.SetHypervisors(all...)
			}
			c.nova.SetCellDown("theirs")
			c.runPasses(r)
			s := c.check().Status
			counted := meta.FindStatusCondition(s.Conditions, conditionCounted)
			ready := meta.FindStatusCondition(s.Conditions, conditionReady)
			if counted.Status != "True" || ready.Status != "True" || s.Capacity.VirtualMachines != tc.want || s.Capacity.TotalVCPU != 32 {
				t.Errorf("%s %+v, %+v, %+v; want %d servers", tc.reason, counted, ready, s.Capacity, tc.want)
			}
		})
	}
}

// TestReportsCellWithUnavailableDatabase: the state of nodes in a cell whose database does not respond is unknown, and the message names
// the cell. They count neither as up nor as down.
func TestReportsCellWithUnavailableDatabase(t *testing.T) {
	c := hypervisors(t)
	cell := &openstackv1.CellMapping{
		ObjectMeta: metav1.ObjectMeta{Name: "nova-cell2", Namespace: namespace}, Spec: openstackv1.CellMappingSpec{Cell: "cell2"},
		Status: openstackv1.CellMappingStatus{Hosts: []string{"node-1"}},
	}
	if err := c.api.Create(t.Context(), cell); err != nil {
		t.Fatal(err)
	}
	r := c.reconciler(c.api, c.nova)
	c.runPasses(r)
	c.nova.SetCellDown("node-1")
	c.runPasses(r)
	s := c.check().Status
	const want = "the database of cell cell2 does not respond: the state of node-1 is unknown"
	ready := meta.FindStatusCondition(s.Conditions, conditionReady)
	if ready.Status != "Unknown" || ready.Reason != "CellUnavailable" || ready.Message != want {
		t.Errorf("%+v", ready)
	}
	if got := meta.FindStatusCondition(s.Conditions, conditionCounted); got.Status != "False" || got.Message != want {
		t.Errorf("%+v", got)
	}
	if s.Up != 1 || s.Down != 0 {
		t.Errorf("%d up, %d down", s.Up, s.Down)
	}
	c.nova.SetCellDown()
	c.runPasses(r)
	if got := meta.FindStatusCondition(c.check().Status.Conditions, conditionReady); got.Status != "True" {
		t.Errorf("after the outage: %+v", got)
	}
}

// TestFailedRequestsRetainCapacity: the previous capacity is retained while requests fail, and a capacity that was never read is unset,
// not 0.
func TestFailedRequestsRetainCapacity(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		prepare func(*computetest.Nova)
	}{
		"Nova":      {"It does not respond.", func(n *computetest.Nova) { n.SetDown(true) }},
		"Placement": {"It does not respond: Nova has only a part of the data.", func(n *computetest.Nova) { n.SetPlacementDown(true) }},
		"Rights":    {"The user has no permission.", func(n *computetest.Nova) { n.FailRequests("Policy doesn't allow it.") }},
	} {
		t.Run(name, func(t *testing.T) {
			never := hypervisors(t)
			never.on("node-1", "a")
			tc.prepare(never.nova)
			if _, err := never.pass(never.reconciler(never.api, never.nova)); err != nil {
				t.Fatal(err)
			}
			if got := never.check().Status.Capacity; got != nil {
				t.Errorf("%s Capacity without a response: %+v", tc.reason, got)
			}

			c := hypervisors(t)
			r := c.reconciler(c.api, c.nova)
			c.on("node-1", "a")
			c.on("node-2")
			c.runPasses(r)
			c.on("node-1")
			tc.prepare(c.nova)
			c.clock.SetTime(c.clock.Now().Add(time.Minute))
			if _, err := c.pass(r); err != nil {
				t.Fatal(err)
			}
			s := c.check().Status
			if s.Capacity == nil || s.Capacity.VirtualMachines != 1 || s.Capacity.AvailableVCPU != 31 {
				t.Errorf("%s %+v", tc.reason, s.Capacity)
			}
			if is := meta.FindStatusCondition(s.Conditions, conditionReady); is.Status != "False" || is.Reason != "ServiceUnavailable" {
				t.Errorf("%s Condition: %+v", tc.reason, is)
			}
		})
	}
}

// TestCapacityOfProcesses: a check of processes has no capacity, even if it checked nodes before.
func TestCapacityOfProcesses(t *testing.T) {
	c := hypervisors(t)
	r := c.reconciler(c.api, c.nova)
	c.runPasses(r)
	if c.check().Status.Capacity == nil {
		t.Fatal("no capacity")
	}
	c.edit(name, func(s *openstackv1.ServiceCheckSpec) { s.Nodes = nil })
	c.runPasses(r)
	if got := c.check().Status; got.Capacity != nil || meta.FindStatusCondition(got.Conditions, conditionCounted) != nil {
		t.Errorf("%+v", got)
	}
}

// TestNodeLimit: with more nodes than the status can list, the same nodes are listed in each pass, and the number of servers is
// not complete.
func TestNodeLimit(t *testing.T) {
	c := newCluster(t)
	c.edit(name, func(s *openstackv1.ServiceCheckSpec) {
		s.Processes, s.Nodes = nil, []openstackv1.CheckedNodes{{Namespace: pool, DaemonSet: daemons}}
	})
	var nodes []string
	var all []computetest.Hypervisor
	var services []compute.Service
	for i := range nodeLimit + 1 {
		node := fmt.Sprintf("node-%04d", i)
		nodes = append(nodes, node)
		all = append(all, computetest.Hypervisor{Host: node, Provider: "rp-of-" + node, Servers: []compute.Server{{ID: "on-" + node}}})
		services = append(services, compute.Service{ID: node, Binary: compute.Compute, Host: node, Up: true})
	}
	c.pods(pool, nodeLimit+1, nodes...)
	c.nova.SetHypervisors(all...)
	c.nova.Set(services...)
	if _, err := c.pass(c.reconciler(c.api, c.nova)); err != nil {
		t.Fatal(err)
	}
	s := c.check().Status
	if len(s.Nodes) != nodeLimit || s.Nodes[nodeLimit-1].Name != nodes[nodeLimit-1] || s.Capacity != nil {
		t.Errorf("it remembers %d nodes up to %s, and counts %+v", len(s.Nodes), s.Nodes[len(s.Nodes)-1].Name, s.Capacity)
	}
	want := "at most 2048 nodes can be recorded, and servers on node-2048 would not be counted after their pods are deleted; use more pools"
	if got := meta.FindStatusCondition(s.Conditions, conditionCounted); got.Reason != "TooManyNodes" || got.Message != want {
		t.Errorf("%+v", got)
	}
}

// TestCounted_Scheduled: nodes without servers are not counted as empty while servers can still arrive on them, which Placement shows.
func TestCounted_Scheduled(t *testing.T) {
	const complete = "True Complete: the servers on all nodes are counted"
	const allocated = "False ServersScheduled: no server is on the nodes, but Placement has allocations on node-1; wait for servers that are " +
		"being created or migrated, confirm or revert resizes, and delete the allocations of consumers that do not exist: openstack resource " +
		"provider show --allocations, openstack resource provider allocation delete"
	memory := func(total, used int) map[string]computetest.Inventory {
		return map[string]computetest.Inventory{"MEMORY_MB": {Total: total, Used: used, Ratio: 1}}
	}
	for name, tc := range map[string]struct {
		reason      string
		inventories map[string]computetest.Inventory
		want        string
	}{
		"nothing":   {"No server is scheduled to the node.", memory(4096, 0), complete},
		"allocated": {"A server is being created.", memory(4096, 1024), allocated},
		"full":      {"A provider without free memory is not in the list.", memory(1024, 1024), allocated},
		"no memory": {"No server can be on such a node.", memory(0, 0), complete},
	} {
		t.Run(name, func(t *testing.T) {
			c := hypervisors(t)
			all := c.nova.Hypervisors()
			all[0].Inventories = tc.inventories
			c.nova.SetHypervisors(all...)
			c.runPasses(c.reconciler(c.api, c.nova))
			s := c.check().Status
			got := meta.FindStatusCondition(s.Conditions, conditionCounted)
			if text := fmt.Sprintf("%s %s: %s", got.Status, got.Reason, got.Message); text != tc.want {
				t.Errorf("%s\n got %s\nwant %s", tc.reason, text, tc.want)
			}
			if s.Capacity == nil || s.Capacity.VirtualMachines != 0 {
				t.Errorf("%s The capacity is %+v", tc.reason, s.Capacity)
			}
		})
	}
}

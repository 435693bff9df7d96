package servicecheck

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/daemonset"
)

// TestReady_Nodes verifies that a check is not ready while no nova-compute of its nodes reports, and that it names the nodes that do not
// report otherwise: a part of the nodes of a large pool is always down.
func TestReady_Nodes(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*cluster)
		want   string
	}{
		"all up": {"Both nodes report.", func(*cluster) {}, "True ProcessesUp: all known processes report"},
		"one down": {"The other one runs servers.", func(c *cluster) { c.stopReporting("node-1") },
			"True ProcessesUp: nova-compute does not report from 1 of 2 nodes: node-1 (since 2001-09-09T01:46:40Z)"},
		"all down": {"The pool runs no servers.", func(c *cluster) { c.stopReporting("node-1"); c.stopReporting("node-2") },
			"False ProcessesDown: nova-compute does not report from 2 of 2 nodes: node-1 (since 2001-09-09T01:46:40Z), node-2 (since 2001-09-09T01:46:40Z)"},
		"none registered": {"None has reached the queue.", func(c *cluster) { c.nova.Set(); c.nova.SetHypervisors() },
			"False ProcessesDown: nova-compute does not report from 2 of 2 nodes: node-1 (since 2001-09-09T01:46:40Z), node-2 (since 2001-09-09T01:46:40Z)"},
		"other pool down": {"It has another check.", func(c *cluster) { c.stopReporting("theirs") },
			"True ProcessesUp: all known processes report"},
		"no nodes": {"A new pool has none.", func(c *cluster) { c.nova.Set([]compute.Service{}...); c.pods(pool, 0) },
			"True ProcessesUp: all known processes report"},
	} {
		t.Run(name, func(t *testing.T) {
			c := hypervisors(t)
			tc.change(c)
			c.runPasses(c.reconciler(c.api, c.nova))
			ready := meta.FindStatusCondition(c.check().Status.Conditions, conditionReady)
			if ready == nil {
				t.Fatal("it has no condition")
			}
			compare(t, tc.reason, tc.want, string(ready.Status)+" "+ready.Reason+": "+ready.Message)
		})
	}
}

// TestMissingNodes verifies which nodes the status contains, since when they are missing, and the revision of their pods. The list has a
// maximum length, and changes only when a node changes.
func TestMissingNodes(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	pod := func(name string, created int) daemonset.Node {
		return daemonset.Node{Name: name, Revision: "r1", CreatedAt: at(created)}
	}
	service := func(host string, up bool, minutes int) *compute.Service {
		return &compute.Service{Binary: compute.Compute, Host: host, Up: up, ReportedAt: at(minutes)}
	}
	listed := func(name string, minutes int) openstackv1.MissingNode {
		return openstackv1.MissingNode{Name: name, Since: metav1.Time{Time: at(minutes)}, Revision: "r1"}
	}
	for name, tc := range map[string]struct {
		reason   string
		pods     []daemonset.Node
		services []*compute.Service
		before   []openstackv1.MissingNode
		want     []openstackv1.MissingNode
	}{
		"all report":     {"No node is missing.", []daemonset.Node{pod("a", -9)}, []*compute.Service{service("a", true, 0)}, nil, nil},
		"down":           {"It is missing since its last report.", []daemonset.Node{pod("a", -9)}, []*compute.Service{service("a", false, -3)}, nil, []openstackv1.MissingNode{listed("a", -3)}},
		"not registered": {"It is missing since its pod exists.", []daemonset.Node{pod("a", -9)}, nil, nil, []openstackv1.MissingNode{listed("a", -9)}},
		"order": {"The longest time is first.", []daemonset.Node{pod("a", -1), pod("b", -1), pod("c", -1)},
			[]*compute.Service{service("a", false, -2), service("b", false, -3), service("c", true, 0)}, nil,
			[]openstackv1.MissingNode{listed("b", -3), listed("a", -2)}},
		"changed record": {"Its service was disabled after its last report.", []daemonset.Node{pod("a", -9)}, []*compute.Service{service("a", false, -1)},
			[]openstackv1.MissingNode{listed("a", -5)}, []openstackv1.MissingNode{listed("a", -5)}},
		"without a time": {"It is missing since now.", []daemonset.Node{{Name: "a"}}, nil, nil,
			[]openstackv1.MissingNode{{Name: "a", Since: metav1.Time{Time: noon}}}},
	} {
		t.Run(name, func(t *testing.T) {
			obs := &observation{collection: &collection{computes: map[string]*compute.Service{}}, check: check(), now: noon}
			obs.check.Status.MissingNodes, obs.nodes.pods = tc.before, map[string]daemonset.Node{}
			for _, p := range tc.pods {
				obs.nodes.pods[p.Name] = p
			}
			for _, s := range tc.services {
				obs.computes[s.Host] = s
			}
			if diff := cmp.Diff(tc.want, obs.missingNodes()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMissingNodes_Bounded verifies the size of the status and of the message in a pool of 5,000 nodes that are all down.
func TestMissingNodes_Bounded(t *testing.T) {
	obs := &observation{collection: &collection{}, check: check(), now: time.Unix(1e9, 0)}
	obs.check.Spec.Processes = nil
	obs.nodes.pods, obs.nodes.ownHosts = map[string]daemonset.Node{}, map[string]bool{}
	for i := range 5000 {
		host := fmt.Sprintf("node-%05d", i)
		obs.nodes.pods[host], obs.nodes.ownHosts[host] = daemonset.Node{Name: host, Revision: "7d9f8c"}, true
	}
	obs.report()
	s := obs.check.Status
	if s.MissingNodeCount != 5000 || len(s.MissingNodes) != 5 {
		t.Errorf("the status has %d of %d nodes", len(s.MissingNodes), s.MissingNodeCount)
	}
	if got := meta.FindStatusCondition(s.Conditions, conditionReady).Message; !strings.HasSuffix(got, " and 4995 more") || len(got) > 400 {
		t.Errorf("the message is %q", got)
	}
}

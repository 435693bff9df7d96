package raftcluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// node is a registered node: its applied nb_cfg, and the age of that; a negative age means that it never reported.
type node struct {
	name string
	done int
	ago  time.Duration
	// config is its other registered data.
	config string
}

// nodesAt returns the response of a southbound database with a desired nb_cfg.
func nodesAt(now time.Time, desired int, nodes ...node) string {
	var registered, reported, tunnels []string
	for _, n := range nodes {
		registered = append(registered, fmt.Sprintf(`{"name":%q,"hostname":%q,"other_config":["map",[["iface-types",""],%s]]}`, n.name,
			n.name+".example",
			cmp.Or(n.config, `["ovn-bridge-mappings",""]`)))
		tunnels = append(tunnels, fmt.Sprintf(`{"chassis_name":%q,"type":"geneve","ip":"10.0.0.1"}`, n.name))
		if n.done >= 0 {
			reported = append(reported, fmt.Sprintf(`{"name":%q,"nb_cfg":%d,"nb_cfg_timestamp":%d}`, n.name, n.done, now.Add(-n.ago).UnixMilli()))
		}
	}
	return fmt.Sprintf(`[{"rows":[{"nb_cfg":%d}]},{"rows":[%s]},{"rows":[%s]},{"rows":[%s]}]`, desired,
		strings.Join(registered, ","), strings.Join(reported, ","), strings.Join(tunnels, ","))
}

// TestChassis: nodes are counted, and nodes with inactive controllers are listed.
func TestChassis(t *testing.T) {
	long := time.Hour
	for title, tc := range map[string]struct {
		reason          string
		desiredConfig   int
		nodes           []node
		answer          string // replaces nodes
		previousChassis *c5c3v1.RaftChassis
		want            *c5c3v1.RaftChassis
	}{
		"None": {reason: "No hypervisor is registered yet.", want: &c5c3v1.RaftChassis{}},
		"Done": {reason: "All have applied the configuration.", desiredConfig: 7, nodes: []node{{name: "a", done: 7, ago: long}, {name: "b",
			done: 7,
			ago:  long}}, want: &c5c3v1.RaftChassis{Registered: 2, Active: 2}},
		"Asked": {reason: "The configuration has just changed.", desiredConfig: 8, nodes: []node{{name: "a", done: 7, ago: long}},
			want: &c5c3v1.RaftChassis{Registered: 1, Active: 1}},
		"At it": {reason: "It is busy, and was active recently.", desiredConfig: 9, nodes: []node{{name: "a", done: 5,
			ago: time.Minute}}, want: &c5c3v1.RaftChassis{Registered: 1, Active: 1}},
		"Gone": {reason: "Its node is powered off.", desiredConfig: 9, nodes: []node{{name: "b", done: 5, ago: long}, {name: "a", done: 9,
			ago: 0}},
			want: &c5c3v1.RaftChassis{Registered: 2, Active: 1, OutOfDate: []string{"b"}}},
		"Silent": {reason: "It registered without activity.", desiredConfig: 9, nodes: []node{{name: "a", done: -1, ago: 0}},
			want: &c5c3v1.RaftChassis{Registered: 1, OutOfDate: []string{"a"}}},
		"Many": {
			reason: "The first ones are listed.", desiredConfig: 9, want: &c5c3v1.RaftChassis{Registered: 10, OutOfDate: []string{"a", "b", "c", "d",
				"e", "f",
				"g", "h"}},
			nodes: []node{
				{name: "j", done: 1, ago: long}, {name: "i", done: 1, ago: long}, {name: "h", done: 1, ago: long}, {name: "g", done: 1, ago: long},
				{name: "f", done: 1, ago: long},
				{name: "e", done: 1, ago: long}, {name: "d", done: 1, ago: long}, {name: "c", done: 1, ago: long}, {name: "b", done: 1, ago: long},
				{name: "a", done: 1, ago: long},
			},
		},
		"Refused": {
			reason: "The last count is retained.", answer: `[{"rows":[]},{"error":"no table"},{"rows":[]},{"rows":[]}]`,
			previousChassis: &c5c3v1.RaftChassis{Registered: 2, Active: 1}, want: &c5c3v1.RaftChassis{Registered: 2, Active: 1},
		},
		"Cut short": {reason: "A response is incomplete.", answer: `[{"rows":[]}]`, previousChassis: &c5c3v1.RaftChassis{Registered: 2},
			want: &c5c3v1.RaftChassis{Registered: 2}},
	} {
		t.Run(title, func(t *testing.T) {
			c := newCluster(t, 3, ownCluster)
			o := &c5c3v1.RaftCluster{}
			if err := c.api.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
				t.Fatal(err)
			}
			o.Spec.Database, o.Spec.CountChassis = "OVN_Southbound", true
			if err := c.api.Update(context.Background(), o); err != nil {
				t.Fatal(err)
			}
			o.Status.Chassis = tc.previousChassis
			if err := c.api.Status().Update(context.Background(), o); err != nil {
				t.Fatal(err)
			}
			// The first member is disconnected, so its data may be outdated.
			c.members.setReply(name+"-0", serving(ownCluster, "a", false, false, 3))
			c.members.setReply(name+"-1", serving(ownCluster, "b", false, true, 3))
			c.members.setReply(name+"-2", serving(ownCluster, "c", true, true, 3))
			c.members.nodes = tc.answer
			if tc.answer == "" {
				c.members.nodes = nodesAt(c.clock.Now().Add(time.Minute), tc.desiredConfig, tc.nodes...)
			}
			if _, err := c.pass(c.api); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(tc.want, c.status().Chassis); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReader: nodes are read from the most current member, and not without a connected member.
func TestReader(t *testing.T) {
	member := func(cluster string, leader, connected bool) *database {
		return &database{cluster: cluster, leader: leader, connected: connected}
	}
	for title, tc := range map[string]struct {
		pods []*database
		want string
	}{
		"Leader":   {[]*database{member(ownCluster, false, true), member(ownCluster, true, true)}, "pod-1"},
		"Follower": {[]*database{nil, member(ownCluster, false, true)}, "pod-1"},
		"Alone":    {[]*database{member(ownCluster, true, false)}, ""},
		"Foreign":  {[]*database{member(another, true, true)}, ""},
	} {
		w := &observation{cluster: &c5c3v1.RaftCluster{Status: c5c3v1.RaftClusterStatus{ClusterID: ownCluster}}}
		for i, d := range tc.pods {
			w.pods = append(w.pods, pod{name: fmt.Sprintf("pod-%d", i), database: d})
		}
		if got := w.reader(); got != tc.want {
			t.Errorf("%s: %q, want %q", title, got, tc.want)
		}
	}
}

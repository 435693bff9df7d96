package ovn

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

var update = flag.Bool("update", false, "write the golden files again")

var kind = servicetest.Kind{GroupVersionKind: ovnv1.GroupVersionKind, Runner: New(), Name: ovnv1.Name}

// TestDefaultProbe tests that clients without an own setting have the default of the databases.
func TestDefaultProbe(t *testing.T) {
	xr := ovnv1.OVNCluster{}
	function.SetDefaults(&xr)
	if got := xr.Spec.Southbound.InactivityProbeSeconds; got != ovnv1.DefaultInactivityProbeSeconds {
		t.Errorf("the default of the schema is %d, want %d", got, ovnv1.DefaultInactivityProbeSeconds)
	}
}

func TestObjectsMatchGoldens(t *testing.T) { kind.Objects(t, *update) }

// observation is the observed state of the northbound database: the number of pods, the number of members in their configuration, and the status
// of the RaftCluster: ID, readiness, and the states of the pods.
type observation struct {
	pods, configured      int
	clusterIDOverride, id string
	ready                 bool
	states                []string
}

func (s observation) observed(t *testing.T) observe.State {
	t.Helper()
	objects := map[string]map[string]any{}
	if s.pods > 0 {
		objects[northbound] = map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": map[string]any{"replicas": s.pods}}
	}
	if s.configured > 0 {
		objects[northbound+"-state"] = map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"members": fmt.Sprint(s.configured), "cluster-id": s.clusterIDOverride},
		}
	}
	var members []any
	for i, state := range s.states {
		members = append(members, map[string]any{"pod": fmt.Sprintf("ovn-northbound-%d", i), "state": state})
	}
	status := map[bool]string{true: "True", false: "False"}[s.ready]
	objects[northbound+"-cluster"] = map[string]any{
		"apiVersion": "c5c3.io/v1alpha1", "kind": "RaftCluster", "metadata": map[string]any{"generation": 1},
		"status": map[string]any{
			"clusterID": s.id, "members": members,
			"conditions": []any{map[string]any{"type": "Ready", "status": status, "reason": "R", "message": "m", "observedGeneration": 1}},
		},
	}
	all := map[string]encoded.Struct{}
	for name, o := range objects {
		e, err := encode.Struct(o)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = e
	}
	out, err := observe.New(all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func derived(t *testing.T, replicas int32, s observation) *model {
	t.Helper()
	in := function.Input[ovnv1.OVNCluster]{Observed: s.observed(t)}
	in.XR.Name, in.XR.Namespace = ovnv1.Name, "cloud"
	in.XR.Spec.Northbound.Replicas = &replicas
	function.SetDefaults(&in.XR)
	m, err := derive(in)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMembersJoinTogetherAndLeaveSingly verifies that one pod creates a cluster, members join at once and leave one by one, and no pod of a
// member is deleted.
func TestMembersJoinTogetherAndLeaveSingly(t *testing.T) {
	const id = "618fd7fb-82e8-49fc-90d9-73be342a6e86"
	in, remaining, away := c5c3v1.MemberJoined, c5c3v1.MemberLeft, c5c3v1.MemberUnreachable
	for name, tc := range map[string]struct {
		reason        string
		targetMembers int32
		observation   observation
		pods, joined  int32
		id            string
	}{
		"Nothing":    {"One pod creates the cluster.", 3, observation{}, 1, 1, ""},
		"Creating":   {"The cluster is not recorded yet.", 3, observation{pods: 1, configured: 1, states: []string{c5c3v1.MemberJoining}}, 1, 1, ""},
		"Known":      {"All others join.", 3, observation{pods: 1, configured: 1, id: id, ready: true, states: []string{in}}, 3, 3, id},
		"Made again": {"The StatefulSet was deleted; its volumes and the recorded ID exist.", 3, observation{id: id}, 3, 3, id},
		"Forgotten": {
			"The RaftCluster was created again: pods and their configuration stay.", 3,
			observation{pods: 3, configured: 3, clusterIDOverride: id, states: []string{in, in, in}}, 3, 3, id,
		},
		"Forgotten by all": {"Running pods stay.", 3, observation{pods: 3, configured: 3}, 3, 3, ""},
		"Smaller":          {"The last member leaves.", 3, observation{pods: 5, configured: 5, id: id, ready: true, states: []string{in, in, in, in, in}}, 5, 4, id},
		"Smaller, not whole": {
			"No member leaves while another one is unavailable: the remaining ones might have no majority.", 3,
			observation{pods: 5, configured: 5, id: id, states: []string{in, away, in, in, in}}, 5, 5, id,
		},
		"Leaving":  {"It has not left yet.", 3, observation{pods: 5, configured: 4, id: id, states: []string{in, in, in, in, in}}, 5, 4, id},
		"Left":     {"Its pod goes.", 3, observation{pods: 5, configured: 4, id: id, states: []string{in, in, in, in, remaining}}, 4, 4, id},
		"Next":     {"Then the next one leaves.", 3, observation{pods: 4, configured: 4, id: id, ready: true, states: []string{in, in, in, in}}, 4, 3, id},
		"Done":     {"There are as many as are wanted.", 3, observation{pods: 3, configured: 3, id: id, ready: true, states: []string{in, in, in}}, 3, 3, id},
		"Wanted":   {"It has left, and is wanted again: it joins.", 5, observation{pods: 5, configured: 4, id: id, states: []string{in, in, in, in, remaining}}, 5, 5, id},
		"To one":   {"The last but one leaves, too.", 1, observation{pods: 2, configured: 2, id: id, ready: true, states: []string{in, in}}, 2, 1, id},
		"Restarts": {"One that does not answer has not left.", 1, observation{pods: 3, configured: 2, id: id, states: []string{in, in, away}}, 3, 2, id},
	} {
		t.Run(name, func(t *testing.T) {
			d := derived(t, tc.targetMembers, tc.observation).north
			if d.workload.Replicas != tc.pods || d.joined != tc.joined || d.id != tc.id {
				t.Errorf("%s %d pods, %d of them members, of cluster %q; want %d, %d, %q",
					tc.reason, d.workload.Replicas, d.joined, d.id, tc.pods, tc.joined, tc.id)
			}
		})
	}
}

// TestMembersReady verifies that the database is not ready while a pod with a leaving member exists, even if the companion still reports
// its member.
func TestMembersReady(t *testing.T) {
	const id = "618fd7fb-82e8-49fc-90d9-73be342a6e86"
	in := c5c3v1.MemberJoined
	d := derived(t, 3, observation{pods: 4, configured: 3, id: id, ready: true, states: []string{in, in, in, in}}).north
	if v := d.membersReady(d.set); v.Ready || v.Reason != "Leaving" {
		t.Errorf("%+v, want that it waits for the last one", v)
	}
}

// TestRejectsInvalidValues verifies that values which the schema rejects are rejected for callers without an API server.
func TestRejectsInvalidValues(t *testing.T) {
	for name, tc := range map[string]struct {
		spec ovnv1.OVNClusterSpec
		want string
	}{
		"Even":   {ovnv1.OVNClusterSpec{Northbound: members(2, "")}, "spec.northbound.replicas: 2 members cannot agree by majority; set 1, 3 or 5"},
		"Many":   {ovnv1.OVNClusterSpec{Southbound: ovnv1.Southbound{Members: members(7, "")}}, "spec.southbound.replicas: 7 members cannot agree"},
		"Memory": {ovnv1.OVNClusterSpec{Northbound: members(3, "32Mi")}, "spec.northbound.memory: 32Mi cannot hold a process"},
		"Image": {
			ovnv1.OVNClusterSpec{Image: &common.InfrastructureImage{Tag: "a", Digest: "sha256:b"}}, "spec.image: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := function.Input[ovnv1.OVNCluster]{}
			in.XR.Name, in.XR.Namespace, in.XR.Spec = ovnv1.Name, "cloud", tc.spec
			function.SetDefaults(&in.XR)
			if _, err := derive(in); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}

func members(n int32, memory common.Memory) ovnv1.Members {
	return ovnv1.Members{Process: common.Process{Replicas: &n, Memory: memory}}
}

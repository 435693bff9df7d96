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

func TestObjects(t *testing.T) { kind.Objects(t, *update) }

// seen is what is observed of the northbound database: how many pods there are, how many members they were told to be, and what the
// RaftCluster says: the ID, whether all is well, and the states of the pods.
type seen struct {
	pods, told            int
	clusterIDOverride, id string
	ready                 bool
	states                []string
}

func (s seen) observed(t *testing.T) observe.State {
	t.Helper()
	objects := map[string]map[string]any{}
	if s.pods > 0 {
		objects[northbound] = map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": map[string]any{"replicas": s.pods}}
	}
	if s.told > 0 {
		objects[northbound+"-state"] = map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"members": fmt.Sprint(s.told), "cluster-id": s.clusterIDOverride},
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

func derived(t *testing.T, replicas int32, s seen) *model {
	t.Helper()
	in := function.Input[ovnv1.OVNCluster]{Observed: s.observed(t)}
	in.XR.Name, in.XR.Namespace = ovnv1.Name, "cloud"
	in.XR.Spec.Northbound.Replicas = &replicas
	m, err := derive(in)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMembers: a cluster is created by one pod; members join at once and leave one by one; and no pod goes that is still a member.
func TestMembers(t *testing.T) {
	const id = "618fd7fb-82e8-49fc-90d9-73be342a6e86"
	in, remaining, away := c5c3v1.MemberJoined, c5c3v1.MemberLeft, c5c3v1.MemberUnreachable
	for name, tc := range map[string]struct {
		reason        string
		targetMembers int32
		seen          seen
		pods, joined  int32
		id            string
	}{
		"Nothing":    {"One pod creates the cluster.", 3, seen{}, 1, 1, ""},
		"Creating":   {"Nobody knows of the cluster yet.", 3, seen{pods: 1, told: 1, states: []string{c5c3v1.MemberJoining}}, 1, 1, ""},
		"Known":      {"All others join.", 3, seen{pods: 1, told: 1, id: id, ready: true, states: []string{in}}, 3, 3, id},
		"Made again": {"The StatefulSet is gone; its volumes and what is known are not.", 3, seen{id: id}, 3, 3, id},
		"Forgotten": {
			"The RaftCluster is a new one: pods stay, and what they were told stays.", 3,
			seen{pods: 3, told: 3, clusterIDOverride: id, states: []string{in, in, in}}, 3, 3, id,
		},
		"Forgotten by all": {"Whatever runs stays.", 3, seen{pods: 3, told: 3}, 3, 3, ""},
		"Smaller":          {"The last is asked to leave.", 3, seen{pods: 5, told: 5, id: id, ready: true, states: []string{in, in, in, in, in}}, 5, 4, id},
		"Smaller, not whole": {
			"Nobody leaves while another one is away: of those that stay, there might be no majority.", 3,
			seen{pods: 5, told: 5, id: id, states: []string{in, away, in, in, in}}, 5, 5, id,
		},
		"Leaving":  {"It was asked, and has not left yet.", 3, seen{pods: 5, told: 4, id: id, states: []string{in, in, in, in, in}}, 5, 4, id},
		"Left":     {"Its pod goes.", 3, seen{pods: 5, told: 4, id: id, states: []string{in, in, in, in, remaining}}, 4, 4, id},
		"Next":     {"Then the next one is asked.", 3, seen{pods: 4, told: 4, id: id, ready: true, states: []string{in, in, in, in}}, 4, 3, id},
		"Done":     {"There are as many as are wanted.", 3, seen{pods: 3, told: 3, id: id, ready: true, states: []string{in, in, in}}, 3, 3, id},
		"Wanted":   {"It has left, and is wanted again: it joins.", 5, seen{pods: 5, told: 4, id: id, states: []string{in, in, in, in, remaining}}, 5, 5, id},
		"To one":   {"The last but one leaves, too.", 1, seen{pods: 2, told: 2, id: id, ready: true, states: []string{in, in}}, 2, 1, id},
		"Restarts": {"One that does not answer has not left.", 1, seen{pods: 3, told: 2, id: id, states: []string{in, in, away}}, 3, 2, id},
	} {
		t.Run(name, func(t *testing.T) {
			d := derived(t, tc.targetMembers, tc.seen).north
			if d.workload.Replicas != tc.pods || d.joined != tc.joined || d.id != tc.id {
				t.Errorf("%s %d pods, %d of them members, of cluster %q; want %d, %d, %q",
					tc.reason, d.workload.Replicas, d.joined, d.id, tc.pods, tc.joined, tc.id)
			}
		})
	}
}

// TestAPIEndpoints: as long as a pod is there that is to leave, the database is not whole, even if the companion still sees a member in it.
func TestAPIEndpoints(t *testing.T) {
	const id = "618fd7fb-82e8-49fc-90d9-73be342a6e86"
	in := c5c3v1.MemberJoined
	d := derived(t, 3, seen{pods: 4, told: 3, id: id, ready: true, states: []string{in, in, in, in}}).north
	if v := d.whole(d.set); v.Ready || v.Reason != "Leaving" {
		t.Errorf("%+v, want that it waits for the last one", v)
	}
}

// TestValidation: what the schema refuses is refused here, too, for callers without an API server.
func TestValidation(t *testing.T) {
	for name, tc := range map[string]struct {
		spec ovnv1.OVNClusterSpec
		want string
	}{
		"Even":   {ovnv1.OVNClusterSpec{Northbound: members(2, "")}, "spec.northbound.replicas: 2 members cannot agree by majority; give 1, 3 or 5"},
		"Many":   {ovnv1.OVNClusterSpec{Southbound: ovnv1.Southbound{Members: members(7, "")}}, "spec.southbound.replicas: 7 members cannot agree"},
		"Memory": {ovnv1.OVNClusterSpec{Northbound: members(3, "32Mi")}, "spec.northbound.memory: 32Mi cannot hold a process"},
		"Image": {
			ovnv1.OVNClusterSpec{Image: &common.InfrastructureImage{Tag: "a", Digest: "sha256:b"}}, "spec.image: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := function.Input[ovnv1.OVNCluster]{}
			in.XR.Name, in.XR.Namespace, in.XR.Spec = ovnv1.Name, "cloud", tc.spec
			if _, err := derive(in); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}

func members(n int32, memory common.Memory) ovnv1.Members {
	return ovnv1.Members{Process: common.Process{Replicas: &n, Memory: memory}}
}

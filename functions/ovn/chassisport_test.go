package ovn

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// observedWorkload returns a workload with one pod, with or without the port of nodes, of which a number of pods is ready.
func observedWorkload(kind string, chassis bool, ready int) map[string]any {
	ports := []any{map[string]any{"name": "database"}}
	if chassis {
		ports = append(ports, map[string]any{"name": chassisPortName})
	}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"generation": 1},
		"spec": map[string]any{"replicas": 1, "template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "ovn", "ports": ports}},
		}}},
		"status": map[string]any{
			"observedGeneration": 1, "replicas": 1, "updatedReplicas": ready, "readyReplicas": ready, "availableReplicas": ready,
			"currentRevision": "a", "updateRevision": "a",
			"conditions": []any{map[string]any{"type": "Available", "status": map[bool]string{true: "True", false: "False"}[ready == 1]}},
		},
	}
}

// TestChassisEndpointPublishedAfterAllMembersServe verifies that nodes move to the port with a role after all members serve it, and stay
// there.
func TestChassisEndpointPublishedAfterAllMembersServe(t *testing.T) {
	const members, relays = "ssl:ovn-southbound-0.ovn-southbound.cloud.svc.cluster.local:6645", "ssl:ovn-relay.cloud.svc.cluster.local:6645"
	for name, tc := range map[string]struct {
		reason                     string
		membersServe, relaysServe  bool
		membersReady, relaysReady  int
		before                     ovnv1.OVNClusterStatus
		wantMembers, wantRelays    string
		relaysAbsent, nothingThere bool
	}{
		"new":     {reason: "Nothing exists.", nothingThere: true},
		"earlier": {reason: "Members of an earlier version do not serve the port.", membersReady: 1, relaysReady: 1},
		"rolling": {reason: "A member is being replaced.", membersServe: true, relaysServe: true},
		"served": {
			reason: "All serve the port.", membersServe: true, relaysServe: true, membersReady: 1, relaysReady: 1,
			wantMembers: members, wantRelays: relays,
		},
		"relays later": {
			reason: "Relays are replaced after the members.", membersServe: true, membersReady: 1, relaysReady: 1, wantMembers: members,
		},
		"later": {
			reason: "Clients stay at the port while a member is replaced.", membersServe: true, relaysServe: true,
			before: ovnv1.OVNClusterStatus{
				Southbound: ovnv1.DatabaseStatus{ChassisEndpoint: members}, Relay: ovnv1.RelayStatus{ChassisEndpoint: relays},
			},
			wantMembers: members, wantRelays: relays,
		},
		"no relays": {
			reason: "Relays were removed.", membersServe: true, membersReady: 1, relaysAbsent: true, wantMembers: members,
			before: ovnv1.OVNClusterStatus{Relay: ovnv1.RelayStatus{ChassisEndpoint: relays}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := map[string]map[string]any{
				southbound: observedWorkload("StatefulSet", tc.membersServe, tc.membersReady),
				relay:      observedWorkload("Deployment", tc.relaysServe, tc.relaysReady),
				southbound + "-cluster": {
					"apiVersion": "c5c3.io/v1alpha1", "kind": "RaftCluster", "metadata": map[string]any{"generation": 1},
					"status": map[string]any{"clusterID": clusterID, "conditions": []any{
						map[string]any{"type": "Ready", "status": "True", "reason": "R", "message": "m", "observedGeneration": 1},
					}},
				},
			}
			all := map[string]encoded.Struct{}
			for name, o := range objects {
				e, err := encode.Struct(o)
				if err != nil {
					t.Fatal(err)
				}
				if !tc.nothingThere {
					all[name] = e
				}
			}
			in := function.Input[ovnv1.OVNCluster]{}
			in.XR.Name, in.XR.Namespace, in.XR.Status = ovnv1.Name, "cloud", tc.before
			if !tc.relaysAbsent {
				in.XR.Spec.Relay = &common.Process{}
			}
			function.SetDefaults(&in.XR)
			var err error
			if in.Observed, err = observe.New(all); err != nil {
				t.Fatal(err)
			}
			m, err := derive(in)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{m.south.status().ChassisEndpoint, m.relayStatus().ChassisEndpoint, m.north.status().ChassisEndpoint}
			if diff := cmp.Diff([]string{tc.wantMembers, tc.wantRelays, ""}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

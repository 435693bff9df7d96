package controlplane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
)

// blocks returns a claim that enables Cinder with a pool, and additional fields.
func blocks(more, infrastructure string) string {
	return "{infrastructure: {" + infrastructure + "}, services: {glance: {enabled: true, stores: [{name: a, rbd: {secretRef: {name: ceph}}}]}, " +
		"cinder: {enabled: true, backends: [{name: ceph-rbd, rbd: {secretRef: {name: ceph}}}, {name: b, nfs: {shares: ['a:/b']}}]" + more + "}}}"
}

// TestMultipleCinderManagersRequireLocks checks that a backend in a pool has two managers if there are locks across pods, and that all
// others have one.
func TestMultipleCinderManagersRequireLocks(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, extraYAML, infrastructure string
		want                              []int32
		locks                             bool
	}{
		"defaults":  {"Locks are in Valkey.", "", "", []int32{2, 1}, true},
		"claim":     {"The claim sets the number.", ", volume: {replicas: 3}", "", []int32{3, 1}, true},
		"no Valkey": {"Without locks, managers would write the same data.", "", "valkey: {enabled: false}", []int32{1, 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(input(t, blocks(tc.extraYAML, tc.infrastructure), queued, nil))
			if err != nil {
				t.Fatal(err)
			}
			var got []int32
			for _, p := range stateOf(t, m, cinderv1.ServiceName).Model.Pods() {
				if strings.HasSuffix(p.Field, ".volume") {
					got = append(got, p.Replicas)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			xr := xrOf[*cinderv1.Cinder](t, m, cinderv1.ServiceName)
			if locks := xr.Spec.Coordination != nil; locks != tc.locks {
				t.Errorf("%s locks are configured: %t", tc.reason, locks)
			}
		})
	}
}

// TestRejectsInvalidCinderSettings checks the errors for settings that would lose volumes or have no effect.
func TestRejectsInvalidCinderSettings(t *testing.T) {
	shared := map[string]*structpb.Struct{
		cinderv1.ServiceName: structOf(t, fields(t, "{spec: {coordination: {bindingSecretRef: {name: a}}}}")),
	}
	for name, tc := range map[string]struct {
		reason, extraYAML, infrastructure string
		observed                          map[string]*structpb.Struct
		field, message                    string
	}{
		"Valkey goes": {
			"Volumes belong to the managers that share the locks.", "", "valkey: {enabled: false}", shared,
			"spec.infrastructure.valkey.enabled", "keep it enabled",
		},
		"more managers than locks": {
			"Without locks, managers would write the same data.", ", volume: {replicas: 2}", "valkey: {enabled: false}", nil,
			"spec.services.cinder.volume.replicas", "Valkey",
		},
		"no queue": {"The queue is required.", "", "rabbitmq: {enabled: false}", nil, "spec.infrastructure.rabbitmq.enabled", "cinder requires the message queue"},
		"no room":  {"The process could not start.", ", scheduler: {memory: 64Mi}", "", nil, "spec.services.cinder.scheduler.memory", "cannot hold"},
		"no time":  {"The schedule has an invalid minute.", ", archive: {schedule: '99 * * * *'}", "", nil, "spec.services.cinder.archive.schedule", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := derive(input(t, blocks(tc.extraYAML, tc.infrastructure), queued, tc.observed))
			requireFieldError(t, tc.reason, err, tc.field, tc.message)
		})
	}
}

// TestStatusContainsBackendsWithPhase checks that the claim's status contains the backends that report a phase, and no others.
func TestStatusContainsBackendsWithPhase(t *testing.T) {
	m, err := derive(input(t, blocks("", ""), queued, map[string]*structpb.Struct{cinderv1.ServiceName: structOf(t, fields(t, `
status: {backends: [{name: ceph-rbd, phase: Ready, totalGiB: 100, availableGiB: 0}, {name: b, phase: Creating}, {name: c}, x]}`))}))
	if err != nil {
		t.Fatal(err)
	}
	status := controlplanev1.ControlPlaneClusterStatus{}
	stateOf(t, m, cinderv1.ServiceName).Model.Report(&status)
	want := []cinderv1.BackendStatus{{Name: "ceph-rbd", Phase: "Ready", TotalGiB: new(int64(100)), AvailableGiB: new(int64(0))}, {Name: "b", Phase: "Creating"}}
	if diff := cmp.Diff(want, status.Backends); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCopiesCephConnectedFromCinder checks that Cinder's condition on its Ceph clusters is copied to the claim.
func TestCopiesCephConnectedFromCinder(t *testing.T) {
	withCondition := func(status, reason, message string) map[string]*structpb.Struct {
		return map[string]*structpb.Struct{cinderv1.ServiceName: structOf(t, fields(t, "{status: {conditions: [{type: CephConnected, status: '"+
			status+"', reason: "+reason+", message: "+message+"}]}}"))}
	}
	for name, tc := range map[string]struct {
		reason, spec string
		observed     map[string]*structpb.Struct
		want         rules.Result
	}{
		"NoCinder": {reason: "There is no condition.", spec: "{}"},
		"Off":      {reason: "A disabled service has no condition.", spec: "{services: {cinder: {enabled: false}}}"},
		"NotYet":   {reason: "Cinder reports no condition yet.", spec: blocks("", "")},
		"Retired":  {reason: "The condition does not apply any more.", spec: blocks("", ""), observed: withCondition("Unknown", "NotApplicable", "none")},
		"True": {
			reason: "All clusters are reachable.", spec: blocks("", ""), observed: withCondition("True", "Connected", "all do"),
			want: rules.Result{Ready: true, Reason: "Connected", Message: "all do"},
		},
		"False": {
			reason: "One cluster is unreachable.", spec: blocks("", ""), observed: withCondition("False", "Unreachable", "one does not"),
			want: rules.Result{Reason: "Unreachable", Message: "one does not"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(input(t, tc.spec, queued, tc.observed))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, conditionOf(t, m, cinderv1.CephConnected)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestCompanionEgressPorts checks that the companion may connect only to the services that it calls.
func TestCompanionEgressPorts(t *testing.T) {
	for spec, want := range map[string][]int32{"{}": nil, blocks("", ""): {8776}} {
		m, err := derive(input(t, spec, queued, nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, m.companionPorts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}

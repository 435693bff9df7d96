package controlplane

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
)

// blocks is a claim with a Cinder that has a pool, and more.
func blocks(more, infrastructure string) string {
	return "{infrastructure: {" + infrastructure + "}, services: {glance: {enabled: true, stores: [{name: a, rbd: {secretRef: {name: ceph}}}]}, " +
		"cinder: {enabled: true, backends: [{name: ceph-rbd, rbd: {secretRef: {name: ceph}}}, {name: b, nfs: {shares: ['a:/b']}}]" + more + "}}}"
}

// TestCinderManagers: two of a pool where there are locks across pods, and one of everything else.
func TestCinderManagers(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, extraYAML, infrastructure string
		want                              []int32
		locks                             bool
	}{
		"nothing is said": {"Locks are in Valkey.", "", "", []int32{2, 1}, true},
		"said":            {"It is what the claim says.", ", volume: {replicas: 3}", "", []int32{3, 1}, true},
		"no Valkey":       {"Each would write what the other writes.", "", "valkey: {enabled: false}", []int32{1, 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(input(t, blocks(tc.extraYAML, tc.infrastructure), queued, nil))
			if err != nil {
				t.Fatal(err)
			}
			var got []int32
			for _, b := range m.spec.Services.Cinder.Backends {
				got = append(got, *m.managersOf(b).Replicas)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			s := m.services[slices.IndexFunc(m.services, func(s *serviceState) bool { return s.name == cinderv1.ServiceName })]
			xr := s.build(m, s).(*cinderv1.Cinder)
			if locks := xr.Spec.Coordination != nil; locks != tc.locks {
				t.Errorf("%s it is told of locks: %t", tc.reason, locks)
			}
		})
	}
}

// TestCinderValidation: what would lose volumes, or do nothing.
func TestCinderValidation(t *testing.T) {
	shared := map[string]*structpb.Struct{
		cinderv1.ServiceName: structOf(t, fields(t, "{spec: {coordination: {bindingSecretRef: {name: a}}}}")),
	}
	for name, tc := range map[string]struct {
		reason, extraYAML, infrastructure string
		observed                          map[string]*structpb.Struct
		field, words                      string
	}{
		"Valkey goes": {
			"Volumes belong to those who share its locks.", "", "valkey: {enabled: false}", shared,
			"spec.infrastructure.valkey.enabled", "leave it on",
		},
		"more managers than locks": {
			"Each would write what the other writes.", ", volume: {replicas: 2}", "valkey: {enabled: false}", nil,
			"spec.services.cinder.volume.replicas", "Valkey",
		},
		"no queue": {"Nobody would hear it.", "", "rabbitmq: {enabled: false}", nil, "spec.infrastructure.rabbitmq.enabled", "cinder needs the message queue"},
		"no room":  {"It would not start.", ", scheduler: {memory: 64Mi}", "", nil, "spec.services.cinder.scheduler.memory", "cannot hold"},
		"no time":  {"There is no such minute.", ", archive: {schedule: '99 * * * *'}", "", nil, "spec.services.cinder.archive.schedule", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := derive(input(t, blocks(tc.extraYAML, tc.infrastructure), queued, tc.observed))
			requireFieldError(t, tc.reason, err, tc.field, tc.words)
		})
	}
}

// TestCinderReport: the claim repeats what is known of backends, and nothing of what says nothing.
func TestCinderReport(t *testing.T) {
	m, err := derive(input(t, blocks("", ""), queued, map[string]*structpb.Struct{cinderv1.ServiceName: structOf(t, fields(t, `
status: {backends: [{name: ceph-rbd, phase: Ready, totalGiB: 100, availableGiB: 0}, {name: b, phase: Creating}, {name: c}, x]}`))}))
	if err != nil {
		t.Fatal(err)
	}
	s := m.services[len(m.services)-1]
	status := controlplanev1.ControlPlaneClusterStatus{}
	s.report(s, &status)
	want := []cinderv1.BackendStatus{{Name: "ceph-rbd", Phase: "Ready", TotalGiB: new(int64(100)), AvailableGiB: new(int64(0))}, {Name: "b", Phase: "Creating"}}
	if diff := cmp.Diff(want, status.Backends); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCephConnected: what Cinder says of the Cephs that volumes are in comes to the claim.
func TestCephConnected(t *testing.T) {
	says := func(status, reason, message string) map[string]*structpb.Struct {
		return map[string]*structpb.Struct{cinderv1.ServiceName: structOf(t, fields(t, "{status: {conditions: [{type: CephConnected, status: '"+
			status+"', reason: "+reason+", message: "+message+"}]}}"))}
	}
	for name, tc := range map[string]struct {
		reason, spec string
		observed     map[string]*structpb.Struct
		want         rules.Result
	}{
		"NoCinder": {reason: "There is nothing to say.", spec: "{}"},
		"Off":      {reason: "Nor of one that is off.", spec: "{services: {cinder: {enabled: false}}}"},
		"NotYet":   {reason: "It has said nothing.", spec: blocks("", "")},
		"Retired":  {reason: "It has nothing to say any more.", spec: blocks("", ""), observed: says("Unknown", "Retired", "none")},
		"True": {
			reason: "They answer.", spec: blocks("", ""), observed: says("True", "Connected", "all do"),
			want: rules.Result{Ready: true, Reason: "Connected", Message: "all do"},
		},
		"False": {
			reason: "One does not.", spec: blocks("", ""), observed: says("False", "Unreachable", "one does not"),
			want: rules.Result{Reason: "Unreachable", Message: "one does not"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(input(t, tc.spec, queued, tc.observed))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.cephConnected()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestCompanionEgressPorts: it reaches the services that it asks, and no others.
func TestCompanionEgressPorts(t *testing.T) {
	for spec, want := range map[string][]int32{"{}": nil, blocks("", ""): {8776}} {
		m, err := derive(input(t, spec, queued, nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, m.companionEgressPorts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}

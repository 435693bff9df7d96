package databasesync

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// TestRunning: the message describes the running attempt, with its number if it is not the first.
func TestRunning(t *testing.T) {
	w := &observation{sync: keystone("2025.1"), now: start}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}}
	for attempt, want := range map[int32]string{
		1: "step sync/db-sync of release 2025.1 runs in Job job",
		2: "step sync/db-sync of release 2025.1 runs in Job job, attempt 2",
	} {
		r := &record{Step: "sync/db-sync", Release: "2025.1", Attempt: attempt, Request: request(w.sync)}
		if got := w.running(r, j); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		r.Request = "earlier"
		if got := w.running(r, j); !strings.Contains(got, "for an earlier spec, which is completed first") {
			t.Error(got)
		}
	}
}

// TestJobOfOtherOwner: the message of a failure states that a new database may have the schema of another release that was
// started.
func TestJobOfOtherOwner(t *testing.T) {
	for started, want := range map[string]bool{"2025.2": true, "2025.1": false} {
		w := &observation{sync: keystone("2025.1"), now: start}
		w.sync.Status.History = []record{
			{Step: "sync/db-sync", Release: started, Hash: "a", Attempt: 1, Result: openstackv1.StepFailed},
			{Step: "sync/db-sync", Release: "2025.1", Hash: "b", Attempt: 1, Result: openstackv1.StepFailed},
		}
		got := w.failure(&w.sync.Status.History[1], start)
		if gotMessage := strings.Contains(got, ". The schema may already be that of release 2025.2 and cannot be downgraded"); gotMessage != want {
			t.Errorf("started for %s: %s", started, got)
		}
	}
}

// TestUpgradesSchemaOfEarlierRelease: a schema of an earlier release is upgraded, with an event.
func TestUpgradesSchemaOfEarlierRelease(t *testing.T) {
	w := &observation{sync: identified(keystone("2026.2")), now: start}
	w.sync.Status.SchemaRevision = "e8725d6fa226"
	p := w.matchRevision(w.sync.Spec.SchemaVersion)
	if p == nil || p.note != "the database has a schema of release 2026.1 (revision e8725d6fa226), which is being upgraded" {
		t.Fatalf("%+v", p)
	}
	if s := p.status; s.InstalledRelease != "2026.1" || s.ContractedRelease != "2026.1" || p.phase != openstackv1.SyncPhaseExpanding {
		t.Errorf("%s: %+v", p.phase, s)
	}
}

package databasesync

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// timeline records the externally visible behavior of a DatabaseSync: its phase and conditions when they change, and events.
type timeline struct {
	lines []string
	last  string
}

// watch records the current state.
func (s *timeline) watch(c *cluster) {
	status := c.sync().Status
	observed := []string{status.Phase}
	for _, name := range []string{conditionReady, conditionContracted} {
		if condition := meta.FindStatusCondition(status.Conditions, name); condition != nil {
			requested := map[bool]string{true: name, false: "not " + name}[condition.Status == "True"]
			observed = append(observed, requested+"="+condition.Reason)
		}
	}
	line := strings.Join(observed, " ")
	if line != s.last {
		s.lines, s.last = append(s.lines, line), line
	}
	for _, e := range controllertest.Events(c.events) {
		s.lines = append(s.lines, "- "+e)
	}
}

// TestReportsProgressOfSync: the visible behavior for a new database, and for an upgrade with a step that fails once.
func TestReportsProgressOfSync(t *testing.T) {
	c := newCluster(t, keystone("2025.1"), secret())
	r := c.reconciler(c.API)
	got, failed := &timeline{}, controllertest.Series(t, metrics, "")["companion_database_sync_failures_total"]
	ran := 0.0
	c.onPass = func() {
		got.watch(c)
		ran = max(ran, controllertest.Series(t, metrics, "")["companion_database_sync_running"])
	}
	c.reconcileUntil(r, "the end", finished)
	fails := 1
	c.exits = func(r record) int32 {
		if r.Step == "expand/expand" && fails > 0 {
			fails--
			return 7
		}
		return 0
	}
	c.order("2025.2")
	c.reconcileUntil(r, "the end", finished)
	want := []string{
		"Syncing not Ready=Progressing not Contracted=NotInstalled",
		"- Normal Schema started step sync/db-sync of release 2025.1, attempt 1",
		"Syncing not Ready=Running not Contracted=NotInstalled",
		"Syncing not Ready=Progressing not Contracted=NotInstalled",
		"- Normal Schema step sync/db-sync of release 2025.1 succeeded",
		"RollingOut Ready=Installed Contracted=StepsCompleted",
		"- Normal Schema the schema serves release 2025.1",
		"Done Ready=Installed Contracted=StepsCompleted",
		"Expanding not Ready=Progressing not Contracted=NotInstalled",
		"- Normal Schema started step check/upgrade-check of release 2025.2, attempt 1",
		"Expanding not Ready=Running not Contracted=NotInstalled",
		"Expanding not Ready=Progressing not Contracted=NotInstalled",
		"- Normal Schema step check/upgrade-check of release 2025.2 succeeded",
		"- Normal Schema started step expand/expand of release 2025.2, attempt 1",
		"Expanding not Ready=Running not Contracted=NotInstalled",
		"Expanding not Ready=Progressing not Contracted=NotInstalled",
		"- Warning Failed step expand/expand of release 2025.2, attempt 1: exit code 7, last line",
		"Failed not Ready=StepFailed not Contracted=NotInstalled",
		"Expanding not Ready=Progressing not Contracted=NotInstalled",
		"- Normal Schema started step expand/expand of release 2025.2, attempt 2",
		"Expanding not Ready=Running not Contracted=NotInstalled",
		"Expanding not Ready=Progressing not Contracted=NotInstalled",
		"- Normal Schema step expand/expand of release 2025.2 succeeded",
		"RollingOut Ready=Installed not Contracted=Progressing",
		"- Normal Schema the schema serves release 2025.2",
		"RollingOut Ready=Installed not Contracted=RollingOut",
		"Contracting Ready=Installed not Contracted=Progressing",
		"- Normal Schema started step contract/contract of release 2025.2, attempt 1",
		"Contracting Ready=Installed not Contracted=Running",
		"Contracting Ready=Installed not Contracted=Progressing",
		"- Normal Schema step contract/contract of release 2025.2 succeeded",
		"Migrating Ready=Installed not Contracted=Progressing",
		"- Normal Schema started step migrate/online of release 2025.2, attempt 1",
		"Migrating Ready=Installed not Contracted=Running",
		"Migrating Ready=Installed not Contracted=Progressing",
		"- Normal Schema step migrate/online of release 2025.2 succeeded",
		"Done Ready=Installed Contracted=StepsCompleted",
	}
	if diff := cmp.Diff(want, got.lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if now := controllertest.Series(t, metrics, "")["companion_database_sync_running"]; ran != 1 || now != 0 {
		t.Errorf("at most %v steps ran, and %v do", ran, now)
	}
	if n := controllertest.Series(t, metrics, "")["companion_database_sync_failures_total"] - failed; n != 1 {
		t.Errorf("%v failures", n)
	}
	ended := last(c.sync()).Finished
	if at := controllertest.Series(t, metrics, "")["companion_database_sync_last_success_timestamp_seconds"]; at != float64(ended.Unix()) {
		t.Errorf("the last success was at %v, not at %v", at, ended.Unix())
	}
}

// TestRequeue: the next pass follows immediately while there are changes, at a known time, or otherwise after a few seconds
// for dependencies that are not watched.
func TestRequeue(t *testing.T) {
	for name, tc := range map[string]struct {
		plan plan
		want time.Duration
	}{
		"Again":   {plan{requeue: true, phase: openstackv1.SyncPhaseDone}, controller.MinRequeueInterval},
		"At":      {plan{at: start.Add(time.Minute), phase: openstackv1.SyncPhaseFailed}, time.Minute},
		"Refused": {plan{rejected: true, phase: openstackv1.SyncPhaseFailed}, controller.ResyncInterval},
		"Done":    {plan{phase: openstackv1.SyncPhaseDone}, controller.ResyncInterval},
		"Waits":   {plan{phase: openstackv1.SyncPhaseRollingOut}, 5 * time.Second},
	} {
		if got := tc.plan.requeueAfter(&observation{now: start}); got != tc.want {
			t.Errorf("%s: after %s, want %s", name, got, tc.want)
		}
	}
}

// TestSteps: a step is identified by its release, image, name and commands: if one of them changes, it runs again.
func TestSteps(t *testing.T) {
	observed := map[string]string{}
	for name, change := range map[string]func(*openstackv1.DatabaseSync){
		"Unchanged": func(*openstackv1.DatabaseSync) {},
		"Release":   func(s *openstackv1.DatabaseSync) { s.Spec.Release = "2025.2" },
		"Image":     func(s *openstackv1.DatabaseSync) { s.Spec.Template.Spec.Containers[0].Image = "another" },
		"Command":   func(s *openstackv1.DatabaseSync) { s.Spec.Sync[0].Command.Command[1] = "another" },
	} {
		s := keystone("2025.1")
		change(s)
		for _, p := range []phase{syncing, expanding} {
			if p == expanding {
				s.Spec.Expand = s.Spec.Sync // The same step in another phase is a different one.
			}
			hash := steps(&s.Spec, p)[0].hash
			if other := observed[hash]; other != "" {
				t.Errorf("%s in phase %s has the identity of %s", name, p, other)
			}
			observed[hash] = name
		}
		if hash := target(&s.Spec); observed[hash] != "" {
			t.Errorf("%s as a whole has the identity of %s", name, observed[hash])
		} else {
			observed[hash] = name
		}
	}
	for _, part := range []func(*openstackv1.DatabaseSyncSpec){
		func(s *openstackv1.DatabaseSyncSpec) { s.Expand = nil },
		func(s *openstackv1.DatabaseSyncSpec) { s.Contract = nil },
		func(s *openstackv1.DatabaseSyncSpec) { s.OnlineMigrations = nil },
		func(s *openstackv1.DatabaseSyncSpec) { s.UpgradeCheck = nil },
	} {
		s := keystone("2025.1")
		before := target(&s.Spec)
		part(&s.Spec)
		if target(&s.Spec) == before {
			t.Errorf("%+v has an unchanged hash", s.Spec)
		}
	}
}

// TestRequest: a failed step runs again when the spec or the annotation changes.
func TestRequest(t *testing.T) {
	s := keystone("2025.1")
	before := request(s)
	s.Generation++
	edited := request(s)
	s.Annotations = map[string]string{RetryAnnotation: "1"}
	if retried := request(s); edited == before || retried == edited || retried == before {
		t.Errorf("%s, %s, %s", before, edited, retried)
	}
}

// TestTimesOfJobs: four hours for a step and one more for the start of its pod, and a TTL of one day; ten minutes for steps
// that may repeat thousands of times.
func TestTimesOfJobs(t *testing.T) {
	sync := keystone("2025.1")
	for p, keep := range map[phase]int32{syncing: 86400, migrating: 600} {
		s := steps(&sync.Spec, p)[0]
		j := newJob(sync, s, &record{Step: s.key(), Hash: s.hash, Attempt: 1})
		got := [3]int64{*j.Spec.Template.Spec.ActiveDeadlineSeconds, *j.Spec.ActiveDeadlineSeconds, int64(*j.Spec.TTLSecondsAfterFinished)}
		if want := [3]int64{14400, 18000, int64(keep)}; got != want {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
	}
}

// TestJobsAndPodsHaveSchemaLabels: Jobs and pods have labels for their schema, for any name, and for their step.
func TestJobsAndPodsHaveSchemaLabels(t *testing.T) {
	sync := keystone("2025.1")
	s := steps(&sync.Spec, syncing)[0]
	j := newJob(sync, s, &record{Step: s.key(), Hash: s.hash, Attempt: 1})
	want := map[string]string{"app": "schema", "openstack.c5c3.io/database-sync": "keystone", "openstack.c5c3.io/step": "sync.db-sync"}
	for of, labels := range map[string]map[string]string{"Job": j.Labels, "pod": j.Spec.Template.Labels} {
		if diff := cmp.Diff(want, labels); diff != "" {
			t.Errorf("%s (-want +got):\n%s", of, diff)
		}
	}
	if owner := j.OwnerReferences[0]; owner.Kind != "DatabaseSync" || owner.APIVersion != "openstack.c5c3.io/v1alpha1" ||
		j.Namespace != namespace {
		t.Errorf("owner %+v", owner)
	}
	name63, name64 := fmt.Sprintf("%063d", 0), fmt.Sprintf("%064d", 0)
	if got := syncLabelValue(name63); got != name63 {
		t.Errorf("%s becomes %s", name63, got)
	}
	if got := syncLabelValue(name64); len(got) != 63 || got == syncLabelValue(name64+"0") {
		t.Errorf("%s becomes %s", name64, got)
	}
	sync.Name = name64
	if got := newJob(sync, s, &record{Step: s.key()}).Name; len(got) != 63 {
		t.Errorf("%s has %d letters", got, len(got))
	}
	// The annotation of a template has precedence.
	sync.Spec.Template.Annotations = map[string]string{evictAnnotation: "true"}
	if got := newJob(sync, s, &record{Step: s.key()}).Spec.Template.Annotations[evictAnnotation]; got != "true" {
		t.Errorf("%s is %q", evictAnnotation, got)
	}
}

// TestAttemptOf: a Job without a complete record belongs to no attempt.
func TestAttemptOf(t *testing.T) {
	for text, want := range map[string]bool{
		`{"step":"sync/x","hash":"h"}`: true, `{"step":"sync/x"}`: false, `{"hash":"h"}`: false, `{}`: false, `{`: false, "": false,
	} {
		j := &batchv1.Job{}
		j.Annotations = map[string]string{"openstack.c5c3.io/attempt": text}
		if _, ok := attemptOf(j); ok != want {
			t.Errorf("%s: %v", text, ok)
		}
	}
}

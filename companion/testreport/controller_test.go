package testreport

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

const namespace, name = "team-a-prod-12345", "tempest"

var scheme = faultinjection.NewScheme(batchv1.AddToScheme, corev1.AddToScheme, openstackv1.AddToScheme)

// start is the start time of the first run.
var start = time.Date(2026, 5, 1, 2, 0, 0, 0, time.UTC)

// job returns a run that started the given number of minutes after the first, and took one. condition is Complete or Failed;
// "" if it is running.
func job(id string, minutes int, condition batchv1.JobConditionType) *batchv1.Job {
	began := metav1.Time{Time: start.Add(time.Duration(minutes) * time.Minute)}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: name + "-" + id, Namespace: namespace, UID: types.UID(id),
		OwnerReferences: []metav1.OwnerReference{{Kind: "CronJob", Name: name, Controller: new(true)}},
	}}
	j.Status.StartTime = &began
	if condition != "" {
		j.Status.Conditions = []batchv1.JobCondition{{
			Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: began.Add(time.Minute)},
		}}
	}
	return j
}

// pod returns the pod of a Job, which ended with a code and a message.
func pod(of *batchv1.Job, code int32, message string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: of.Name + "-x", Namespace: namespace, Labels: map[string]string{batchv1.ControllerUidLabel: string(of.UID)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(of, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "tempest"}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "tempest", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}},
		}}},
	}
}

// cluster is the environment of the controller.
type cluster struct {
	t      *testing.T
	api    client.WithWatch
	events *events.FakeRecorder
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	report := &openstackv1.TestReport{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Generation: 3},
		Spec:       openstackv1.TestReportSpec{CronJobName: name},
	}
	api := faultinjection.NewServer(scheme, []client.Object{report}, append(objects, report)...)
	return &cluster{t: t, api: api, events: events.NewFakeRecorder(10)}
}

// pass runs one pass, and returns the report and the events.
func (c *cluster) pass() (*openstackv1.TestReport, string) {
	c.t.Helper()
	r := &Reconciler{Client: c.api, Reader: c.api, Events: c.events, Clock: clocktesting.NewFakePassiveClock(start.Add(time.Hour))}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if _, err := r.Reconcile(c.t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		c.t.Fatal(err)
	}
	out := &openstackv1.TestReport{}
	if err := c.api.Get(c.t.Context(), key, out); err != nil {
		c.t.Fatal(err)
	}
	return out, strings.Join(controllertest.Events(c.events), "\n")
}

// outcomeState returns the condition as a string.
func outcomeState(r *openstackv1.TestReport) string {
	if len(r.Status.Conditions) == 0 {
		return ""
	}
	is := r.Status.Conditions[0]
	return fmt.Sprintf("%s %s: %s", is.Status, is.Reason, is.Message)
}

// TestReportsResultOfRun: the result of a run is its termination message, or that none exists.
func TestReportsResultOfRun(t *testing.T) {
	complete, failed := job("1", 0, batchv1.JobComplete), job("1", 0, batchv1.JobFailed)
	at := &metav1.Time{Time: start}
	long := strings.Repeat("x", 500)
	for name, tc := range map[string]struct {
		reason       string
		objects      []client.Object
		outcomeState string
		tests        *common.TestStatus
	}{
		"None": {reason: "There is no condition before the first run."},
		"Runs": {reason: "Nor while it runs.", objects: []client.Object{job("1", 0, "")}},
		"Passed": {
			"All passed.", []client.Object{complete, pod(complete, 0, `{"passed":18,"failed":0,"skipped":2,"failures":[],"problem":""}`)},
			"True TestsPassed: 18 tests passed, 2 skipped",
			&common.TestStatus{LastRun: at, LastDurationSeconds: 60, Passed: 18, Skipped: 2},
		},
		"Failed": {
			"The message contains the failed tests.",
			[]client.Object{failed, pod(failed, 1, `{"passed":16,"failed":2,"skipped":0,"failures":["a","b"],"problem":"left: user x"}`)},
			"False TestsFailed: 2 of 18 tests failed: a, b; left: user x",
			&common.TestStatus{LastRun: at, LastDurationSeconds: 60, Passed: 16, Failed: 2},
		},
		"Long": {
			"Names are truncated.", []client.Object{failed, pod(failed, 1, `{"failed":1,"failures":["`+long+`"]}`)},
			"False TestsFailed: 1 of 1 tests failed: " + long[:256],
			&common.TestStatus{LastRun: at, LastDurationSeconds: 60, Failed: 1},
		},
		"Problem": {
			"A run with leftovers has not passed.",
			[]client.Object{failed, pod(failed, 1, `{"passed":3,"problem":"1 things could not be removed: user x"}`)},
			"False RunFailed: 1 things could not be removed: user x",
			&common.TestStatus{LastRun: at, LastDurationSeconds: 60, Passed: 3},
		},
		"Nothing": {
			"Skipped tests do not count as passed.", []client.Object{complete, pod(complete, 0, `{"skipped":3}`)},
			"False NoTests: no test was run: all selected tests are excluded",
			&common.TestStatus{LastRun: at, LastDurationSeconds: 60, Skipped: 3},
		},
		"Killed": {
			"A killed container writes no message.", []client.Object{failed, pod(failed, 137, "")},
			"False NoResult: Job tempest-1 ended without a result: its container ended with exit code 137; the next run cleans up its leftovers",
			&common.TestStatus{LastRun: at, LastDurationSeconds: 60},
		},
		"Gone": {
			"Nor does a deleted pod.", []client.Object{failed},
			"False NoResult: Job tempest-1 ended without a result: its pod no longer exists (no reason is known); the next run cleans up its " +
				"leftovers",
			&common.TestStatus{LastRun: at, LastDurationSeconds: 60},
		},
		"Else": {
			"Other messages are no result.", []client.Object{failed, pod(failed, 1, "Traceback")},
			"False NoResult: Job tempest-1 ended without a result: its container ended with exit code 1; the next run cleans up its leftovers",
			&common.TestStatus{LastRun: at, LastDurationSeconds: 60},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, tc.objects...)
			r, reported := c.pass()
			if diff := cmp.Diff(tc.outcomeState, outcomeState(r)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.tests, r.Status.Tests, cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if r.Status.ObservedGeneration != 3 {
				t.Errorf("of generation %d", r.Status.ObservedGeneration)
			}
			if (reported == "") != (tc.tests == nil) {
				t.Errorf("%s\ntold is %q", tc.reason, reported)
			}
			if _, repeated := c.pass(); repeated != "" {
				t.Errorf("%s\nrepeated event: %s", tc.reason, repeated)
			}
		})
	}
}

// TestLast: the last finished run counts; a recorded run is kept when its Job is deleted, and is not replaced by an earlier
// one.
func TestLast(t *testing.T) {
	first, second, other := job("1", 0, batchv1.JobFailed), job("2", 60, batchv1.JobComplete), job("9", 90, batchv1.JobFailed)
	other.OwnerReferences[0].Name = "another"
	c := newCluster(t, first, pod(first, 1, `{"failed":1,"failures":["a"]}`), other, job("3", 120, ""))
	if r, _ := c.pass(); !strings.HasPrefix(outcomeState(r), "False TestsFailed") {
		t.Error(outcomeState(r))
	}
	for _, o := range []client.Object{second, pod(second, 0, `{"passed":1}`)} {
		if err := c.api.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if r, _ := c.pass(); !strings.HasPrefix(outcomeState(r), "True TestsPassed") {
		t.Error(outcomeState(r))
	}
	if err := c.api.Delete(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if r, reported := c.pass(); !strings.HasPrefix(outcomeState(r), "True TestsPassed") || r.Status.JobUID != "2" || reported != "" {
		t.Errorf("%s of %s, events %q", outcomeState(r), r.Status.JobUID, reported)
	}
}

package batchjob

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/jsonannotation"
)

var now = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

type run = openstackv1.OVNSyncRun

// runner is an OVNSync that requires a run for each generation.
type runner struct {
	Observation

	sync     *openstackv1.OVNSync
	rejected string
	reported []string
}

func newRunner(last *openstackv1.JobRun) *runner {
	sync := &openstackv1.OVNSync{ObjectMeta: metav1.ObjectMeta{Name: "neutron", Namespace: "cloud", UID: "sync-uid", Generation: 2}}
	w := &runner{sync: sync, Observation: Observation{
		Kind: &Kind{
			Name: "OVNSync", Object: &openstackv1.OVNSync{}, Annotation: "run", Reserved: "its Job", Starting: "creating the Job",
			Runs: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "runs_total", Help: "Runs by result."},
				[]string{"namespace", "name", "command", "result"}),
		},
		Owner: sync, Template: &sync.Spec.Template, Name: "job", Labels: client.MatchingLabels{"job": "job"}, Now: now,
	}}
	sync.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "neutron", EnvFrom: []corev1.EnvFromSource{{
			SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "database"}},
		}},
	}}
	if last != nil {
		sync.Status.Run = &run{JobRun: *last}
	}
	return w
}

func (w *runner) LastRun() *openstackv1.JobRun {
	if w.sync.Status.Run == nil {
		return nil
	}
	return &w.sync.Status.Run.JobRun
}

func (w *runner) NextRun() *run {
	r := &run{JobRun: openstackv1.JobRun{Number: 1, Generation: w.sync.Generation}}
	if last := w.LastRun(); last != nil {
		if last.Result == openstackv1.JobRunSucceeded && last.Generation == w.sync.Generation {
			return nil
		}
		r.Number = last.Number + 1
	}
	return r
}

func (w *runner) RejectReason() string   { return w.rejected }
func (w *runner) RecordRun(r *run)       { w.sync.Status.Run = r }
func (w *runner) Report(why string)      { w.reported = append(w.reported, why) }
func (w *runner) Command() string        { return "Log" }
func (w *runner) Title() string          { return "a comparison" }
func (w *runner) WaitsFor(string) string { return "waiting for another owner" }

func (w *runner) EvaluateRun(res Result) *controller.Decision {
	return EndRun(w, openstackv1.JobRunSucceeded, res, "", func() { w.sync.Status.Run.Failures = 0 })
}

func (w *runner) FailRun(result string, res Result) *controller.Decision {
	return EndRun(w, result, res, "the comparison", func() {})
}

func (w *runner) NewJob(r *run) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: w.Name, Namespace: "cloud", UID: "job-uid",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w.sync, openstackv1.GroupVersion.WithKind("OVNSync"))},
	}, Spec: batchv1.JobSpec{Suspend: new(true)}}
	jsonannotation.Write(&j.ObjectMeta, w.Kind.Annotation, r)
	return j
}

// ownJob returns the Job of the owner in a state.
func (w *runner) ownJob(change ...func(*batchv1.Job)) *batchv1.Job {
	j := w.NewJob(w.NextRun())
	for _, do := range change {
		do(j)
	}
	return j
}

func released(j *batchv1.Job) { j.Spec.Suspend = new(false) }

func ended(result batchv1.JobConditionType) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Spec.Suspend = new(false)
		j.Status.Conditions = []batchv1.JobCondition{{Type: result, Status: corev1.ConditionTrue, Reason: "Ended"}}
	}
}

func deleting(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{Time: now} }

func ownedBy(kind string, uid types.UID) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "other", UID: uid, Controller: new(true)}}
	}
}

// pod returns a pod of the Job with the UID.
func pod(job types.UID, phase corev1.PodPhase) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", OwnerReferences: []metav1.OwnerReference{{UID: job, Controller: new(true)}}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "neutron"}}}, Status: corev1.PodStatus{Phase: phase},
	}
}

func rules(w *runner) controller.Decision {
	return controller.First([]func(*runner) *controller.Decision{FinishRun[*runner], AdoptJob[*runner], StartRun[*runner]}, w)
}

// TestEachStateHasOneStep: each state of the record, the Job and its pods has one step. A Job is released only after it was recorded, and a
// name is free only when nothing can write any more.
func TestEachStateHasOneStep(t *testing.T) {
	const neverStarted, nameRequired = "it never started and is no longer needed", "it has ended, and the next Job requires its name"
	recorded := &openstackv1.JobRun{Number: 1, Generation: 2, JobUID: "job-uid"}
	earlier := &openstackv1.JobRun{Number: 1, Generation: 1, JobUID: "job-uid"}
	failed := &openstackv1.JobRun{
		Number: 1, Generation: 2, JobUID: "old", Result: openstackv1.JobRunFailed, Failures: 2,
		Finished: &metav1.Time{Time: now.Add(-5 * time.Second)},
	}
	succeeded := &openstackv1.JobRun{Number: 1, Generation: 2, JobUID: "old", Result: openstackv1.JobRunSucceeded}
	orphan := pod("deleted", corev1.PodRunning)
	for name, tc := range map[string]struct {
		reason string
		last   *openstackv1.JobRun
		do     func(*runner)
		// want is the name of the step. wait is the reported reason for waiting, or the reason of the step.
		want, wait string
		after      time.Duration
	}{
		"nothing to do": {reason: "The run of the spec has succeeded.", last: succeeded, want: "Idle"},
		"new":           {reason: "The Job is created.", want: "Created", wait: "creating the Job"},
		"missing": {
			reason: "The pod would not start.", do: func(w *runner) { w.Missing = []string{"Secret database"} },
			wait: "spec.template refers to Secret database, which does not exist", after: controller.Poll,
		},
		"orphan before a run": {
			reason: "The pod may still write.", do: func(w *runner) { w.Pods = []corev1.Pod{orphan} },
			wait: "Pod pod outlived its Job and must end first", after: controller.Poll,
		},
		"delay": {reason: "The second failure delays for 20 s.", last: failed, after: 15 * time.Second},
		"delay is over": {
			reason: "The delay has passed.", last: failed, do: func(w *runner) { w.Now = now.Add(15 * time.Second) },
			want: "Created", wait: "creating the Job",
		},
		"delay of an earlier spec": {
			reason: "A changed spec is applied immediately.", last: failed, do: func(w *runner) { w.sync.Generation = 3 },
			want: "Created", wait: "creating the Job",
		},
		"created": {
			reason: "It is recorded before it is released.", do: func(w *runner) { w.Job = w.ownJob() },
			want: "Recorded", wait: "creating the Job", after: controller.MinRequeueInterval,
		},
		"created for another run": {
			reason: "It would run for an earlier spec.", do: func(w *runner) { w.Job = w.ownJob(); w.sync.Generation = 3 },
			want: "JobRemoved", wait: neverStarted,
		},
		"created without a run": {
			reason: "Its run is unknown.", do: func(w *runner) { w.Job = w.ownJob(); w.Job.Annotations["run"] = `{"number": 0}` },
			want: "JobRemoved", wait: neverStarted,
		},
		"rejected": {
			reason: "It is not needed.", do: func(w *runner) { w.Job, w.rejected = w.ownJob(), "no" }, want: "JobRemoved", wait: neverStarted,
		},
		"not needed": {reason: "The run has succeeded.", last: succeeded, do: func(w *runner) {
			w.Job = w.NewJob(&run{JobRun: openstackv1.JobRun{Number: 2, Generation: 2}})
		}, want: "JobRemoved", wait: neverStarted},
		"created and being deleted": {
			reason: "Its name is not free.", do: func(w *runner) { w.Job = w.ownJob(deleting) },
			wait: "waiting for another owner", after: controller.Poll,
		},
		"ended without a record": {
			reason: "Its effect is unknown.", do: func(w *runner) { w.Job = w.ownJob(ended(batchv1.JobComplete)) },
			want: "JobRemoved", wait: "the Job ended without a record of its run; it is deleted",
		},
		"ended without a record, during a delay": {
			reason: "The record is of another Job.", last: failed, do: func(w *runner) { w.Job = w.ownJob(ended(batchv1.JobComplete)) },
			want: "JobRemoved", wait: "the Job ended without a record of its run; it is deleted",
		},
		"ended with a record": {
			reason: "The result is recorded.", last: failed, do: func(w *runner) {
				w.Job, w.Now = w.ownJob(ended(batchv1.JobFailed)), now.Add(time.Minute)
				w.sync.Status.Run.JobUID = "job-uid"
			},
			want: "JobRemoved", wait: nameRequired,
		},
		"name of another owner": {
			reason: "Objects of others are not changed.", do: func(w *runner) { w.Job = w.ownJob(ownedBy("CronJob", "x")) },
			wait: "Job job uses the name reserved for its Job but is not owned by one: delete it", after: controller.Poll,
		},
		"name of a sibling that runs": {
			reason: "One Job runs at a time.", do: func(w *runner) { w.Job = w.ownJob(ownedBy("OVNSync", "sibling"), released) },
			wait: "waiting for another owner", after: controller.Poll,
		},
		"name of a sibling that has not recorded the end": {
			reason: "The result would be lost.", do: func(w *runner) {
				w.Job = w.ownJob(ownedBy("OVNSync", "sibling"), ended(batchv1.JobComplete))
				w.Siblings = map[types.UID]*openstackv1.JobRun{"sibling": recorded}
			},
			wait: "waiting for another owner", after: controller.Poll,
		},
		"name of a sibling without a record": {
			reason: "The sibling will delete it.", do: func(w *runner) {
				w.Job = w.ownJob(ownedBy("OVNSync", "sibling"), ended(batchv1.JobComplete))
				w.Siblings = map[types.UID]*openstackv1.JobRun{"sibling": nil}
			},
			wait: "waiting for another owner", after: controller.Poll,
		},
		"name of a sibling that has recorded the end": {
			reason: "The Job is no longer needed.", do: func(w *runner) {
				w.Job = w.ownJob(ownedBy("OVNSync", "sibling"), ended(batchv1.JobComplete))
				w.Siblings = map[types.UID]*openstackv1.JobRun{"sibling": {JobUID: "job-uid", Result: openstackv1.JobRunFailed}}
			}, want: "JobRemoved", wait: nameRequired,
		},
		"name of a sibling that has recorded the end of an earlier Job": {
			reason: "The result would be lost.", do: func(w *runner) {
				w.Job = w.ownJob(ownedBy("OVNSync", "sibling"), ended(batchv1.JobComplete))
				w.Siblings = map[types.UID]*openstackv1.JobRun{"sibling": {JobUID: "earlier", Result: openstackv1.JobRunFailed}}
			},
			wait: "waiting for another owner", after: controller.Poll,
		},
		"name of a deleted owner": {
			reason: "Its result will not be recorded.",
			do:     func(w *runner) { w.Job = w.ownJob(ownedBy("OVNSync", "gone"), ended(batchv1.JobComplete)) },
			want:   "JobRemoved", wait: nameRequired,
		},
		"name of a deleted owner, being deleted": {
			reason: "It is deleted once.",
			do:     func(w *runner) { w.Job = w.ownJob(ownedBy("OVNSync", "gone"), ended(batchv1.JobComplete), deleting) },
			wait:   "waiting for another owner", after: controller.Poll,
		},
		"ended with a pod that runs": {
			reason: "It may still write.", do: func(w *runner) {
				w.Job = w.ownJob(ownedBy("OVNSync", "gone"), ended(batchv1.JobFailed))
				w.Pods = []corev1.Pod{pod("job-uid", corev1.PodRunning)}
			},
			wait: "waiting for another owner", after: controller.Poll,
		},

		"recorded": {reason: "It is released.", last: recorded, do: func(w *runner) { w.Job = w.ownJob() }, want: "Released"},
		"recorded, with an orphan": {
			reason: "The pod of an earlier Job may still write.", last: recorded,
			do:   func(w *runner) { w.Job, w.Pods = w.ownJob(), []corev1.Pod{orphan} },
			wait: "waiting for Pod pod to end", after: controller.Poll,
		},
		"recorded and being deleted": {
			reason: "It is lost once it is deleted.", last: recorded, do: func(w *runner) { w.Job = w.ownJob(deleting) },
			wait: "waiting for Job job to be deleted", after: controller.Poll,
		},
		"recorded for an earlier spec": {
			reason: "It has not started.", last: earlier, do: func(w *runner) { w.Job = w.ownJob(released) },
			want: "JobRemoved", wait: "it was created for an earlier spec and has not started",
		},
		"runs for an earlier spec": {
			reason: "It has started, and is completed first.", last: earlier,
			do:   func(w *runner) { w.Job, w.Pods = w.ownJob(released), []corev1.Pod{pod("job-uid", corev1.PodSucceeded)} },
			wait: "a comparison runs in Job job", after: controller.Poll,
		},
		"runs": {
			reason: "Its result is awaited.", last: recorded, do: func(w *runner) { w.Job = w.ownJob(released) },
			wait: "a comparison runs in Job job", after: controller.Poll,
		},
		"pod cannot start": {
			reason: "The condition contains the reason.", last: recorded, do: func(w *runner) {
				p := pod("job-uid", corev1.PodPending)
				state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: state}}
				w.Job, w.Pods = w.ownJob(released), []corev1.Pod{p}
			},
			wait: "a comparison runs in Job job: its pod cannot start: ErrImagePull", after: controller.Poll,
		},
		"ended, its pod runs": {
			reason: "It may still write.", last: recorded, do: func(w *runner) {
				w.Job, w.Pods = w.ownJob(ended(batchv1.JobFailed)), []corev1.Pod{pod("job-uid", corev1.PodRunning)}
			},
			wait: "a comparison runs in Job job", after: controller.Poll,
		},
		"ended": {reason: "The result is recorded.", last: recorded, do: func(w *runner) {
			w.Job = w.ownJob(ended(batchv1.JobComplete))
		}, want: "Log"},
		"lost": {reason: "It may have run.", last: recorded, want: "Log"},
		"lost, with an orphan": {
			reason: "Its pod may still write.", last: recorded, do: func(w *runner) { w.Pods = []corev1.Pod{orphan} },
			wait: "Pod pod outlived its Job and must end first", after: controller.Poll,
		},
		"another Job with its name": {reason: "The recorded one may have run.", last: recorded, do: func(w *runner) {
			w.Job = w.ownJob(func(j *batchv1.Job) { j.UID = "other" })
		}, want: "Log"},
	} {
		t.Run(name, func(t *testing.T) {
			var last *openstackv1.JobRun
			if tc.last != nil {
				last = tc.last.DeepCopy()
			}
			w := newRunner(last)
			if tc.do != nil {
				tc.do(w)
			}
			d := rules(w)
			if d.Status != nil {
				d.Status()
			}
			wait := d.Wait
			if len(w.reported) > 0 && wait == "" {
				wait = w.reported[0]
			}
			if d.Name != tc.want || wait != tc.wait || d.RequeueAfter != tc.after {
				t.Errorf("%s\n got %q, %q, %s\nwant %q, %q, %s", tc.reason, d.Name, wait, d.RequeueAfter, tc.want, tc.wait, tc.after)
			}
		})
	}
}

// TestRecordsJobBeforeItsRelease: the status identifies the Job before it is released, and is written even if it is unchanged.
func TestRecordsJobBeforeItsRelease(t *testing.T) {
	w := newRunner(nil)
	w.Job = w.ownJob()
	d := rules(w)
	d.Status()
	want := &run{JobRun: openstackv1.JobRun{Number: 1, Generation: 2, JobUID: "job-uid", Started: &metav1.Time{Time: now}}}
	if diff := cmp.Diff(want, w.sync.Status.Run); diff != "" || !d.Record || !d.Expected {
		t.Errorf("%+v (-want +got):\n%s", d, diff)
	}
	w = newRunner(nil)
	w.Kind.Starting, w.Job = "", w.ownJob()
	if d := rules(w); d.Expected {
		t.Error("without a reason for waiting, the conditions of the recorded state are not expected")
	}
}

// TestEndRun: the record contains the result, counts failures, and has a redacted log only of a failure.
func TestEndRun(t *testing.T) {
	finished := &metav1.Time{Time: now}
	for name, tc := range map[string]struct {
		reason string
		job    func(*batchv1.Job)
		code   *int32
		output string
		want   openstackv1.JobRun
		note   string
		warns  bool
	}{
		"succeeded": {
			reason: "Earlier failures no longer count.", job: ended(batchv1.JobComplete), code: new(int32(0)), output: "done",
			want: openstackv1.JobRun{Result: openstackv1.JobRunSucceeded, ExitCode: new(int32(0))},
		},
		"failed": {
			reason: "The log contains no password.", job: ended(batchv1.JobFailed), code: new(int32(3)),
			output: "a\nmysql://neutron:hunter2@db refused",
			want: openstackv1.JobRun{
				Result: openstackv1.JobRunFailed, ExitCode: new(int32(3)), Failures: 3, Log: "a\nmysql://neutron:***@db refused",
			},
			note: "the comparison failed: exit code 3, mysql://neutron:***@db refused", warns: true,
		},
		"unknown": {
			reason: "The pod has no exit code.", job: ended(batchv1.JobFailed),
			want: openstackv1.JobRun{Result: openstackv1.JobRunFailed, Failures: 3, Log: "Ended"}, note: "the comparison failed: Ended", warns: true,
		},
		"lost": {
			reason: "This is not a failure of the command.", job: func(j *batchv1.Job) { j.UID = "other" },
			want: openstackv1.JobRun{Result: openstackv1.JobRunLost, Failures: 3, Log: "its Job disappeared before its result was recorded"},
			note: "the comparison failed: its Job disappeared before its result was recorded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRunner(&openstackv1.JobRun{Number: 1, Generation: 2, JobUID: "job-uid", Failures: 2})
			p := pod("job-uid", corev1.PodSucceeded)
			if tc.code != nil {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{
					Name: "neutron", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: *tc.code}},
				}}
			}
			w.Job, w.Pods, w.Output = w.ownJob(tc.job), []corev1.Pod{p}, tc.output
			d := rules(w)
			d.Status()
			tc.want.Number, tc.want.Generation, tc.want.JobUID, tc.want.Finished = 1, 2, "job-uid", finished
			if diff := cmp.Diff(tc.want, w.sync.Status.Run.JobRun); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if d.Note != tc.note || d.Warning != tc.warns || !d.Record || !d.Expected {
				t.Errorf("%s: %+v", tc.reason, d)
			}
			if err := d.Action(t.Context(), nil); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]string{"Log", "neutron", "cloud", tc.want.Result}, countedLabels(t, w.Kind.Runs)); diff != "" {
				t.Errorf("counted runs (-want +got):\n%s", diff)
			}
		})
	}
}

// countedLabels returns the values of the labels, sorted by their names, of a counter that was increased once.
func countedLabels(t *testing.T, c *prometheus.CounterVec) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || len(families[0].GetMetric()) != 1 || families[0].GetMetric()[0].GetCounter().GetValue() != 1 {
		t.Fatalf("%v, %v", families, err)
	}
	var out []string
	for _, l := range families[0].GetMetric()[0].GetLabel() {
		out = append(out, l.GetValue())
	}
	return out
}

// TestObserve: the output of a finished run is read, and otherwise the references of the next run. A record that was changed
// while the Job was read is a conflict.
func TestObserve(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{batchv1.AddToScheme, corev1.AddToScheme, openstackv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	recorded := &openstackv1.JobRun{Number: 1, Generation: 2, JobUID: "job-uid"}
	complete := []func(*batchv1.Job){ended(batchv1.JobComplete)}
	succeeded := &openstackv1.JobRun{Number: 1, Generation: 2, Result: openstackv1.JobRunSucceeded}
	for name, tc := range map[string]struct {
		reason string
		last   *openstackv1.JobRun
		do     func(*runner)
		job    []func(*batchv1.Job)
		logs   error

		wantIdle, wantUnreadable, wantConflict bool
		wantMissing                            []string
		wantOutput                             string
	}{
		"next run": {reason: "Its Secret does not exist.", wantMissing: []string{"Secret database"}},
		"idle":     {reason: "The run of the spec has succeeded.", last: succeeded, wantIdle: true},
		"rejected": {reason: "No Job is created.", do: func(w *runner) { w.rejected = "no" }},
		"runs":     {reason: "There is no result.", last: recorded, job: []func(*batchv1.Job){released}},
		"ended":    {reason: "The result depends on it.", last: recorded, job: complete, wantOutput: "done"},
		"unreadable": {
			reason: "The result is recorded anyway.", last: recorded, job: complete, logs: errors.New("gone"),
			wantUnreadable: true,
		},
		"changed": {reason: "Another leader has written.", do: func(w *runner) { w.sync.ResourceVersion = "1" }, wantConflict: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRunner(tc.last)
			objects := []client.Object{w.sync.DeepCopy()}
			if tc.job != nil {
				p := pod("job-uid", corev1.PodSucceeded)
				p.Namespace, p.Labels = "cloud", w.Labels
				objects = append(objects, w.ownJob(tc.job...), &p)
			}
			api := faultinjection.NewServer(scheme, nil, objects...)
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(w.sync), w.sync); err != nil {
				t.Fatal(err)
			}
			if tc.do != nil {
				tc.do(w)
			}
			idle, err := Observe(t.Context(), &controller.Env{
				Reader: api, Clock: clocktesting.NewFakePassiveClock(now),
				Output: func(context.Context, *corev1.Pod, string) (string, error) { return "done", tc.logs },
			}, w)
			if controller.IsConflict(err) != tc.wantConflict || err != nil && !tc.wantConflict {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.wantMissing, w.Missing); diff != "" || idle != tc.wantIdle || w.OutputUnreadable != tc.wantUnreadable ||
				w.Output != tc.wantOutput {
				t.Errorf("%s: idle %t, output %q, unreadable %t, missing %s", tc.reason, idle, w.Output, w.OutputUnreadable, diff)
			}
		})
	}
}

// TestBackoff: delays double up to a maximum.
func TestBackoff(t *testing.T) {
	for failures, want := range map[int32]time.Duration{
		-1: 0, 0: 0, 1: 10 * time.Second, 2: 20 * time.Second, 6: 320 * time.Second, 7: 10 * time.Minute, 1000: 10 * time.Minute,
	} {
		if got := Backoff(10*time.Second, 10*time.Minute, failures); got != want {
			t.Errorf("%d: %s, want %s", failures, got, want)
		}
	}
}

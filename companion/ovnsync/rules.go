package ovnsync

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// next decides: the first rule that has a step.
func next(w *world) controller.Step {
	return controller.First([]func(*world) *controller.Step{attend, takeOver, refuse, begin, rest}, w)
}

// attend sees the run that is under way to its end.
func attend(w *world) *controller.Step {
	r := w.open()
	switch {
	case r == nil:
		return nil
	case !w.attended() && w.orphan() != "":
		return w.wait(w.orphan() + " has outlived its Job, and has to end first")
	case !w.attended():
		return w.failed(openstackv1.OVNSyncLost, batchjob.Result{Why: "its Job vanished before its end was recorded"})
	case w.over():
		return w.judge(batchjob.ResultOf(w.job, w.pods))
	case w.job.DeletionTimestamp == nil && r.Generation != w.sync.Generation && !w.begun():
		return w.remove("it was made for an earlier spec and has not started")
	case w.job.DeletionTimestamp == nil && batchjob.Suspended(w.job) && w.orphan() == "":
		return &controller.Step{Name: "Released", Do: batchjob.Suspend(w.job, false)}
	case batchjob.Suspended(w.job):
		return w.wait("waits until " + w.orphan() + " has ended")
	}
	return w.wait(w.running(r))
}

// takeOver records a Job that was made for what is due, and clears one away that is not wanted, or has ended without a record.
func takeOver(w *world) *controller.Step {
	if !w.ours() || w.job.DeletionTimestamp != nil {
		return nil
	}
	r, ok := runOf(w.job)
	due := w.due()
	switch last := w.sync.Status.Run; {
	case !batchjob.Suspended(w.job) && w.over() && (last == nil || last.JobUID != string(w.job.UID)):
		return w.remove("it has ended, and was not recorded")
	case !batchjob.Suspended(w.job):
		return nil
	case !ok || due == nil || r != *due || w.refusal() != "":
		return w.remove("it never started, and is not wanted any more")
	}
	return &controller.Step{Name: "Recorded", Record: true, Expected: true, After: controller.AtOnce, Status: func() {
		due.JobUID, due.Started = string(w.job.UID), w.time()
		if last := w.sync.Status.Run; last != nil && last.Request == due.Request && last.Mode == due.Mode {
			due.Failures = last.Failures
		}
		w.sync.Status.Run = due
		w.report("its Job is made")
	}}
}

// refuse does nothing where people have to decide.
func refuse(w *world) *controller.Step {
	why := w.refusal()
	if why == "" {
		return nil
	}
	return &controller.Step{After: controller.Longest, Status: func() { w.set(conditionReady, false, "Refused", why) }}
}

// begin makes the Job of what is due.
func begin(w *world) *controller.Step {
	due := w.due()
	if due == nil {
		return nil
	}
	if at := w.waits(); at.After(w.now) {
		return &controller.Step{After: controller.Until(at, w.now), Expected: true, Status: func() { w.report("") }}
	}
	if len(w.missing) > 0 {
		return w.wait(w.missing[0] + " does not exist, which spec.template refers to")
	}
	switch {
	case w.job != nil && w.free():
		return w.remove("it has ended, and the next one needs its name")
	case w.job != nil:
		return w.wait(w.taken())
	case w.orphan() != "":
		return w.wait(w.orphan() + " has outlived its Job, and has to end first")
	}
	return &controller.Step{
		Name: "Created", Expected: true, Status: func() { w.report("its Job is made") },
		Do: func(ctx context.Context, env *controller.Env) error {
			if err := env.Client.Create(ctx, newJob(w.sync, due)); err != nil {
				return fmt.Errorf("cannot make Job %s: %w", jobName(w.sync), err)
			}
			return nil
		},
	}
}

// rest reports when there is nothing to do.
func rest(w *world) *controller.Step {
	return &controller.Step{After: controller.Longest, Status: func() { w.report("") }}
}

// again is the pause after the first run that did not succeed. It doubles with each one up to Longest, doublings times at most.
const (
	again     = controller.Poll
	doublings = 10
)

// waits is until when the next run has to wait. Another request is tried at once, and so is a changed spec.
func (w *world) waits() time.Time {
	r := w.sync.Status.Run
	if r == nil || r.Result == openstackv1.OVNSyncSucceeded || r.Finished == nil || r.Generation != w.sync.Generation {
		return time.Time{}
	}
	return r.Finished.Add(min(again<<min(max(r.Failures-1, 0), doublings), controller.Longest))
}

// free: the Job may be cleared away, because it has ended, and that is recorded, or its owner is gone.
func (w *world) free() bool {
	if !w.over() || w.job.DeletionTimestamp != nil {
		return false
	}
	owner := metav1.GetControllerOf(w.job)
	return owner != nil && owner.Kind == kindName
}

// taken says who has the Job's name.
func (w *world) taken() string {
	owner := metav1.GetControllerOf(w.job)
	if owner == nil || owner.Kind != kindName {
		return fmt.Sprintf("Job %s has the name that the Job of this OVNSync has, and is none of it: delete it", w.job.Name)
	}
	return fmt.Sprintf("waits until Job %s of an earlier request is gone", w.job.Name)
}

// remove clears the Job away as it was seen.
func (w *world) remove(why string) *controller.Step {
	return &controller.Step{
		Name: "Cleared", Expected: true, Wait: why, Status: func() { w.report("") },
		Do: controller.Delete(w.job, metav1.DeletePropagationBackground),
	}
}

func (w *world) wait(why string) *controller.Step {
	return &controller.Step{After: controller.Poll, Expected: true, Status: func() { w.report(why) }}
}

// running says what is under way, and what keeps it from starting.
func (w *world) running(r *run) string {
	text := fmt.Sprintf("%s of request %q runs in Job %s", r.Mode, r.Request, w.job.Name)
	for _, p := range batchjob.PodsOf(w.job, w.pods) {
		if o := batchjob.Obstacle(&p); o != "" {
			return fmt.Sprintf("%s: its pod cannot start: %s", text, o)
		}
	}
	return text
}

// judge decides how the run that was under way went. It has succeeded when what it found can be read.
func (w *world) judge(res batchjob.Result) *controller.Step {
	if res.Code == nil || *res.Code != 0 {
		return w.failed(openstackv1.OVNSyncFailed, res)
	}
	if w.unread {
		res.Why = "its output cannot be read"
		return w.failed(openstackv1.OVNSyncFailed, res)
	}
	said, err := heardIn(w.output)
	if err != nil {
		res.Why = err.Error()
		return w.failed(openstackv1.OVNSyncFailed, res)
	}
	r := w.open()
	answer := &common.OVNSyncAnswer{Request: r.Request, Mode: r.Mode, Time: w.time()}
	answer.Found, answer.Differences = differences(said.Found)
	if said.Repaired != nil {
		var repaired []common.OVNDifference
		if repaired, answer.Repaired = differences(said.Repaired); answer.Differences == 0 {
			answer.Found = repaired
		}
	}
	s := w.ended(openstackv1.OVNSyncSucceeded, res, func() {
		r.Failures, w.sync.Status.Answer = 0, answer
	})
	s.Note = verdict(answer).Message
	return s
}

// failed records that the run that was under way has no answer.
func (w *world) failed(result string, res batchjob.Result) *controller.Step {
	r := w.open()
	excerpt := batchjob.Excerpt(w.output + "\n" + res.Why)
	s := w.ended(result, res, func() { r.Failures, r.Log = r.Failures+1, excerpt })
	s.Warning = result == openstackv1.OVNSyncFailed
	s.Note = fmt.Sprintf("%s of request %q did not succeed: %s", r.Mode, r.Request, how(&run{ExitCode: res.Code, Log: excerpt}))
	return s
}

// ended records how the run that was under way ended.
func (w *world) ended(result string, res batchjob.Result, more func()) *controller.Step {
	r := w.open()
	mode := string(r.Mode)
	inSync := meta.FindStatusCondition(w.sync.Status.Conditions, conditionInSync)
	return &controller.Step{
		Name: mode, Record: true, Expected: inSync == nil && result != openstackv1.OVNSyncSucceeded,
		Status: func() {
			r.Result, r.ExitCode, r.Finished = result, res.Code, w.time()
			more()
			w.report("")
		},
		Do: func(context.Context, *controller.Env) error {
			runs.WithLabelValues(w.sync.Namespace, w.sync.Name, mode, result).Inc()
			return nil
		},
	}
}

package batchjob

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// FinishRun tracks the run in progress until its result is recorded; nil if none is in progress.
func FinishRun[W Runner[R], R comparable](w W) *controller.Decision {
	o, r := w.observed(), runInProgress(w)
	switch {
	case r == nil:
		return nil
	case !o.isJobOf(r) && o.orphanedPod() != "":
		return wait(w, o.orphanedPod()+" outlived its Job and must end first")
	case !o.isJobOf(r):
		return w.FailRun(openstackv1.JobRunLost, Result{FailureMessage: "its Job disappeared before its result was recorded"})
	case HasEnded(o.Job, o.Pods):
		res := GetResult(o.Job, o.Pods)
		if res.Code == nil || *res.Code != 0 {
			return w.FailRun(openstackv1.JobRunFailed, res)
		}
		return w.EvaluateRun(res)
	case o.Job.DeletionTimestamp == nil && r.Generation != o.Owner.GetGeneration() && !HasStarted(o.Job, o.Pods):
		return remove(w, "it was created for an earlier spec and has not started")
	case o.Job.DeletionTimestamp == nil && IsSuspended(o.Job) && o.orphanedPod() == "":
		return &controller.Decision{Name: "Released", Action: Suspend(o.Job, false)}
	case IsSuspended(o.Job) && o.orphanedPod() != "":
		return wait(w, "waiting for "+o.orphanedPod()+" to end")
	case IsSuspended(o.Job):
		return wait(w, fmt.Sprintf("waiting for Job %s to be deleted", o.Name))
	}
	return wait(w, o.progress(w.Title()))
}

// AdoptJob records a Job that was created for the next run. It deletes a Job that is not needed, or that has ended without a
// record.
func AdoptJob[W Runner[R], R comparable](w W) *controller.Decision {
	o := w.observed()
	if !o.isOwned() || o.Job.DeletionTimestamp != nil {
		return nil
	}
	created, next := runOf[R](o.Job, o.Kind.Annotation), w.NextRun()
	switch last := w.LastRun(); {
	case !IsSuspended(o.Job) && HasEnded(o.Job, o.Pods) && (last == nil || last.JobUID != string(o.Job.UID)):
		return remove(w, "the Job ended without a record of its run; it is deleted")
	case !IsSuspended(o.Job):
		return nil
	case created == nil || next == nil || *created != *next || w.RejectReason() != "":
		return remove(w, "it never started and is no longer needed")
	}
	starting := o.Kind.Starting
	return &controller.Decision{
		Name: "Recorded", Record: true, Expected: starting != "", RequeueAfter: controller.MinRequeueInterval,
		Status: func() {
			w.RecordRun(next)
			r := w.LastRun()
			r.JobUID, r.Started = string(o.Job.UID), o.Time()
			w.Report(starting)
		},
	}
}

// StartRun creates the Job of the next run when its name is free; nil if no run is required.
func StartRun[W Runner[R], R comparable](w W) *controller.Decision {
	o, next := w.observed(), w.NextRun()
	if next == nil {
		return nil
	}
	if at := o.nextAttemptTime(w.LastRun()); at.After(o.Now) {
		return &controller.Decision{RequeueAfter: controller.RequeueIn(at, o.Now), Expected: true, Status: func() { w.Report("") }}
	}
	switch {
	case len(o.Missing) > 0:
		return wait(w, "spec.template refers to "+o.Missing[0]+", which does not exist")
	case o.Job != nil:
		return freeName(w)
	case o.orphanedPod() != "":
		return wait(w, o.orphanedPod()+" outlived its Job and must end first")
	}
	return &controller.Decision{
		Name: "Created", Expected: true, Status: func() { w.Report(o.Kind.Starting) },
		Action: func(ctx context.Context, env *controller.Env) error {
			if err := env.Client.Create(ctx, w.NewJob(next)); err != nil { // An existing Job belongs to another owner.
				return fmt.Errorf("cannot create Job %s: %w", o.Name, err)
			}
			return nil
		},
	}
}

// freeName deletes the Job that has the name of the next one, or waits until its owner no longer requires it.
func freeName[W Runner[R], R comparable](w W) *controller.Decision {
	o := w.observed()
	switch owner := metav1.GetControllerOf(o.Job); {
	case owner == nil || owner.Kind != o.Kind.Name:
		return wait(w, fmt.Sprintf("Job %s uses the name reserved for %s but is not owned by one: delete it", o.Name, o.Kind.Reserved))
	case o.canDelete(owner):
		return remove(w, "it has ended, and the next Job requires its name")
	default:
		return wait(w, w.WaitsFor(owner.Name))
	}
}

// EndRun records the end of the run in progress, and changes the status in the same write. subject describes the run in the
// event about a failure.
func EndRun[W Runner[R], R comparable](w W, result string, res Result, subject string, change func()) *controller.Decision {
	o, r, command := w.observed(), w.LastRun(), w.Command()
	excerpt := TailForStatus(o.Output + "\n" + res.FailureMessage)
	d := &controller.Decision{
		Name: command, Record: true, Expected: true,
		Status: func() {
			r.Result, r.ExitCode, r.Finished = result, res.Code, o.Time()
			if result != openstackv1.JobRunSucceeded {
				r.Failures, r.Log = r.Failures+1, excerpt
			}
			change()
			w.Report("")
		},
		Action: func(context.Context, *controller.Env) error {
			o.Kind.Runs.WithLabelValues(o.Owner.GetNamespace(), o.Owner.GetName(), command, result).Inc()
			return nil
		},
	}
	if result != openstackv1.JobRunSucceeded {
		d.Warning = result == openstackv1.JobRunFailed
		d.Note = fmt.Sprintf("%s failed: %s", subject, FailureMessage(&openstackv1.JobRun{ExitCode: res.Code, Log: excerpt}))
	}
	return d
}

// FailureMessage returns a short reason for the failure of a run. Exit code 0 is not a reason.
func FailureMessage(r *openstackv1.JobRun) string {
	code := r.ExitCode
	if code != nil && *code == 0 {
		code = nil
	}
	return DescribeFailure(code, r.Log)
}

// Limits of the delay after consecutive failed runs, which starts with firstBackoff and doubles up to maxBackoff.
const (
	firstBackoff = controller.Poll
	maxBackoff   = controller.ResyncInterval
)

// Backoff returns the delay before a retry after the given number of consecutive failures: the first delay, doubled with each
// further failure up to the longest delay.
func Backoff(first, longest time.Duration, failures int32) time.Duration {
	const maxDoublings = 10 // Prevents an overflow.
	if failures <= 0 {
		return 0
	}
	return min(first<<min(failures-1, maxDoublings), longest)
}

// nextAttemptTime returns when the run after the given one may start; the zero time if immediately. A changed spec is applied
// immediately.
func (o *Observation) nextAttemptTime(last *openstackv1.JobRun) time.Time {
	if last == nil || last.Result == openstackv1.JobRunSucceeded || last.Finished == nil || last.Generation != o.Owner.GetGeneration() {
		return time.Time{}
	}
	return last.Finished.Add(Backoff(firstBackoff, maxBackoff, last.Failures))
}

// progress describes the run in progress, and why its pod cannot start.
func (o *Observation) progress(title string) string {
	text := fmt.Sprintf("%s runs in Job %s", title, o.Job.Name)
	for _, p := range ListPods(o.Job, o.Pods) {
		if problem := PodStartProblem(&p); problem != "" {
			return fmt.Sprintf("%s: its pod cannot start: %s", text, problem)
		}
	}
	return text
}

// remove deletes the Job in the version that was read.
func remove(w recorder, why string) *controller.Decision {
	return &controller.Decision{
		Name: "JobRemoved", Expected: true, Wait: why, Status: func() { w.Report("") },
		Action: controller.Delete(w.observed().Job, metav1.DeletePropagationBackground),
	}
}

func wait(w recorder, why string) *controller.Decision {
	return &controller.Decision{RequeueAfter: controller.Poll, Expected: true, Status: func() { w.Report(why) }}
}

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

// next returns the step of the first rule that has one.
func next(w *observation) controller.Decision {
	return controller.First([]func(*observation) *controller.Decision{finishRun, adoptJob, rejectSpec, startRun, rest}, w)
}

// finishRun tracks the run in progress until its result is recorded.
func finishRun(w *observation) *controller.Decision {
	r := w.open()
	switch {
	case r == nil:
		return nil
	case !w.isCurrentRun() && w.orphanedPod() != "":
		return w.wait(w.orphanedPod() + " outlived its Job and must end first")
	case !w.isCurrentRun():
		return w.failed(openstackv1.OVNSyncLost, batchjob.Result{FailureMessage: "its Job disappeared before its result was recorded"})
	case w.isFinished():
		return w.evaluateRun(batchjob.GetResult(w.job, w.pods))
	case w.job.DeletionTimestamp == nil && r.Generation != w.sync.Generation && !w.hasStarted():
		return w.remove("it was created for an earlier spec and has not started")
	case w.job.DeletionTimestamp == nil && batchjob.IsSuspended(w.job) && w.orphanedPod() == "":
		return &controller.Decision{Name: "Released", Action: batchjob.Suspend(w.job, false)}
	case batchjob.IsSuspended(w.job):
		return w.wait("waiting for " + w.orphanedPod() + " to end")
	}
	return w.wait(w.running(r))
}

// adoptJob records a Job that was created for the next run. It deletes a Job that is not needed, or that has ended without a
// record.
func adoptJob(w *observation) *controller.Decision {
	if !w.isOwned() || w.job.DeletionTimestamp != nil {
		return nil
	}
	r, ok := runOf(w.job)
	upcoming := w.nextRun()
	switch last := w.sync.Status.Run; {
	case !batchjob.IsSuspended(w.job) && w.isFinished() && (last == nil || last.JobUID != string(w.job.UID)):
		return w.remove("it ended and was not recorded")
	case !batchjob.IsSuspended(w.job):
		return nil
	case !ok || upcoming == nil || r != *upcoming || w.rejectReason() != "":
		return w.remove("it never started and is no longer needed")
	}
	return &controller.Decision{Name: "Recorded", Record: true, Expected: true, RequeueAfter: controller.MinRequeueInterval, Status: func() {
		upcoming.JobUID, upcoming.Started = string(w.job.UID), w.time()
		if last := w.sync.Status.Run; last != nil && last.Request == upcoming.Request && last.Mode == upcoming.Mode {
			upcoming.Failures = last.Failures
		}
		w.sync.Status.Run = upcoming
		w.report("creating the Job")
	}}
}

// rejectSpec changes nothing if an administrator has to decide.
func rejectSpec(w *observation) *controller.Decision {
	why := w.rejectReason()
	if why == "" {
		return nil
	}
	return &controller.Decision{RequeueAfter: controller.ResyncInterval, Status: func() { w.set(conditionReady, false, "Refused", why) }}
}

// startRun creates the Job of the next run.
func startRun(w *observation) *controller.Decision {
	upcoming := w.nextRun()
	if upcoming == nil {
		return nil
	}
	if at := w.nextAttemptTime(); at.After(w.now) {
		return &controller.Decision{RequeueAfter: controller.RequeueIn(at, w.now), Expected: true, Status: func() { w.report("") }}
	}
	if len(w.missing) > 0 {
		return w.wait("spec.template refers to " + w.missing[0] + ", which does not exist")
	}
	switch {
	case w.job != nil && w.canDelete():
		return w.remove("it has ended, and the next Job requires its name")
	case w.job != nil:
		return w.wait(w.jobNameOwner())
	case w.orphanedPod() != "":
		return w.wait(w.orphanedPod() + " outlived its Job and must end first")
	}
	return &controller.Decision{
		Name: "Created", Expected: true, Status: func() { w.report("creating the Job") },
		Action: func(ctx context.Context, env *controller.Env) error {
			if err := env.Client.Create(ctx, newJob(w.sync, upcoming)); err != nil {
				return fmt.Errorf("cannot create Job %s: %w", jobName(w.sync), err)
			}
			return nil
		},
	}
}

// rest reports the status when idle.
func rest(w *observation) *controller.Decision {
	return &controller.Decision{RequeueAfter: controller.ResyncInterval, Status: func() { w.report("") }}
}

// initialBackoff is the delay after the first failed run. It doubles with each further failure, at most maxBackoffSteps times
// and up to ResyncInterval.
const (
	initialBackoff  = controller.Poll
	maxBackoffSteps = 10
)

// nextAttemptTime returns when the next run may start. A new request and a changed spec are executed immediately.
func (obs *observation) nextAttemptTime() time.Time {
	r := obs.sync.Status.Run
	if r == nil || r.Result == openstackv1.OVNSyncSucceeded || r.Finished == nil || r.Generation != obs.sync.Generation {
		return time.Time{}
	}
	return r.Finished.Add(min(initialBackoff<<min(max(r.Failures-1, 0), maxBackoffSteps), controller.ResyncInterval))
}

// canDelete reports whether the Job may be deleted: it has ended, and its result is recorded or its owner no longer exists.
func (obs *observation) canDelete() bool {
	if !obs.isFinished() || obs.job.DeletionTimestamp != nil {
		return false
	}
	owner := metav1.GetControllerOf(obs.job)
	return owner != nil && owner.Kind == kindName
}

// jobNameOwner describes the owner of the Job with the name of this OVNSync's Job.
func (obs *observation) jobNameOwner() string {
	owner := metav1.GetControllerOf(obs.job)
	if owner == nil || owner.Kind != kindName {
		return fmt.Sprintf("Job %s uses the name reserved for the Job of this OVNSync but is not owned by one: delete it", obs.job.Name)
	}
	return fmt.Sprintf("waiting for Job %s of an earlier request to be deleted", obs.job.Name)
}

// remove deletes the Job in the version that was read.
func (obs *observation) remove(why string) *controller.Decision {
	return &controller.Decision{
		Name: "Cleared", Expected: true, Wait: why, Status: func() { obs.report("") },
		Action: controller.Delete(obs.job, metav1.DeletePropagationBackground),
	}
}

func (obs *observation) wait(why string) *controller.Decision {
	return &controller.Decision{RequeueAfter: controller.Poll, Expected: true, Status: func() { obs.report(why) }}
}

// running describes the run in progress, and why its pod cannot start.
func (obs *observation) running(r *run) string {
	text := fmt.Sprintf("%s of request %q runs in Job %s", r.Mode, r.Request, obs.job.Name)
	for _, p := range batchjob.ListPods(obs.job, obs.pods) {
		if o := batchjob.PodStartProblem(&p); o != "" {
			return fmt.Sprintf("%s: its pod cannot start: %s", text, o)
		}
	}
	return text
}

// evaluateRun determines the result of the run in progress. It has succeeded if its report can be parsed.
func (obs *observation) evaluateRun(res batchjob.Result) *controller.Decision {
	if res.Code == nil || *res.Code != 0 {
		return obs.failed(openstackv1.OVNSyncFailed, res)
	}
	if obs.outputUnreadable {
		res.FailureMessage = "its output cannot be read"
		return obs.failed(openstackv1.OVNSyncFailed, res)
	}
	requested, err := parseReport(obs.output)
	if err != nil {
		res.FailureMessage = err.Error()
		return obs.failed(openstackv1.OVNSyncFailed, res)
	}
	r := obs.open()
	response := &common.OVNSyncAnswer{Request: r.Request, Mode: r.Mode, Time: obs.time()}
	response.Found, response.Differences = differences(requested.Found)
	if requested.Repaired != nil {
		var repaired []common.OVNDifference
		if repaired, response.Repaired = differences(requested.Repaired); response.Differences == 0 {
			response.Found = repaired
		}
	}
	s := obs.finishedStep(openstackv1.OVNSyncSucceeded, res, func() {
		r.Failures, obs.sync.Status.Answer = 0, response
	})
	s.Note = inSyncCondition(response).Message
	return s
}

// failed records that the run in progress has no answer.
func (obs *observation) failed(result string, res batchjob.Result) *controller.Decision {
	r := obs.open()
	excerpt := batchjob.TailForStatus(obs.output + "\n" + res.FailureMessage)
	s := obs.finishedStep(result, res, func() { r.Failures, r.Log = r.Failures+1, excerpt })
	s.Warning = result == openstackv1.OVNSyncFailed
	s.Note = fmt.Sprintf("%s of request %q failed: %s", r.Mode, r.Request, failureMessage(&run{ExitCode: res.Code, Log: excerpt}))
	return s
}

// finishedStep records the result of the run in progress.
func (obs *observation) finishedStep(result string, res batchjob.Result, more func()) *controller.Decision {
	r := obs.open()
	mode := string(r.Mode)
	inSync := meta.FindStatusCondition(obs.sync.Status.Conditions, conditionInSync)
	return &controller.Decision{
		Name: mode, Record: true, Expected: inSync == nil && result != openstackv1.OVNSyncSucceeded,
		Status: func() {
			r.Result, r.ExitCode, r.Finished = result, res.Code, obs.time()
			more()
			obs.report("")
		},
		Action: func(context.Context, *controller.Env) error {
			runs.WithLabelValues(obs.sync.Namespace, obs.sync.Name, mode, result).Inc()
			return nil
		},
	}
}

package cellmapping

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// next returns the step of the first rule that has one.
func next(w *observation) controller.Decision {
	return controller.First([]func(*observation) *controller.Decision{finishRun, adoptJob, rejectSpec, startRun, look, rest}, w)
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
		return w.finishedStep(openstackv1.CellRunLost, batchjob.Result{FailureMessage: "its Job disappeared before its result was recorded"})
	case w.isFinished():
		return w.evaluateRun(batchjob.GetResult(w.job, w.pods))
	case w.job.DeletionTimestamp == nil && r.Generation != w.cell.Generation && !w.hasStarted():
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
	switch last := w.cell.Status.Run; {
	case !batchjob.IsSuspended(w.job) && w.isFinished() && (last == nil || last.JobUID != string(w.job.UID)):
		return w.remove("it ended and was not recorded")
	case !batchjob.IsSuspended(w.job):
		return nil
	case !ok || upcoming == nil || r != *upcoming || w.rejectReason() != "":
		return w.remove("it never started and is no longer needed")
	}
	return &controller.Decision{Name: "Recorded", Record: true, RequeueAfter: controller.MinRequeueInterval, Status: func() {
		upcoming.JobUID, upcoming.Started = string(w.job.UID), w.time()
		if last := w.cell.Status.Run; last != nil {
			upcoming.Failures = last.Failures
		}
		w.cell.Status.Run = upcoming
		w.report()
	}}
}

// rejectSpec changes nothing if an administrator has to decide.
func rejectSpec(w *observation) *controller.Decision {
	if why := w.rejectReason(); why != "" {
		return &controller.Decision{RequeueAfter: controller.Poll, Status: func() { w.set(conditionReady, false, "Refused", why) }}
	}
	if why := w.duplicateCells(); why != "" && w.nextRun() == nil {
		at := w.cell.Status.Listed.Add(controller.ResyncInterval)
		return &controller.Decision{RequeueAfter: controller.RequeueIn(at, w.now), Status: func() {
			w.set(conditionReady, false, "SeveralCells",
				why)
		}}
	}
	return nil
}

// startRun creates the Job of the next run when it is this cell's turn.
func startRun(w *observation) *controller.Decision {
	upcoming := w.nextRun()
	if upcoming == nil {
		return nil
	}
	if at := w.nextAttemptTime(); !at.IsZero() {
		return &controller.Decision{RequeueAfter: controller.RequeueIn(at, w.now), Status: w.report, Expected: true}
	}
	if len(w.missing) > 0 {
		return w.wait("spec.template refers to " + w.missing[0] + ", which does not exist")
	}
	if w.job != nil && w.canDelete() {
		return w.remove("it has ended, and the next Job requires its name")
	}
	if w.job != nil {
		return w.wait(w.waitingForCell())
	}
	if o := w.orphanedPod(); o != "" {
		return w.wait(o + " outlived its Job and must end first")
	}
	return &controller.Decision{Name: "Created", Status: w.report, Expected: true, Action: func(ctx context.Context,
		env *controller.Env) error {
		if err := env.Client.Create(ctx, newJob(w.cell, upcoming)); err != nil { // An existing Job belongs to another cell.
			return fmt.Errorf("cannot create Job %s: %w", jobName(novaOf(w.cell)), err)
		}
		return nil
	}}
}

// rest reports the status when idle.
func rest(w *observation) *controller.Decision {
	after := controller.ResyncInterval
	switch {
	case w.retryAfter > 0:
		after = w.retryAfter
	case w.apiError != "":
		after = pollInterval
	}
	return &controller.Decision{RequeueAfter: after, Status: func() {
		w.report()
		if w.apiError != "" {
			w.set(conditionHosts, false, "NovaUnavailable", w.apiError)
		}
	}}
}

// canDelete reports whether any CellMapping may delete the Job: it has ended, and its owner has recorded the result or no
// longer exists.
func (obs *observation) canDelete() bool {
	if !obs.isFinished() || obs.job.DeletionTimestamp != nil {
		return false
	}
	if obs.isOwned() {
		return true
	}
	for i := range obs.siblings {
		if metav1.IsControlledBy(obs.job, &obs.siblings[i]) {
			r := obs.siblings[i].Status.Run
			return r != nil && r.JobUID == string(obs.job.UID) && r.Result != ""
		}
	}
	owner := metav1.GetControllerOf(obs.job)
	return owner != nil && owner.Kind == kindName
}

// waitingForCell returns which cell the next run waits for.
func (obs *observation) waitingForCell() string {
	owner := metav1.GetControllerOf(obs.job)
	if owner == nil || owner.Kind != kindName {
		return fmt.Sprintf("Job %s uses the name reserved for Jobs of CellMappings but is not owned by one: delete it", obs.job.Name)
	}
	return fmt.Sprintf("waiting for Job %s of CellMapping %s to end", obs.job.Name, owner.Name)
}

// remove deletes the Job in the version that was read.
func (obs *observation) remove(why string) *controller.Decision {
	return &controller.Decision{
		Name: "Cleared", Status: obs.report, Expected: true, Wait: why, Action: controller.Delete(obs.job, metav1.DeletePropagationBackground),
	}
}

func (obs *observation) wait(why string) *controller.Decision {
	return &controller.Decision{RequeueAfter: controller.Poll, Expected: true, Status: func() { obs.reportWaiting(why) }}
}

package cellmapping

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// next decides: the first rule that has a step.
func next(w *observation) controller.Decision {
	return controller.First([]func(*observation) *controller.Decision{finishRun, adoptJob, rejectSpec, begin, look, rest}, w)
}

// finishRun sees the run that is under way to its end.
func finishRun(w *observation) *controller.Decision {
	r := w.open()
	switch {
	case r == nil:
		return nil
	case !w.isCurrentRun() && w.orphanedPod() != "":
		return w.wait(w.orphanedPod() + " has outlived its Job, and has to end first")
	case !w.isCurrentRun():
		return w.finishedStep(openstackv1.CellRunLost, batchjob.Result{FailureMessage: "its Job vanished before its end was recorded"})
	case w.isFinished():
		return w.evaluateRun(batchjob.GetResult(w.job, w.pods))
	case w.job.DeletionTimestamp == nil && r.Generation != w.cell.Generation && !w.hasStarted():
		return w.remove("it was made for an earlier spec and has not started")
	case w.job.DeletionTimestamp == nil && batchjob.IsSuspended(w.job) && w.orphanedPod() == "":
		return &controller.Decision{Name: "Released", Action: batchjob.Suspend(w.job, false)}
	case batchjob.IsSuspended(w.job):
		return w.wait("waits until " + w.orphanedPod() + " has ended")
	}
	return w.wait(w.running(r))
}

// adoptJob records a Job that was made for what is due, and clears one away that is not wanted, or has ended without a record.
func adoptJob(w *observation) *controller.Decision {
	if !w.ours() || w.job.DeletionTimestamp != nil {
		return nil
	}
	r, ok := runOf(w.job)
	due := w.nextRun()
	switch last := w.cell.Status.Run; {
	case !batchjob.IsSuspended(w.job) && w.isFinished() && (last == nil || last.JobUID != string(w.job.UID)):
		return w.remove("it has ended, and was not recorded")
	case !batchjob.IsSuspended(w.job):
		return nil
	case !ok || due == nil || r != *due || w.rejectReason() != "":
		return w.remove("it never started, and is not wanted any more")
	}
	return &controller.Decision{Name: "Recorded", Record: true, RequeueAfter: controller.MinRequeueInterval, Status: func() {
		due.JobUID, due.Started = string(w.job.UID), w.time()
		if last := w.cell.Status.Run; last != nil {
			due.Failures = last.Failures
		}
		w.cell.Status.Run = due
		w.report()
	}}
}

// rejectSpec touches nothing where people have to decide.
func rejectSpec(w *observation) *controller.Decision {
	if why := w.rejectReason(); why != "" {
		return &controller.Decision{RequeueAfter: controller.Poll, Status: func() { w.set(conditionReady, false, "Refused", why) }}
	}
	if why := w.several(); why != "" && w.nextRun() == nil {
		at := w.cell.Status.Listed.Add(controller.ResyncInterval)
		return &controller.Decision{RequeueAfter: controller.RequeueIn(at, w.now), Status: func() { w.set(conditionReady, false, "SeveralCells", why) }}
	}
	return nil
}

// begin makes the Job of what is due, when it is this cell's turn.
func begin(w *observation) *controller.Decision {
	due := w.nextRun()
	if due == nil {
		return nil
	}
	if at := w.nextAttemptTime(); !at.IsZero() {
		return &controller.Decision{RequeueAfter: controller.RequeueIn(at, w.now), Status: w.report, Expected: true}
	}
	if len(w.missing) > 0 {
		return w.wait(w.missing[0] + " does not exist, which spec.template refers to")
	}
	if w.job != nil && w.canDelete() {
		return w.remove("it has ended, and the next one needs its name")
	}
	if w.job != nil {
		return w.wait(w.waitingForCell())
	}
	if o := w.orphanedPod(); o != "" {
		return w.wait(o + " has outlived its Job, and has to end first")
	}
	return &controller.Decision{Name: "Created", Status: w.report, Expected: true, Action: func(ctx context.Context, env *controller.Env) error {
		if err := env.Client.Create(ctx, newJob(w.cell, due)); err != nil { // One that is there is somebody's turn.
			return fmt.Errorf("cannot make Job %s: %w", jobName(novaOf(w.cell)), err)
		}
		return nil
	}}
}

// rest reports when there is nothing to do.
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

// canDelete: whoever needs it may clear the Job away, because it has ended, and its owner has recorded that or is gone.
func (obs *observation) canDelete() bool {
	if !obs.isFinished() || obs.job.DeletionTimestamp != nil {
		return false
	}
	if obs.ours() {
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

// waitingForCell says whose turn it is.
func (obs *observation) waitingForCell() string {
	owner := metav1.GetControllerOf(obs.job)
	if owner == nil || owner.Kind != kindName {
		return fmt.Sprintf("Job %s has the name that the Jobs of CellMappings have, and is none of them: delete it", obs.job.Name)
	}
	return fmt.Sprintf("waits for its turn: Job %s of CellMapping %s has not ended", obs.job.Name, owner.Name)
}

// remove clears the Job away as it was seen.
func (obs *observation) remove(why string) *controller.Decision {
	return &controller.Decision{
		Name: "Cleared", Status: obs.report, Expected: true, Wait: why, Action: controller.Delete(obs.job, metav1.DeletePropagationBackground),
	}
}

func (obs *observation) wait(why string) *controller.Decision {
	return &controller.Decision{RequeueAfter: controller.Poll, Expected: true, Status: func() { obs.reportWaiting(why) }}
}

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
func next(w *world) controller.Step {
	return controller.First([]func(*world) *controller.Step{attend, takeOver, refuse, begin, look, rest}, w)
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
		return w.ended(openstackv1.CellRunLost, batchjob.Result{Why: "its Job vanished before its end was recorded"})
	case w.over():
		return w.judge(batchjob.ResultOf(w.job, w.pods))
	case w.job.DeletionTimestamp == nil && r.Generation != w.cell.Generation && !w.begun():
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
	switch last := w.cell.Status.Run; {
	case !batchjob.Suspended(w.job) && w.over() && (last == nil || last.JobUID != string(w.job.UID)):
		return w.remove("it has ended, and was not recorded")
	case !batchjob.Suspended(w.job):
		return nil
	case !ok || due == nil || r != *due || w.refusal() != "":
		return w.remove("it never started, and is not wanted any more")
	}
	return &controller.Step{Name: "Recorded", Record: true, After: controller.AtOnce, Status: func() {
		due.JobUID, due.Started = string(w.job.UID), w.time()
		if last := w.cell.Status.Run; last != nil {
			due.Failures = last.Failures
		}
		w.cell.Status.Run = due
		w.report()
	}}
}

// refuse touches nothing where people have to decide.
func refuse(w *world) *controller.Step {
	if why := w.refusal(); why != "" {
		return &controller.Step{After: controller.Poll, Status: func() { w.set(conditionReady, false, "Refused", why) }}
	}
	if why := w.several(); why != "" && w.due() == nil {
		at := w.cell.Status.Listed.Add(controller.Longest)
		return &controller.Step{After: controller.Until(at, w.now), Status: func() { w.set(conditionReady, false, "SeveralCells", why) }}
	}
	return nil
}

// begin makes the Job of what is due, when it is this cell's turn.
func begin(w *world) *controller.Step {
	due := w.due()
	if due == nil {
		return nil
	}
	if at := w.waits(); !at.IsZero() {
		return &controller.Step{After: controller.Until(at, w.now), Status: w.report, Expected: true}
	}
	if len(w.missing) > 0 {
		return w.wait(w.missing[0] + " does not exist, which spec.template refers to")
	}
	if w.job != nil && w.free() {
		return w.remove("it has ended, and the next one needs its name")
	}
	if w.job != nil {
		return w.wait(w.turn())
	}
	if o := w.orphan(); o != "" {
		return w.wait(o + " has outlived its Job, and has to end first")
	}
	return &controller.Step{Name: "Created", Status: w.report, Expected: true, Do: func(ctx context.Context, env *controller.Env) error {
		if err := env.Client.Create(ctx, newJob(w.cell, due)); err != nil { // One that is there is somebody's turn.
			return fmt.Errorf("cannot make Job %s: %w", jobName(novaOf(w.cell)), err)
		}
		return nil
	}}
}

// rest reports when there is nothing to do.
func rest(w *world) *controller.Step {
	after := controller.Longest
	switch {
	case w.limited > 0:
		after = w.limited
	case w.problem != "":
		after = every
	}
	return &controller.Step{After: after, Status: func() {
		w.report()
		if w.problem != "" {
			w.set(conditionHosts, false, "NovaUnavailable", w.problem)
		}
	}}
}

// free: whoever needs it may clear the Job away, because it has ended, and its owner has recorded that or is gone.
func (w *world) free() bool {
	if !w.over() || w.job.DeletionTimestamp != nil {
		return false
	}
	if w.ours() {
		return true
	}
	for i := range w.siblings {
		if metav1.IsControlledBy(w.job, &w.siblings[i]) {
			r := w.siblings[i].Status.Run
			return r != nil && r.JobUID == string(w.job.UID) && r.Result != ""
		}
	}
	owner := metav1.GetControllerOf(w.job)
	return owner != nil && owner.Kind == kindName
}

// turn says whose turn it is.
func (w *world) turn() string {
	owner := metav1.GetControllerOf(w.job)
	if owner == nil || owner.Kind != kindName {
		return fmt.Sprintf("Job %s has the name that the Jobs of CellMappings have, and is none of them: delete it", w.job.Name)
	}
	return fmt.Sprintf("waits for its turn: Job %s of CellMapping %s has not ended", w.job.Name, owner.Name)
}

// remove clears the Job away as it was seen.
func (w *world) remove(why string) *controller.Step {
	return &controller.Step{
		Name: "Cleared", Status: w.report, Expected: true, Wait: why, Do: controller.Delete(w.job, metav1.DeletePropagationBackground),
	}
}

func (w *world) wait(why string) *controller.Step {
	return &controller.Step{After: controller.Poll, Expected: true, Status: func() { w.reportWaiting(why) }}
}

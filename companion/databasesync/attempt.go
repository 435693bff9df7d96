package databasesync

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
)

// discard deletes a suspended Job that is no longer needed. It never ran, but it could be released as long as it exists, so
// it is deleted before anything else starts.
func discard(w *observation) *plan {
	current := open(w.sync.Status.History)
	for i := range w.jobs {
		job := &w.jobs[i]
		if !batchjob.IsSuspended(job) || !w.isOwned(job) || job.DeletionTimestamp != nil {
			continue
		}
		r, ok := attemptOf(job)
		desired := ok && !w.outdated(&r) && !w.known(&r)
		if current != nil {
			desired = job.Name == jobName(w.sync, current)
		}
		if !desired {
			return w.remove(job)
		}
	}
	return nil
}

// remove deletes a Job that has not started.
func (obs *observation) remove(job *batchv1.Job) *plan {
	p := obs.wait(obs.sync.Status.Phase, "Waiting", fmt.Sprintf("deleting Job %s, which never started", job.Name))
	p.remove, p.requeue = job, true
	return p
}

// finishRun tracks the attempt in progress until its result is recorded.
func finishRun(w *observation) *plan {
	r := open(w.sync.Status.History)
	if r == nil {
		return nil
	}
	at := shown[phaseOf(r)]
	job := w.job(r)
	switch {
	case job == nil && w.busy() != "":
		return w.wait(at, "Waiting", w.busyMessage())
	case job == nil:
		return w.finishedStep(r, openstackv1.StepFailed, batchjob.Result{FailureMessage: "its Job disappeared before its result was recorded"})
	case batchjob.HasEnded(job, w.pods):
		res := batchjob.GetResult(job, w.pods)
		if phaseOf(r) == versioning {
			return w.recordSchemaVersion(r, res)
		}
		return w.finishedStep(r, w.step(r.Hash).classifyExitCode(res.Code), res)
	case job.DeletionTimestamp == nil && w.outdated(r) && (batchjob.IsSuspended(job) || !batchjob.HasStarted(job, w.pods)):
		return w.cancel(r, job)
	case job.DeletionTimestamp == nil && batchjob.IsSuspended(job):
		return w.release(r, job)
	}
	return w.wait(at, "Running", w.running(r, job))
}

// cancel withdraws an attempt that has not started and is no longer needed. The Job is suspended first, and the record is
// removed once it has no pods, so that nothing runs without a record.
func (obs *observation) cancel(r *record, job *batchv1.Job) *plan {
	p := obs.statusUpdatePlan(shown[phaseOf(r)], fmt.Sprintf("step %s of release %s is no longer needed and is cancelled", r.Step, r.Release))
	switch {
	case !batchjob.IsSuspended(job):
		p.suspend = job
	case batchjob.HasStarted(job, obs.pods): // It started meanwhile. Its effects are unknown: it counts as an attempt without a Job.
		p.remove = job
	case len(batchjob.ListPods(job, obs.pods)) > 0:
		p.requeue = false
	default:
		p.status.History = p.status.History[:len(p.status.History)-1]
	}
	return p
}

// release starts the Job of a recorded attempt.
func (obs *observation) release(r *record, job *batchv1.Job) *plan {
	at := shown[phaseOf(r)]
	if obs.busy() != "" {
		return obs.wait(at, "Waiting", obs.busyMessage())
	}
	if phaseOf(r).afterRollout() && obs.rollout != "" {
		return obs.waitForRollout()
	}
	if r.Quiesced && obs.stop != "" {
		return obs.waitForStop(phaseOf(r))
	}
	p := obs.statusUpdatePlan(at, obs.startMessage(r))
	p.release = job
	p.note = fmt.Sprintf("started step %s of release %s, attempt %d", r.Step, r.Release, r.Attempt)
	return p
}

// finishedStep records the result of the attempt in progress.
func (obs *observation) finishedStep(r *record, stepOutcome string, res batchjob.Result) *plan {
	p := obs.statusUpdatePlan(shown[phaseOf(r)], fmt.Sprintf("step %s of release %s has finished", r.Step, r.Release))
	p.status.History = completeAttempt(p.status.History, stepOutcome, res.Code, res.FailureMessage, obs.now)
	last := &p.status.History[len(p.status.History)-1]
	if res.Digest != "" && !strings.Contains(last.Image, "@") {
		last.Image += "@" + res.Digest
	}
	switch stepOutcome {
	case openstackv1.StepFailed:
		p.failed = true
		if res.Pod != nil {
			last.Log = batchjob.TailForStatus(obs.output + "\n" + last.Log)
		}
	case openstackv1.StepSucceeded:
		p.note = fmt.Sprintf("step %s of release %s succeeded", r.Step, r.Release)
	}
	return p
}

// adopt records a Job that runs, or ran, without a record: because the status was lost, or the Job started while it was being
// deleted. A Job that has not started is deleted.
func adopt(w *observation) *plan {
	for i := range w.jobs {
		job := &w.jobs[i]
		r, ok := attemptOf(job)
		if !ok || !w.isOwned(job) || batchjob.IsSuspended(job) || w.known(&r) {
			continue
		}
		switch {
		case batchjob.IsFinished(job) || batchjob.HasStarted(job, w.pods):
			p := w.statusUpdatePlan(shown[phaseOf(&r)], fmt.Sprintf("Job %s is adopted", job.Name))
			r.Started = job.Status.StartTime
			p.status.History = trimmed(append(slices.Clone(p.status.History), r))
			return p
		case job.DeletionTimestamp == nil:
			return w.remove(job)
		}
	}
	return nil
}

// waitForOtherWriters waits for any other process that may still write to the database.
func waitForOtherWriters(w *observation) *plan {
	if w.busy() == "" {
		return nil
	}
	return w.wait(w.sync.Status.Phase, "Waiting", w.busyMessage())
}

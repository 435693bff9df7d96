package databasesync

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// plan is the next step. At most one of create, release, suspend, remove and a changed history is set; a plan with none of
// them waits.
type plan struct {
	// status to write, without conditions, which report adds.
	status openstackv1.DatabaseSyncStatus
	// create is the attempt for which a suspended Job is created; of is its step.
	create *record
	of     step
	// release is a suspended Job to be started.
	release *batchv1.Job
	// suspend is a released Job that has not started and is no longer needed.
	suspend *batchv1.Job
	// remove is a Job that is no longer needed: suspended, or released and not started.
	remove *batchv1.Job
	// failed is set if the last attempt in the status failed.
	failed bool
	// requeue is set if the next pass should follow immediately.
	requeue bool
	// at is the time of the next pass; zero: soon if the plan waits.
	at time.Time

	// phase, reason and message describe the state. refused is set if waiting does not help.
	phase, reason, message string
	rejected               bool
	// note is the message of an event about the completed step.
	note string
}

// rules are evaluated in this order; the first that returns a plan decides.
var rules = []func(*observation) *plan{
	discard,             // a Job that is no longer needed
	finishRun,           // the attempt in progress, until it has finished
	adopt,               // a Job that runs without a record
	waitForOtherWriters, // other processes that may still write
	invalid,             // a spec from which no Job can be created
	identify,            // the content of a database that is new to this DatabaseSync
	abort,               // an upgrade to be aborted
	upgradeRejection,    // an upgrade that is not possible
	prepare,             // the steps before pods of the new release may run
	rollOut,             // the rollout of the consumers
	cleanUp,             // the steps after the rollout
}

// next selects the next step. It depends only on the observation.
func next(w *observation) *plan {
	for _, rule := range rules {
		if p := rule(w); p != nil {
			return p
		}
	}
	return w.wait(openstackv1.SyncPhaseDone, "Done", "all steps have run for release "+w.sync.Spec.Release)
}

func invalid(w *observation) *plan {
	if image(&w.sync.Spec) != "" {
		return nil
	}
	return w.rejectedPlan("TemplateInvalid", "spec.template must have a container with an image: the first container runs the steps")
}

// abort aborts an upgrade while the schema still serves the old release. No step runs, because the steps of the old release
// do not support the schema.
func abort(w *observation) *plan {
	spec, status := &w.sync.Spec, &w.sync.Status
	expanded := !w.fresh() && status.PreviousRelease == spec.Release && status.InstalledRelease != spec.Release
	release, by := w.maxSchemaRelease()
	switch {
	case expanded:
	case w.fresh(), !w.aborted():
		return nil
	case by != expanding:
		return w.rejectedPlan("DowngradeImpossible", fmt.Sprintf("steps that upgrade the schema to release %s without expand and contract have "+
			"run, so it cannot be "+
			"downgraded to %s: set release to %s again, or restore the database and delete this DatabaseSync, which is created again",
			release, spec.Release, release))
	case w.complete():
		return nil
	}
	p := w.statusUpdatePlan(openstackv1.SyncPhaseDone, fmt.Sprintf("the upgrade was aborted: the schema still serves release %s",
		spec.Release))
	p.status.InstalledRelease, p.status.PreviousRelease = spec.Release, ""
	p.status.InstalledHash, p.status.ContractedHash = target(spec), target(spec)
	p.note = "aborted the upgrade; the schema serves release " + spec.Release
	return p
}

// upgradeRejection returns a plan with the reason why an upgrade cannot start; nil if it can.
func upgradeRejection(w *observation) *plan {
	spec, status := &w.sync.Spec, &w.sync.Status
	if w.fresh() || spec.Release == status.InstalledRelease {
		return nil
	}
	if status.ContractedRelease != status.InstalledRelease {
		return w.rejectedPlan("UpgradeIncomplete", fmt.Sprintf("the upgrade to release %s is not finished, which is required before release %s: "+
			"set release to %s again until all steps have run", status.InstalledRelease, spec.Release, status.InstalledRelease))
	}
	from := []string{status.InstalledRelease}
	if schemaRelease, _ := w.maxSchemaRelease(); schemaRelease != "" { // The schema was changed for a release that the pods do not run.
		from = append(from, schemaRelease)
	}
	for _, f := range from {
		if err := release.CheckUpgrade(release.Release(f), release.Release(spec.Release)); err != nil {
			return w.rejectedPlan("UpgradeRejected", err.Error())
		}
	}
	return nil
}

// prepare runs the steps that are required before pods of the new release may run.
func prepare(w *observation) *plan {
	if w.installed() {
		return nil
	}
	if p := w.run(w.currentSteps()); p != nil {
		return p
	}
	spec, status := &w.sync.Spec, &w.sync.Status
	p := w.statusUpdatePlan(openstackv1.SyncPhaseRollingOut, "the schema serves release "+spec.Release)
	p.note = "the schema serves release " + spec.Release
	if w.fresh() {
		p.status.ContractedRelease, p.status.ContractedHash = spec.Release, target(spec)
	} else if spec.Release != status.InstalledRelease && upgrading(spec) == expanding {
		p.status.PreviousRelease = status.InstalledRelease
	}
	p.status.InstalledRelease, p.status.InstalledHash = spec.Release, target(spec)
	return p
}

// rollOut waits until all consumers run the image.
func rollOut(w *observation) *plan {
	if w.complete() || w.rollout == "" {
		return nil
	}
	return w.waitForRollout()
}

func (obs *observation) waitForRollout() *plan {
	return obs.wait(openstackv1.SyncPhaseRollingOut, "RollingOut", "waiting for all pods to run the new image: "+obs.rollout)
}

func (obs *observation) waitForStop(p phase) *plan {
	return obs.wait(shown[p], "Quiescing", "waiting for all pods that use the database to stop: "+obs.stop)
}

// cleanUp runs the steps that require all consumers to run the image.
func cleanUp(w *observation) *plan {
	if w.complete() {
		return nil
	}
	if p := w.run(w.currentSteps()); p != nil {
		return p
	}
	p := w.statusUpdatePlan(openstackv1.SyncPhaseDone, "all steps have run for release "+w.sync.Spec.Release)
	p.status.PreviousRelease = ""
	p.status.ContractedRelease, p.status.ContractedHash = p.status.InstalledRelease, p.status.InstalledHash
	return p
}

// run starts the first step that has not succeeded; nil if all have.
func (obs *observation) run(todo []step) *plan {
	history := obs.sync.Status.History
	i := slices.IndexFunc(todo, func(s step) bool { return !done(history, s) })
	if i < 0 {
		return nil
	}
	return obs.startAttempt(todo[i])
}

// startAttempt starts the next attempt of a step once it is allowed.
func (obs *observation) startAttempt(s step) *plan {
	history := obs.sync.Status.History
	r := record{
		Step: s.key(), Release: obs.sync.Spec.Release, Image: image(&obs.sync.Spec), Hash: s.hash,
		Attempt: 1, Request: request(obs.sync), Quiesced: obs.quiesced(s),
	}
	if last := latest(history, s.hash); last != nil {
		r.Attempt = last.Attempt + 1
		if at := obs.retryAt(last, s); at.After(obs.now) {
			p := obs.wait(shown[s.phase], "StepFailed", obs.failure(last, at))
			if !s.phase.afterRollout() {
				p.phase = openstackv1.SyncPhaseFailed
			}
			p.at = at
			return p
		}
	}
	if len(obs.missing) > 0 {
		return obs.wait(openstackv1.SyncPhasePending, "Waiting",
			fmt.Sprintf("step %s is waiting for %s", r.Step, strings.Join(obs.missing, ", ")))
	}
	if r.Quiesced && obs.stop != "" {
		return obs.waitForStop(s.phase)
	}
	p := obs.statusUpdatePlan(shown[s.phase], obs.startMessage(&r))
	if obs.job(&r) == nil {
		p.create, p.of = &r, s
		return p
	}
	r.Started = &metav1.Time{Time: obs.now}
	p.status.History = appendAttempt(p.status.History, r)
	if s.phase.afterRollout() {
		p.status.PreviousRelease = "" // From here on, the upgrade cannot be aborted.
	}
	return p
}

// retryAt returns when a step may run again: immediately if its result was Repeat, or if the spec has changed.
func (obs *observation) retryAt(last *record, s step) time.Time {
	n := failures(obs.sync.Status.History, s, request(obs.sync))
	if n == 0 || last.Result != openstackv1.StepFailed {
		return obs.now
	}
	wait := batchjob.Backoff(firstBackoff, maxBackoff, n)
	if last.Finished.Sub(obs.now) > wait {
		return obs.now // The clock was set back: the time since the failure is unknown.
	}
	return last.Finished.Add(wait)
}

// statusUpdatePlan returns a plan that changes the status.
func (obs *observation) statusUpdatePlan(phase, message string) *plan {
	p := obs.wait(phase, "Progressing", message)
	p.requeue = true
	return p
}

// wait returns a plan that waits, with the reason.
func (obs *observation) wait(phase, reason, message string) *plan {
	return &plan{status: *obs.sync.Status.DeepCopy(), phase: phase, reason: reason, message: message}
}

// rejectedPlan returns a plan that waits until the spec changes.
func (obs *observation) rejectedPlan(reason, message string) *plan {
	p := obs.wait(openstackv1.SyncPhaseFailed, reason, message)
	p.rejected = true
	return p
}

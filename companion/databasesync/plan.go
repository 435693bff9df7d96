package databasesync

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// plan is what to do next. At most one of create, release, suspend, remove and a changed history is meant; a plan with none of them
// waits.
type plan struct {
	// status from now on, without conditions, which report adds.
	status openstackv1.DatabaseSyncStatus
	// create is the attempt whose Job is made, suspended; of is its step.
	create *record
	of     step
	// release is a suspended Job that may start now.
	release *batchv1.Job
	// suspend is a released Job that has not started and is not wanted any more.
	suspend *batchv1.Job
	// remove is a Job that is not wanted any more: suspended, or released and not started.
	remove *batchv1.Job
	// failed: the attempt that the status records last has.
	failed bool
	// again: there is more to do at once.
	again bool
	// at is when to check again if nothing happens; zero: soon if there is something to wait for.
	at time.Time

	// phase, reason and message say what is going on. Refused: it will not go on by waiting.
	phase, reason, message string
	refused                bool
	// note is an event: what was done.
	note string
}

// rules are asked in this order; the first that has an answer decides.
var rules = []func(*observation) *plan{
	discard,             // a Job that is not wanted any more
	finishRun,           // an attempt that is under way, to its end
	adopt,               // a Job that runs and is in no record
	waitForOtherWriters, // whatever else may still write
	invalid,             // what no Job can be made of
	identify,            // what is in a database that is new here
	abort,               // an upgrade that is aborted
	upgradeRejection,    // an upgrade that is not possible
	prepare,             // the steps before pods of the wanted release may run
	rollOut,             // the consumers' turn
	cleanUp,             // the steps after that
}

// next decides. It is a function of the world and of nothing else.
func next(w *observation) *plan {
	for _, rule := range rules {
		if p := rule(w); p != nil {
			return p
		}
	}
	return w.wait(openstackv1.SyncPhaseDone, "Done", "everything has run for release "+w.sync.Spec.Release)
}

func invalid(w *observation) *plan {
	if image(&w.sync.Spec) != "" {
		return nil
	}
	return w.rejectedPlan("TemplateInvalid", "spec.template has no container with an image: its first container runs the steps")
}

// abort aborts an upgrade where the schema serves the old release, too. No step runs: those of the old release do not know the schema.
func abort(w *observation) *plan {
	spec, status := &w.sync.Spec, &w.sync.Status
	expanded := !w.fresh() && status.PreviousRelease == spec.Release && status.InstalledRelease != spec.Release
	release, by := w.maxSchemaRelease()
	switch {
	case expanded:
	case w.fresh(), !w.aborted():
		return nil
	case by != expanding:
		return w.rejectedPlan("CannotGoBack", fmt.Sprintf("steps that bring the schema to release %s in one go have run, and there is no "+
			"way back to %s: set release to %s again, or restore the database and delete this DatabaseSync, which is made again",
			release, spec.Release, release))
	case w.complete():
		return nil
	}
	p := w.statusUpdatePlan(openstackv1.SyncPhaseDone, fmt.Sprintf("the upgrade was aborted: the schema serves release %s as before", spec.Release))
	p.status.InstalledRelease, p.status.PreviousRelease = spec.Release, ""
	p.status.InstalledHash, p.status.ContractedHash = target(spec), target(spec)
	p.note = "the upgrade was aborted, the schema serves release " + spec.Release
	return p
}

// upgradeRejection says why an upgrade cannot begin.
func upgradeRejection(w *observation) *plan {
	spec, status := &w.sync.Spec, &w.sync.Status
	if w.fresh() || spec.Release == status.InstalledRelease {
		return nil
	}
	if status.ContractedRelease != status.InstalledRelease {
		return w.rejectedPlan("UpgradeUnfinished", fmt.Sprintf("the upgrade to release %s is not finished, and release %s has to wait: "+
			"set release to %s again until everything has run", status.InstalledRelease, spec.Release, status.InstalledRelease))
	}
	from := []string{status.InstalledRelease}
	if ahead, _ := w.maxSchemaRelease(); ahead != "" { // The schema has seen a release that the pods have not.
		from = append(from, ahead)
	}
	for _, f := range from {
		if err := release.CheckUpgrade(release.Release(f), release.Release(spec.Release)); err != nil {
			return w.rejectedPlan("UpgradeRefused", err.Error())
		}
	}
	return nil
}

// prepare brings the schema to where pods of the wanted release may run.
func prepare(w *observation) *plan {
	if w.installed() {
		return nil
	}
	if p := w.run(w.dueSteps()); p != nil {
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

// rollOut waits until every consumer runs the image.
func rollOut(w *observation) *plan {
	if w.complete() || w.rollout == "" {
		return nil
	}
	return w.waitForRollout()
}

func (obs *observation) waitForRollout() *plan {
	return obs.wait(openstackv1.SyncPhaseRollingOut, "RollingOut", "waits until every pod runs the new image: "+obs.rollout)
}

func (obs *observation) waitForStop(p phase) *plan {
	return obs.wait(shown[p], "Quiescing", "waits until no pod that uses the database runs: "+obs.stop)
}

// cleanUp does what needs every consumer to run the image.
func cleanUp(w *observation) *plan {
	if w.complete() {
		return nil
	}
	if p := w.run(w.dueSteps()); p != nil {
		return p
	}
	p := w.statusUpdatePlan(openstackv1.SyncPhaseDone, "everything has run for release "+w.sync.Spec.Release)
	p.status.PreviousRelease = ""
	p.status.ContractedRelease, p.status.ContractedHash = p.status.InstalledRelease, p.status.InstalledHash
	return p
}

// run begins the first step that has not succeeded: nil if all have.
func (obs *observation) run(todo []step) *plan {
	history := obs.sync.Status.History
	i := slices.IndexFunc(todo, func(s step) bool { return !done(history, s) })
	if i < 0 {
		return nil
	}
	return obs.begin(todo[i])
}

// begin begins another attempt of a step, as soon as it may.
func (obs *observation) begin(s step) *plan {
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
			fmt.Sprintf("step %s waits until there are %s", r.Step, strings.Join(obs.missing, ", ")))
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
		p.status.PreviousRelease = "" // From here on there is no way back.
	}
	return p
}

// retryAt is when a step may run again after its last attempt: at once if more is left, or if the spec has changed.
func (obs *observation) retryAt(last *record, s step) time.Time {
	n := failures(obs.sync.Status.History, s, request(obs.sync))
	if n == 0 || last.Result != openstackv1.StepFailed {
		return obs.now
	}
	wait := backoff(n)
	if last.Finished.Sub(obs.now) > wait {
		return obs.now // The clock was set back: nobody knows how long ago that was.
	}
	return last.Finished.Add(wait)
}

// statusUpdatePlan is a plan that changes the status.
func (obs *observation) statusUpdatePlan(phase, message string) *plan {
	p := obs.wait(phase, "Progressing", message)
	p.again = true
	return p
}

// wait is a plan that does nothing, and says for what.
func (obs *observation) wait(phase, reason, message string) *plan {
	return &plan{status: *obs.sync.Status.DeepCopy(), phase: phase, reason: reason, message: message}
}

// rejectedPlan is a plan that does nothing until the spec changes.
func (obs *observation) rejectedPlan(reason, message string) *plan {
	p := obs.wait(openstackv1.SyncPhaseFailed, reason, message)
	p.refused = true
	return p
}

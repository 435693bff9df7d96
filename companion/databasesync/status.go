package databasesync

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
)

// Conditions of a DatabaseSync.
const (
	// conditionReady: the schema serves the requested release, so its pods may run.
	conditionReady = "Ready"
	// conditionContracted: all steps have run, and the schema has no parts of another release.
	conditionContracted = "Contracted"
)

// report returns the status for the observation and the plan.
func report(w *observation, p *plan) openstackv1.DatabaseSyncStatus {
	// Evaluated for the state after the plan was executed.
	then := *w
	then.sync = w.sync.DeepCopy()
	then.sync.Status = *p.status.DeepCopy()
	status := &then.sync.Status
	status.ObservedGeneration = w.sync.Generation
	status.Phase = cmp.Or(p.phase, openstackv1.SyncPhasePending)
	// A release that has just been installed is rolled out first.
	status.Quiesce = !p.rejected && then.quiesces() && then.rollout == "" && (w.installed() || !then.installed())

	ready := condition.False(p.reason, p.message)
	if then.installed() && !p.rejected {
		ready = condition.True("Installed", "the schema serves release "+status.InstalledRelease)
	}
	contracted := condition.False(p.reason, p.message)
	release, _ := then.maxSchemaRelease()
	switch {
	case !ready.True:
		contracted = condition.False("NotInstalled", fmt.Sprintf("the schema does not serve release %s yet", w.sync.Spec.Release))
	case release != "":
		contracted = condition.False("Ahead", fmt.Sprintf("the upgrade to release %s was aborted, but the schema is expanded for it: "+
			"upgrade again to finish", release))
	case then.complete():
		contracted = condition.True("StepsCompleted", "all steps have run for release "+status.InstalledRelease)
	}
	condition.Set(&status.Conditions, conditionReady, w.sync.Generation, w.now, ready)
	condition.Set(&status.Conditions, conditionContracted, w.sync.Generation, w.now, contracted)
	return *status
}

// startMessage returns the message for a starting attempt.
func (obs *observation) startMessage(r *record) string {
	return fmt.Sprintf("step %s of release %s is starting", r.Step, r.Release)
}

// running describes the progress of the attempt.
func (obs *observation) running(r *record, job *batchv1.Job) string {
	out := &strings.Builder{}
	fmt.Fprintf(out, "step %s of release %s runs in Job %s", r.Step, r.Release, job.Name)
	if obs.outdated(r) {
		out.WriteString(" for an earlier spec, which is completed first")
	}
	if r.Attempt > 1 {
		fmt.Fprintf(out, ", attempt %d", r.Attempt)
	}
	for _, p := range batchjob.ListPods(job, obs.pods) {
		if o := batchjob.PodStartProblem(&p); o != "" {
			fmt.Fprintf(out, "; Pod %s cannot start: %s", p.Name, o)
		}
	}
	return out.String()
}

func (obs *observation) busyMessage() string {
	return fmt.Sprintf("waiting for %s to end, which may still change the schema; if its node is lost, force-delete it",
		obs.busy())
}

// failure describes the last failure of a step and the time of the next attempt.
func (obs *observation) failure(last *record, at time.Time) string {
	out := fmt.Sprintf("step %s of release %s failed, attempt %d: %s. "+
		"It is retried at %s, or immediately when annotation %s is set to a new value",
		last.Step, last.Release, last.Attempt, batchjob.DescribeFailure(last.ExitCode, last.Log), at.UTC().Format(time.RFC3339), RetryAnnotation)
	if release, _ := reached(obs.sync.Status.History[:len(obs.sync.Status.History)-1]); obs.fresh() && release != "" &&
		release != last.Release {
		out += fmt.Sprintf(". The schema may already be that of release %s and cannot be downgraded", release)
	}
	return out
}

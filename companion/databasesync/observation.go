package databasesync

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	rights "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

// observation is the state that was read in one pass, from which all decisions are made.
type observation struct {
	sync *openstackv1.DatabaseSync
	now  time.Time
	// jobs and pods of the schema, regardless of which DatabaseSync of this name created them; the oldest Job first.
	jobs []batchv1.Job
	pods []corev1.Pod
	// missing are the Secrets and ConfigMaps that the pod of the steps requires.
	missing []string
	// versionOutput is the report of a finished version step, and output is the output of a failed step.
	versionOutput, output string
	// rollout is the reason why not all consumers run the image, and stop why not all are stopped; "" if none exists.
	rollout, stop string
}

// observe reads the state live, without a cache, because passes are rare and a step cannot be reverted. The DatabaseSync is
// read before and after its Jobs; a change in between is a conflict error.
func observe(ctx context.Context, env *controller.Env, sync *openstackv1.DatabaseSync) (*observation, error) {
	reader, key := env.Reader, client.ObjectKeyFromObject(sync)
	managed := []client.ListOption{client.InNamespace(key.Namespace), client.MatchingLabels{syncLabel: syncLabelValue(key.Name)}}
	jobs, pods := &batchv1.JobList{}, &corev1.PodList{}
	if err := reader.List(ctx, jobs, managed...); err != nil {
		return nil, fmt.Errorf("cannot list the schema's Jobs: %w", err)
	}
	// Pods after Jobs: the pod of a Job that is missing in the first list is still in the second.
	if err := reader.List(ctx, pods, managed...); err != nil {
		return nil, fmt.Errorf("cannot list the schema's pods: %w", err)
	}
	err := batchjob.CheckUnchanged(ctx, reader, "DatabaseSync", sync, &openstackv1.DatabaseSync{})
	if err != nil {
		return nil, err
	}
	w := &observation{sync: sync, now: env.Clock.Now(), jobs: jobs.Items, pods: pods.Items}
	slices.SortStableFunc(w.jobs, func(a, b batchv1.Job) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	w.parseOutput(ctx, env)
	if w.complete() && open(sync.Status.History) == nil {
		return w, nil
	}
	if w.missing, err = batchjob.Missing(ctx, reader, sync.Namespace, rights.References(&sync.Spec.Template.Spec)); err != nil {
		return nil, err
	}
	if !w.installed() && !w.quiesces() {
		return w, nil
	}
	consumers, err := consumersOf(ctx, reader, sync)
	if err != nil {
		return nil, err
	}
	w.stop = first(consumers, consumer.Workload.StopPendingReason)
	if w.installed() && (!w.quiesces() || !sync.Status.Quiesce) { // Otherwise the rollout was complete before the consumers were stopped.
		w.rollout = first(consumers, func(c consumer.Workload) string { return c.ImagePendingReason(image(&sync.Spec)) })
	}
	return w, nil
}

// parseOutput reads the output of a finished attempt if it is needed. A version step reports with its termination message or,
// usually, with its log. An unreadable output does not prevent the record; a version step is repeated then.
func (obs *observation) parseOutput(ctx context.Context, env *controller.Env) {
	current := open(obs.sync.Status.History)
	if current == nil {
		return
	}
	job := obs.job(current)
	if job == nil || !batchjob.HasEnded(job, obs.pods) {
		return
	}
	res := batchjob.GetResult(job, obs.pods)
	s := obs.step(current.Hash)
	if obs.versionOutput = res.Message; res.Pod == nil || phaseOf(current) != versioning &&
		s.classifyExitCode(res.Code) != openstackv1.StepFailed {
		return
	}
	text, readable := batchjob.ReadOutput(ctx, env, res)
	if obs.versionOutput, obs.output = cmp.Or(obs.versionOutput, text), text; !readable {
		obs.output = "its output cannot be read"
	}
}

// fresh reports whether the database is new, as far as the controller knows.
func (obs *observation) fresh() bool { return obs.sync.Status.InstalledRelease == "" }

// installed reports whether the schema serves the spec.
func (obs *observation) installed() bool {
	s := &obs.sync.Status
	return s.InstalledRelease == obs.sync.Spec.Release && s.InstalledHash == target(&obs.sync.Spec)
}

// complete reports whether all steps of the spec have run.
func (obs *observation) complete() bool {
	s := &obs.sync.Status
	return obs.installed() && s.ContractedRelease == s.InstalledRelease && s.ContractedHash == s.InstalledHash
}

// currentSteps returns the steps of the current phases, including succeeded ones.
func (obs *observation) currentSteps() []step {
	spec := &obs.sync.Spec
	switch {
	case obs.complete():
		return nil
	case obs.installed():
		return slices.Concat(steps(spec, contracting), steps(spec, migrating))
	case obs.fresh():
		return steps(spec, syncing)
	case spec.Release != obs.sync.Status.InstalledRelease:
		return append(steps(spec, checking), steps(spec, upgrading(spec))...)
	}
	return steps(spec, upgrading(spec))
}

// quiesces reports whether the running step, or otherwise the next one, requires stopped consumers.
func (obs *observation) quiesces() bool {
	if r := open(obs.sync.Status.History); r != nil {
		return r.Quiesced
	}
	pendingSteps := obs.currentSteps()
	i := slices.IndexFunc(pendingSteps, func(s step) bool { return !done(obs.sync.Status.History, s) })
	return i >= 0 && obs.quiesced(pendingSteps[i])
}

// quiesced reports whether a step requires stopped consumers. A different image of the same release has no incompatible
// change.
func (obs *observation) quiesced(s step) bool {
	return s.Quiesced && obs.sync.Status.ContractedRelease != obs.sync.Spec.Release
}

// maxSchemaRelease returns the release beyond the installed one to which the schema may have been upgraded, and the phase.
func (obs *observation) maxSchemaRelease() (release string, by phase) {
	if release, by = reached(obs.sync.Status.History); release == obs.sync.Status.InstalledRelease {
		return "", ""
	}
	return release, by
}

// aborted reports whether an upgrade has started, and the spec requests the installed release again.
func (obs *observation) aborted() bool {
	release, _ := obs.maxSchemaRelease()
	return release != "" && obs.sync.Spec.Release == obs.sync.Status.InstalledRelease
}

// outdated reports whether an attempt was made for an earlier spec.
func (obs *observation) outdated(r *record) bool { return r.Request != request(obs.sync) }

// known reports whether the history contains the attempt, or a newer attempt of the step.
func (obs *observation) known(r *record) bool {
	last := latest(obs.sync.Status.History, r.Hash)
	return last != nil && (last.Attempt > r.Attempt || last.Attempt == r.Attempt && last.Request == r.Request)
}

// isOwned reports whether this DatabaseSync, not an earlier object with its name, owns the Job.
func (obs *observation) isOwned(job *batchv1.Job) bool { return metav1.IsControlledBy(job, obs.sync) }

// job returns the Job of an attempt; nil if it does not exist.
func (obs *observation) job(r *record) *batchv1.Job {
	name := jobName(obs.sync, r)
	for i := range obs.jobs {
		if obs.jobs[i].Name == name && obs.isOwned(&obs.jobs[i]) {
			return &obs.jobs[i]
		}
	}
	return nil
}

// busy returns a process that may still write to the database: a Job that was released and has not ended, or a pod that
// outlived its Job; "" if none exists. A suspended Job of another DatabaseSync counts, because it may be released at any
// time.
func (obs *observation) busy() string {
	for i := range obs.jobs {
		if j := &obs.jobs[i]; !batchjob.IsFinished(j) && (!batchjob.IsSuspended(j) || !obs.isOwned(j)) {
			return "Job " + j.Name
		}
	}
	for i := range obs.pods {
		if p := &obs.pods[i]; consumer.Running(p) {
			return "Pod " + p.Name
		}
	}
	return ""
}

// step returns the step of the spec with the hash. For a step that is no longer in the spec, exit code 0 means success.
func (obs *observation) step(hash string) step {
	for _, p := range []phase{versioning, syncing, checking, expanding, contracting, migrating} {
		for _, s := range steps(&obs.sync.Spec, p) {
			if s.hash == hash {
				return s
			}
		}
	}
	return step{}
}

package databasesync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	rights "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

// observation is everything that a decision depends on, as it was read in one pass.
type observation struct {
	sync *openstackv1.DatabaseSync
	now  time.Time
	// jobs and pods of the schema, whichever DatabaseSync of this name made them; the oldest Job first.
	jobs []batchv1.Job
	pods []corev1.Pod
	// missing are Secrets and ConfigMaps that the steps' pod needs.
	missing []string
	// said is what a version step that has ended has reported, and output what a step has written that has failed.
	said, output string
	// rollout says what keeps the consumers from running the image all, and stop what keeps them from being stopped all: no words if
	// nothing does.
	rollout, stop string
}

// observe reads the world. Nothing comes from a cache: a pass is rare, and a step cannot be taken back. The DatabaseSync is read before and
// after its Jobs. If it has changed meanwhile, the error is a conflict. So a record whose Job is missing is older than that, and so is a
// Job than the record with which it is released.
func observe(ctx context.Context, env *controller.Env, sync *openstackv1.DatabaseSync) (*observation, error) {
	reader, key := env.Reader, client.ObjectKeyFromObject(sync)
	managed := []client.ListOption{client.InNamespace(key.Namespace), client.MatchingLabels{syncLabel: syncLabelValue(key.Name)}}
	jobs, pods := &batchv1.JobList{}, &corev1.PodList{}
	if err := reader.List(ctx, jobs, managed...); err != nil {
		return nil, fmt.Errorf("cannot list the schema's Jobs: %w", err)
	}
	// Pods after Jobs: the pod of a Job that is gone from the first list is still in the second.
	if err := reader.List(ctx, pods, managed...); err != nil {
		return nil, fmt.Errorf("cannot list the schema's pods: %w", err)
	}
	again := &openstackv1.DatabaseSync{}
	err := client.IgnoreNotFound(reader.Get(ctx, key, again))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the DatabaseSync: %w", err)
	case again.ResourceVersion != sync.ResourceVersion:
		return nil, apierrors.NewConflict(openstackv1.GroupVersion.WithResource("databasesyncs").GroupResource(), key.Name,
			errors.New("it has changed while its Jobs were read"))
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
	if w.installed() && (!w.quiesces() || !sync.Status.Quiesce) { // Else it was over before they were stopped.
		w.rollout = first(consumers, func(c consumer.Workload) string { return c.ImagePendingReason(image(&sync.Spec)) })
	}
	return w, nil
}

// parseOutput reads the output of an attempt that has ended, if that is to be known. A version step reports by its termination message or,
// mostly, by its log. What cannot be read keeps nothing from being recorded: a version step runs again then.
func (obs *observation) parseOutput(ctx context.Context, env *controller.Env) {
	current := open(obs.sync.Status.History)
	if current == nil {
		return
	}
	job := obs.job(current)
	if job == nil || !obs.isFinished(job) {
		return
	}
	res := batchjob.GetResult(job, obs.pods)
	s := obs.step(current.Hash)
	if obs.said = res.Message; res.Pod == nil || phaseOf(current) != versioning && s.classifyExitCode(res.Code) != openstackv1.StepFailed {
		return
	}
	text, err := env.Output(ctx, res.Pod, res.Container)
	if obs.said, obs.output = cmp.Or(obs.said, text), text; err != nil {
		log.FromContext(ctx).Error(err, "cannot read the output of a step", "pod", res.Pod.Name)
		obs.output = "its output cannot be read"
	}
}

// fresh: the database is new, as far as is known.
func (obs *observation) fresh() bool { return obs.sync.Status.InstalledRelease == "" }

// installed: the schema serves what the spec asks for.
func (obs *observation) installed() bool {
	s := &obs.sync.Status
	return s.InstalledRelease == obs.sync.Spec.Release && s.InstalledHash == target(&obs.sync.Spec)
}

// complete: everything has run for what the spec asks for.
func (obs *observation) complete() bool {
	s := &obs.sync.Status
	return obs.installed() && s.ContractedRelease == s.InstalledRelease && s.ContractedHash == s.InstalledHash
}

// dueSteps are the steps that are due, those of them that have succeeded too.
func (obs *observation) dueSteps() []step {
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

// quiesces: the step that runs, or else is in turn, is one that needs the consumers stopped.
func (obs *observation) quiesces() bool {
	if r := open(obs.sync.Status.History); r != nil {
		return r.Quiesced
	}
	turn := obs.dueSteps()
	i := slices.IndexFunc(turn, func(s step) bool { return !done(obs.sync.Status.History, s) })
	return i >= 0 && obs.quiesced(turn[i])
}

// quiesced: a step needs the consumers stopped. Another image of the same release brings nothing that it does not serve.
func (obs *observation) quiesced(s step) bool {
	return s.Quiesced && obs.sync.Status.ContractedRelease != obs.sync.Spec.Release
}

// maxSchemaRelease is the release that the schema may have been brought to beyond the installed one, and how.
func (obs *observation) maxSchemaRelease() (release string, by phase) {
	if release, by = reached(obs.sync.Status.History); release == obs.sync.Status.InstalledRelease {
		return "", ""
	}
	return release, by
}

// aborted: an upgrade has begun, and the spec asks for the installed release again.
func (obs *observation) aborted() bool {
	release, _ := obs.maxSchemaRelease()
	return release != "" && obs.sync.Spec.Release == obs.sync.Status.InstalledRelease
}

// outdated: an attempt was made for an earlier spec.
func (obs *observation) outdated(r *record) bool { return r.Request != request(obs.sync) }

// known reports whether an attempt is in the history, or a newer one of the same step is.
func (obs *observation) known(r *record) bool {
	last := latest(obs.sync.Status.History, r.Hash)
	return last != nil && (last.Attempt > r.Attempt || last.Attempt == r.Attempt && last.Request == r.Request)
}

// ours: a Job is this DatabaseSync's, not that of an earlier one of its name.
func (obs *observation) ours(job *batchv1.Job) bool { return metav1.IsControlledBy(job, obs.sync) }

// job of an attempt: nil if there is none.
func (obs *observation) job(r *record) *batchv1.Job {
	name := jobName(obs.sync, r)
	for i := range obs.jobs {
		if obs.jobs[i].Name == name && obs.ours(&obs.jobs[i]) {
			return &obs.jobs[i]
		}
	}
	return nil
}

// hasStarted reports whether a pod of a Job has started, or may have: one whose containers have run, or which has been there.
func (obs *observation) hasStarted(job *batchv1.Job) bool {
	return job.Status.Failed+job.Status.Succeeded > 0 ||
		slices.ContainsFunc(batchjob.ListPods(job, obs.pods), func(p corev1.Pod) bool { return batchjob.Started(&p) })
}

// isFinished: a Job has ended, and no pod of it is left that may write.
func (obs *observation) isFinished(job *batchv1.Job) bool {
	return batchjob.IsFinished(job) && !slices.ContainsFunc(batchjob.ListPods(job, obs.pods), func(p corev1.Pod) bool { return consumer.Running(&p) })
}

// busy names what may still write to the database: a Job that was released and has not ended, or a pod that outlived its Job.
// No words: nothing. A suspended Job of another DatabaseSync counts, since nobody knows who will release it.
func (obs *observation) busy() string {
	for i := range obs.jobs {
		if j := &obs.jobs[i]; !batchjob.IsFinished(j) && (!batchjob.IsSuspended(j) || !obs.ours(j)) {
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

// step finds a step of the spec by its identity. Of one that is no longer there, 0 is success.
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

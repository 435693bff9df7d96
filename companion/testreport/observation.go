package testreport

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// observation is the state of the runs.
type observation struct {
	report *openstackv1.TestReport
	now    time.Time
	// job is the last finished run, if it is not recorded yet; result is its result.
	job    *batchv1.Job
	result batchjob.Result
}

// observe reads the last finished run.
func observe(ctx context.Context, env *controller.Env, r *openstackv1.TestReport) (*observation, error) {
	w := &observation{report: r, now: env.Clock.Now()}
	jobs := &batchv1.JobList{}
	if err := env.Reader.List(ctx, jobs, client.InNamespace(r.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot list Jobs: %w", err)
	}
	for i := range jobs.Items {
		if j := &jobs.Items[i]; w.counts(j) && (w.job == nil || startTime(w.job).Before(startTime(j))) {
			w.job = j
		}
	}
	if w.job == nil {
		return w, nil
	}
	pods := &corev1.PodList{}
	own := client.MatchingLabels{batchv1.ControllerUidLabel: string(w.job.UID)}
	if err := env.Reader.List(ctx, pods, client.InNamespace(r.Namespace), own); err != nil {
		return nil, fmt.Errorf("cannot list the pods of Job %s: %w", w.job.Name, err)
	}
	w.result = batchjob.GetResult(w.job, pods.Items)
	return w, nil
}

// counts reports whether a Job is a finished run that is newer than the recorded one.
func (obs *observation) counts(j *batchv1.Job) bool {
	owner := metav1.GetControllerOf(j)
	if owner == nil || owner.Kind != "CronJob" || owner.Name != string(obs.report.Spec.CronJobName) || !batchjob.IsFinished(j) {
		return false
	}
	s := &obs.report.Status
	if s.Tests == nil || s.Tests.LastRun == nil {
		return true
	}
	return s.JobUID != string(j.UID) && !startTime(j).Before(s.Tests.LastRun)
}

// startTime returns the start time of a run in whole seconds.
func startTime(j *batchv1.Job) *metav1.Time {
	if j.Status.StartTime != nil {
		return j.Status.StartTime
	}
	return &j.CreationTimestamp
}

// finishRun returns the end time of a run.
func finishRun(j *batchv1.Job) time.Time {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

package batchjob

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/jsonannotation"
	rights "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

// Kind describes a kind of objects that run Jobs, one at a time.
type Kind struct {
	// Name is the kind of the owners of the Jobs, and Object is an empty object of it.
	Name   string
	Object client.Object
	// Annotation of a Job with the run for which it was created.
	Annotation string
	// Reserved describes the Jobs for which the name of the Job is reserved.
	Reserved string
	// Starting is the reason for waiting that is reported while a Job is created and recorded. Empty: the recorded state is
	// reported.
	Starting string
	// Runs counts finished runs by namespace, name, command and result.
	Runs *prometheus.CounterVec
}

// Observation is the state of an object's Job that was read in one pass.
type Observation struct {
	// Kind and Owner of the Job, its pod template, its name, and the labels of the pods of all Jobs with the name.
	Kind     *Kind
	Owner    client.Object
	Template *corev1.PodTemplateSpec
	Name     string
	Labels   client.MatchingLabels
	// Siblings are the last runs of other objects whose Jobs have the same name, by the UID of the object; nil: none.
	Siblings map[types.UID]*openstackv1.JobRun
	Now      time.Time

	// Job is the Job with the name, regardless of its owner; nil if none exists. Pods are the pods of all Jobs with the name.
	Job  *batchv1.Job
	Pods []corev1.Pod
	// Missing are the Secrets and ConfigMaps that the pod of the next Job requires.
	Missing []string
	// Output is the output of a finished run. OutputUnreadable is set if it cannot be read.
	Output           string
	OutputUnreadable bool
}

// Runner is the observation of an object that runs Jobs, one at a time; it embeds an Observation. R is the record of a run in
// the object's status. It contains a JobRun.
type Runner[R comparable] interface {
	recorder

	// NextRun returns the next run; nil if no run is required. It does not consider the delay after a failure.
	NextRun() *R
	// RejectReason returns why no Job is created for the spec; "" if one is.
	RejectReason() string
	// NewJob builds the Job of a run.
	NewJob(run *R) *batchv1.Job
	// RecordRun sets the run in progress in the status.
	RecordRun(run *R)
	// EvaluateRun determines the result of the run in progress, whose exit code is 0.
	EvaluateRun(res Result) *controller.Decision
	// FailRun records that the run in progress has failed or is lost, usually with EndRun.
	FailRun(result string, res Result) *controller.Decision

	// Command returns the command of the run in progress for logs and metrics, and Title returns it for messages.
	Command() string
	Title() string
	// WaitsFor returns the message while the Job of another owner of the kind has the name.
	WaitsFor(owner string) string
}

type recorder interface {
	observed() *Observation
	// LastRun returns the recorded run: the run in progress, otherwise the last one; nil if none exists.
	LastRun() *openstackv1.JobRun
	// Report sets the conditions from the recorded state. why is the reason if the pass waits, otherwise "".
	Report(why string)
}

func (o *Observation) observed() *Observation { return o }

// Time returns the current time for a status, in whole seconds.
func (o *Observation) Time() *metav1.Time { return &metav1.Time{Time: o.Now.Truncate(time.Second)} }

// Observe reads the Job and its pods live, without a cache, and the output of a finished run or the missing references of the
// next run. idle is set if no run is in progress or required.
//
// The owner is read before and after the Job; a change in between is a conflict error. So a record without a Job is older than
// that, and a Job is older than the record with which it is released.
func Observe[W Runner[R], R comparable](ctx context.Context, env *controller.Env, w W) (idle bool, err error) {
	o := w.observed()
	namespace := client.InNamespace(o.Owner.GetNamespace())
	key := client.ObjectKey{Namespace: o.Owner.GetNamespace(), Name: o.Name}
	if o.Job, err = apireader.Get(ctx, env.Reader, "Job", key, &batchv1.Job{}); err != nil {
		return false, err
	}
	// Pods after the Job: the pods of a Job that did not exist may still exist.
	pods := &corev1.PodList{}
	if err := env.Reader.List(ctx, pods, namespace, o.Labels); err != nil {
		return false, fmt.Errorf("cannot list the pods of Job %s: %w", o.Name, err)
	}
	o.Pods = pods.Items
	if err := CheckUnchanged(ctx, env.Reader, o.Kind.Name, o.Owner, o.Kind.Object); err != nil {
		return false, err
	}
	switch r := runInProgress(w); {
	case r != nil:
		if o.isJobOf(r) && HasEnded(o.Job, o.Pods) {
			var readable bool
			o.Output, readable = ReadOutput(ctx, env, GetResult(o.Job, o.Pods))
			o.OutputUnreadable = !readable
		}
		return false, nil
	case w.RejectReason() != "":
		return false, nil
	case w.NextRun() == nil:
		return true, nil
	}
	o.Missing, err = Missing(ctx, env.Reader, o.Owner.GetNamespace(), rights.References(&o.Template.Spec))
	return false, err
}

// runInProgress returns the recorded run without a result; nil if none exists.
func runInProgress(w recorder) *openstackv1.JobRun {
	if r := w.LastRun(); r != nil && r.Result == "" {
		return r
	}
	return nil
}

// runOf returns the run for which a Job was created; nil if its annotation contains none.
func runOf[R comparable](job *batchv1.Job, annotation string) *R {
	r, err := jsonannotation.Read[R](job, annotation)
	if err != nil || r == nil || *r == *new(R) {
		return nil
	}
	return r
}

// isOwned reports whether the owner itself owns the Job, not a sibling or an earlier object with its name.
func (o *Observation) isOwned() bool { return o.Job != nil && metav1.IsControlledBy(o.Job, o.Owner) }

// isJobOf reports whether the Job was recorded for a run.
func (o *Observation) isJobOf(r *openstackv1.JobRun) bool {
	return o.isOwned() && string(o.Job.UID) == r.JobUID
}

// orphanedPod returns a pod that outlived its Job and may write; "" if none exists.
func (o *Observation) orphanedPod() string {
	for i := range o.Pods {
		if p := &o.Pods[i]; consumer.Running(p) && (o.Job == nil || !metav1.IsControlledBy(p, o.Job)) {
			return "Pod " + p.Name
		}
	}
	return ""
}

// canDelete reports whether the Job of an owner of the kind may be deleted for the next one: it has ended, and its owner has
// recorded the result or no longer exists.
func (o *Observation) canDelete(owner *metav1.OwnerReference) bool {
	if o.Job.DeletionTimestamp != nil || !HasEnded(o.Job, o.Pods) {
		return false
	}
	if r, exists := o.Siblings[owner.UID]; exists {
		return r != nil && r.JobUID == string(o.Job.UID) && r.Result != ""
	}
	return true
}

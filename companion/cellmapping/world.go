package cellmapping

import (
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
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
	rights "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

// observation is the state that was read in one pass, from which all decisions are made.
type observation struct {
	cell *openstackv1.CellMapping
	// now is the current time, and started is the start time of the controller.
	now, started time.Time
	// siblings are the other CellMappings of the same Nova.
	siblings []openstackv1.CellMapping
	// job is the Job of the Nova, for any cell; nil if none exists. pods are the pods of all its Jobs.
	job  *batchv1.Job
	pods []corev1.Pod
	// missing are the Secrets and ConfigMaps that the Job's pod requires.
	missing []string
	// output is the output of a finished run; outputUnread is set if it cannot be read.
	output           string
	outputUnreadable bool
	// apiQueried is set if Nova's API has returned the hosts with hypervisors; apiError is the reason if it failed.
	// retryAfter is the remaining rate limit.
	apiQueried bool
	hosts      []string
	apiError   string
	retryAfter time.Duration
}

// observe reads the state live, without a cache. The CellMapping is read before and after the Job; a change in between is a
// conflict error. So a record without a Job is older than that, and a Job is older than the record with which it is released.
// Siblings are read before the Job: their records are of an earlier state of it.
func observe(ctx context.Context, env *controller.Env, c *openstackv1.CellMapping) (*observation, error) {
	w := &observation{cell: c, now: env.Clock.Now(), started: env.Started}
	if err := w.read(ctx, env.Reader); err != nil {
		return nil, err
	}
	reread := &openstackv1.CellMapping{}
	err := client.IgnoreNotFound(env.Reader.Get(ctx, client.ObjectKeyFromObject(c), reread))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the CellMapping: %w", err)
	case reread.ResourceVersion != c.ResourceVersion:
		return nil, apierrors.NewConflict(openstackv1.GroupVersion.WithResource("cellmappings").GroupResource(), c.Name,
			errors.New("it changed while the Job was read"))
	}
	if w.open() != nil {
		w.parseOutput(ctx, env)
		return w, nil
	}
	if w.rejectReason() != "" {
		return w, nil
	}
	if w.nextRun() != nil {
		w.missing, err = batchjob.Missing(ctx, env.Reader, c.Namespace, rights.References(&c.Spec.Template.Spec))
		return w, err
	}
	return w, w.listHypervisors(ctx, env)
}

func (obs *observation) read(ctx context.Context, reader client.Reader) error {
	here, nova := client.InNamespace(obs.cell.Namespace), novaOf(obs.cell)
	all, pods := &openstackv1.CellMappingList{}, &corev1.PodList{}
	if err := reader.List(ctx, all, here); err != nil {
		return fmt.Errorf("cannot list CellMappings: %w", err)
	}
	obs.siblings = slices.DeleteFunc(all.Items, func(c openstackv1.CellMapping) bool { return c.UID == obs.cell.UID || novaOf(&c) != nova })
	var err error
	key := client.ObjectKey{Namespace: obs.cell.Namespace, Name: jobName(nova)}
	if obs.job, err = live.Get(ctx, reader, "Job", key, &batchv1.Job{}); err != nil {
		return err
	}
	// Pods after the Job: the pods of a Job that did not exist may still exist.
	if err := reader.List(ctx, pods, here, client.MatchingLabels{novaLabel: novaLabelValue(nova)}); err != nil {
		return fmt.Errorf("cannot list the pods of cells: %w", err)
	}
	obs.pods = pods.Items
	return nil
}

// parseOutput reads the output of a finished run. An unreadable output does not prevent the record.
func (obs *observation) parseOutput(ctx context.Context, env *controller.Env) {
	if !obs.isCurrentRun() || !obs.isFinished() {
		return
	}
	res := batchjob.GetResult(obs.job, obs.pods)
	if obs.outputUnreadable = res.Pod == nil; obs.outputUnreadable {
		return
	}
	var err error
	if obs.output, err = env.Output(ctx, res.Pod, res.Container); err != nil {
		log.FromContext(ctx).Error(err, "cannot read the output of a command", "pod", res.Pod.Name)
		obs.outputUnreadable = true
	}
}

// listHypervisors lists the hypervisors with Nova's API, if hosts have to be searched and no search is in progress.
func (obs *observation) listHypervisors(ctx context.Context, env *controller.Env) error {
	ref := obs.cell.Spec.CloudCredentialsRef
	if ref == nil || obs.cell.Spec.Cell == cell0 {
		return nil
	}
	if obs.retryAfter = env.Limit(client.ObjectKeyFromObject(obs.cell), pollInterval); obs.retryAfter > 0 {
		return nil
	}
	nova, problem, err := compute.Find(ctx, env.Reader, env.Transport, obs.cell.Namespace, *ref)
	if err != nil || problem != "" {
		obs.apiError = problem
		return err
	}
	all, err := nova.Services(ctx, compute.Compute)
	if err != nil {
		obs.apiError = err.Error()
		return nil //nolint:nilerr // It is reported and retried.
	}
	obs.apiQueried = true
	for _, s := range all {
		obs.hosts = append(obs.hosts, s.Host)
	}
	slices.Sort(obs.hosts)
	obs.hosts = slices.Compact(obs.hosts)
	return nil
}

// open returns the run in progress; nil if none exists.
func (obs *observation) open() *run {
	if r := obs.cell.Status.Run; r != nil && r.Result == "" {
		return r
	}
	return nil
}

// isOwned reports whether this CellMapping owns the Job, not a sibling or an earlier object with its name.
func (obs *observation) isOwned() bool {
	return obs.job != nil && metav1.IsControlledBy(obs.job, obs.cell)
}

// isCurrentRun reports whether the Job belongs to the run in progress.
func (obs *observation) isCurrentRun() bool {
	r := obs.open()
	return r != nil && obs.isOwned() && string(obs.job.UID) == r.JobUID
}

// hasStarted reports whether a pod of the Job has started, or may have started.
func (obs *observation) hasStarted() bool {
	return obs.job.Status.Failed+obs.job.Status.Succeeded > 0 ||
		slices.ContainsFunc(batchjob.ListPods(obs.job, obs.pods), func(p corev1.Pod) bool { return batchjob.Started(&p) })
}

// isFinished reports whether the Job has ended and has no pods that may write.
func (obs *observation) isFinished() bool {
	return batchjob.IsFinished(obs.job) &&
		!slices.ContainsFunc(batchjob.ListPods(obs.job, obs.pods), func(p corev1.Pod) bool { return consumer.Running(&p) })
}

// orphanedPod returns a pod that outlived its Job and may write; "" if none exists.
func (obs *observation) orphanedPod() string {
	for i := range obs.pods {
		if p := &obs.pods[i]; consumer.Running(p) && (obs.job == nil || !metav1.IsControlledBy(p, obs.job)) {
			return "Pod " + p.Name
		}
	}
	return ""
}

package ovnsync

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
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
	rights "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

// observation is the state that was read in one pass, from which all decisions are made.
type observation struct {
	sync *openstackv1.OVNSync
	now  time.Time
	// job is the Job with the name, regardless of its owner; pods are the pods of all Jobs with the name.
	job  *batchv1.Job
	pods []corev1.Pod
	// missing are the Secrets and ConfigMaps that the Job's pod requires.
	missing []string
	// output is the output of a finished run; outputUnread is set if it cannot be read.
	output           string
	outputUnreadable bool
}

// observe reads the state live, without a cache. The OVNSync is read before and after the Job; a change in between is a
// conflict error. So a record without a Job is older than that, and a Job is older than the record with which it is released.
func observe(ctx context.Context, env *controller.Env, o *openstackv1.OVNSync) (*observation, error) {
	w := &observation{sync: o, now: env.Clock.Now()}
	if err := w.read(ctx, env.Reader); err != nil {
		return nil, err
	}
	reread := &openstackv1.OVNSync{}
	err := client.IgnoreNotFound(env.Reader.Get(ctx, client.ObjectKeyFromObject(o), reread))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the OVNSync: %w", err)
	case reread.ResourceVersion != o.ResourceVersion:
		return nil, apierrors.NewConflict(openstackv1.GroupVersion.WithResource("ovnsyncs").GroupResource(), o.Name,
			errors.New("it changed while the Job was read"))
	}
	if w.open() != nil {
		w.parseOutput(ctx, env)
		return w, nil
	}
	if w.nextRun() != nil && w.rejectReason() == "" {
		w.missing, err = batchjob.Missing(ctx, env.Reader, o.Namespace, rights.References(&o.Spec.Template.Spec))
	}
	return w, err
}

func (obs *observation) read(ctx context.Context, reader client.Reader) error {
	here, name := client.InNamespace(obs.sync.Namespace), jobName(obs.sync)
	var err error
	key := client.ObjectKey{Namespace: obs.sync.Namespace, Name: name}
	if obs.job, err = live.Get(ctx, reader, "Job", key, &batchv1.Job{}); err != nil {
		return err
	}
	// Pods after the Job: the pods of a Job that did not exist may still exist.
	pods := &corev1.PodList{}
	if err := reader.List(ctx, pods, here, client.MatchingLabels{syncLabel: name}); err != nil {
		return fmt.Errorf("cannot list the pods of comparisons: %w", err)
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
		log.FromContext(ctx).Error(err, "cannot read the output of a comparison", "pod", res.Pod.Name)
		obs.outputUnreadable = true
	}
}

// open returns the run in progress; nil if none exists.
func (obs *observation) open() *run {
	if r := obs.sync.Status.Run; r != nil && r.Result == "" {
		return r
	}
	return nil
}

// isAnswered reports whether the last answer is for the current request.
func (obs *observation) isAnswered() bool {
	a := obs.sync.Status.Answer
	return a != nil && a.Request == obs.sync.Spec.Request && a.Mode == modeOf(obs.sync.Spec.OVNSyncRequest)
}

// nextRun returns the next run; nil if the request is completed.
func (obs *observation) nextRun() *run {
	if obs.isAnswered() {
		return nil
	}
	r := &run{Number: 1, Request: obs.sync.Spec.Request, Mode: modeOf(obs.sync.Spec.OVNSyncRequest), Generation: obs.sync.Generation}
	if last := obs.sync.Status.Run; last != nil {
		r.Number = last.Number + 1
	}
	return r
}

// rejectReason returns why the spec is rejected; "" if it is not.
func (obs *observation) rejectReason() string {
	if len(obs.sync.Spec.Template.Spec.Containers) == 0 {
		return "spec.template.spec.containers must not be empty: the first container runs Neutron's tool"
	}
	return ""
}

// isOwned reports whether this OVNSync, not an earlier object with its name, owns the Job.
func (obs *observation) isOwned() bool {
	return obs.job != nil && metav1.IsControlledBy(obs.job, obs.sync)
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

func (obs *observation) time() *metav1.Time { return &metav1.Time{Time: obs.now.Truncate(time.Second)} }

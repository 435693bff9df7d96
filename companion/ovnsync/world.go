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

// world is everything that a decision depends on, as it was read in one pass.
type world struct {
	sync *openstackv1.OVNSync
	now  time.Time
	// job is the one that there is, whosever; pods are those of all Jobs of this name.
	job  *batchv1.Job
	pods []corev1.Pod
	// missing are Secrets and ConfigMaps that the Job's pod needs.
	missing []string
	// output is what a run has written that has ended; unread says that it cannot be read.
	output string
	unread bool
}

// observe reads the world, and nothing of it from a cache. The OVNSync is read before and after the Job, and if it has changed meanwhile,
// the error is a conflict: so a record whose Job is missing is older than that, and so is a Job than the record with which it is released.
func observe(ctx context.Context, env *controller.Env, o *openstackv1.OVNSync) (*world, error) {
	w := &world{sync: o, now: env.Clock.Now()}
	if err := w.read(ctx, env.Reader); err != nil {
		return nil, err
	}
	again := &openstackv1.OVNSync{}
	err := client.IgnoreNotFound(env.Reader.Get(ctx, client.ObjectKeyFromObject(o), again))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the OVNSync: %w", err)
	case again.ResourceVersion != o.ResourceVersion:
		return nil, apierrors.NewConflict(openstackv1.GroupVersion.WithResource("ovnsyncs").GroupResource(), o.Name,
			errors.New("it has changed while the Job was read"))
	}
	if w.open() != nil {
		w.listen(ctx, env)
		return w, nil
	}
	if w.due() != nil && w.refusal() == "" {
		w.missing, err = batchjob.Missing(ctx, env.Reader, o.Namespace, rights.References(&o.Spec.Template.Spec))
	}
	return w, err
}

func (w *world) read(ctx context.Context, reader client.Reader) error {
	here, name := client.InNamespace(w.sync.Namespace), jobName(w.sync)
	var err error
	key := client.ObjectKey{Namespace: w.sync.Namespace, Name: name}
	if w.job, err = live.Get(ctx, reader, "Job", key, &batchv1.Job{}); err != nil {
		return err
	}
	// Pods after the Job: those of a Job that was gone are still there.
	pods := &corev1.PodList{}
	if err := reader.List(ctx, pods, here, client.MatchingLabels{syncLabel: name}); err != nil {
		return fmt.Errorf("cannot list the pods of comparisons: %w", err)
	}
	w.pods = pods.Items
	return nil
}

// listen reads the output of a run that has ended. What cannot be read keeps nothing from being recorded.
func (w *world) listen(ctx context.Context, env *controller.Env) {
	if !w.attended() || !w.over() {
		return
	}
	res := batchjob.ResultOf(w.job, w.pods)
	if w.unread = res.Pod == nil; w.unread {
		return
	}
	var err error
	if w.output, err = env.Output(ctx, res.Pod, res.Container); err != nil {
		log.FromContext(ctx).Error(err, "cannot read the output of a comparison", "pod", res.Pod.Name)
		w.unread = true
	}
}

// open is the run that is under way: nil if there is none.
func (w *world) open() *run {
	if r := w.sync.Status.Run; r != nil && r.Result == "" {
		return r
	}
	return nil
}

// answered: the last answer is that of what is asked now.
func (w *world) answered() bool {
	a := w.sync.Status.Answer
	return a != nil && a.Request == w.sync.Spec.Request && a.Mode == modeOf(w.sync.Spec.OVNSyncRequest)
}

// due is the run that is to be made next: nil if there is nothing to answer.
func (w *world) due() *run {
	if w.answered() {
		return nil
	}
	r := &run{Number: 1, Request: w.sync.Spec.Request, Mode: modeOf(w.sync.Spec.OVNSyncRequest), Generation: w.sync.Generation}
	if last := w.sync.Status.Run; last != nil {
		r.Number = last.Number + 1
	}
	return r
}

// refusal says why nothing is done: no words if there is no reason.
func (w *world) refusal() string {
	if len(w.sync.Spec.Template.Spec.Containers) == 0 {
		return "spec.template.spec.containers is empty: the first container runs Neutron's tool"
	}
	return ""
}

// ours: the Job is this OVNSync's, not that of an earlier one of its name.
func (w *world) ours() bool { return w.job != nil && metav1.IsControlledBy(w.job, w.sync) }

// attended: the Job is the one of the run that is under way.
func (w *world) attended() bool {
	r := w.open()
	return r != nil && w.ours() && string(w.job.UID) == r.JobUID
}

// begun reports whether a pod of the Job has started, or may have.
func (w *world) begun() bool {
	return w.job.Status.Failed+w.job.Status.Succeeded > 0 ||
		slices.ContainsFunc(batchjob.PodsOf(w.job, w.pods), func(p corev1.Pod) bool { return batchjob.Started(&p) })
}

// over: the Job has ended, and no pod of it is left that may write.
func (w *world) over() bool {
	return batchjob.Ended(w.job) &&
		!slices.ContainsFunc(batchjob.PodsOf(w.job, w.pods), func(p corev1.Pod) bool { return consumer.Running(&p) })
}

// orphan is a pod that has outlived its Job and may write: no word if there is none.
func (w *world) orphan() string {
	for i := range w.pods {
		if p := &w.pods[i]; consumer.Running(p) && (w.job == nil || !metav1.IsControlledBy(p, w.job)) {
			return "Pod " + p.Name
		}
	}
	return ""
}

func (w *world) time() *metav1.Time { return &metav1.Time{Time: w.now.Truncate(time.Second)} }

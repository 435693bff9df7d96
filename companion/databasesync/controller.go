package databasesync

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/conflict"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/event"
)

const (
	// atOnce is after a step, poll while something is awaited (pods, Secrets and ConfigMaps are not watched), and longest the
	// time after which it looks in any case.
	atOnce  = conflict.AtOnce
	poll    = 5 * time.Second
	longest = 10 * time.Minute
)

// Reconciler reconciles DatabaseSyncs.
type Reconciler struct {
	// Client writes.
	Client client.Client
	// Reader reads live, past every cache.
	Reader client.Reader
	// Output gives the last lines that a container of a pod has written.
	Output func(ctx context.Context, pod *corev1.Pod, container string) (string, error)
	// Events tells people what was done.
	Events events.EventRecorder
	// Clock tells the time.
	Clock clock.PassiveClock
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=databasesyncs,verbs=get;list;watch
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=databasesyncs/status,verbs=get;update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets;configmaps,verbs=get
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error {
	for _, c := range collectors() {
		if err := metrics.Registry.Register(c); err != nil {
			return fmt.Errorf("cannot register metrics: %w", err)
		}
	}
	pods, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("cannot make a client for logs: %w", err)
	}
	r := &Reconciler{
		Client: mgr.GetClient(),
		Reader: mgr.GetAPIReader(),
		Output: output(pods.CoreV1()),
		Events: mgr.GetEventRecorder("databasesync"),
		Clock:  clock.RealClock{},
	}
	// What is watched only wakes: decisions read live, so metadata is enough.
	return ctrl.NewControllerManagedBy(mgr).
		Named("databasesync").
		For(&openstackv1.DatabaseSync{}, builder.WithPredicates(
			predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Owns(&batchv1.Job{}, builder.OnlyMetadata).
		WatchesMetadata(&appsv1.Deployment{}, consumers(mgr.GetClient(), "Deployment")).
		WatchesMetadata(&appsv1.StatefulSet{}, consumers(mgr.GetClient(), "StatefulSet")).
		Complete(r)
}

// consumers finds the DatabaseSyncs that a workload is a consumer of.
func consumers(reader client.Reader, kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		list := &openstackv1.DatabaseSyncList{}
		if err := reader.List(ctx, list, client.InNamespace(o.GetNamespace())); err != nil {
			log.FromContext(ctx).Error(err, "cannot list DatabaseSyncs")
			return nil
		}
		var out []reconcile.Request
		for i := range list.Items {
			for _, c := range list.Items[i].Spec.Consumers {
				if c.Kind == kind && string(c.Name) == o.GetName() {
					out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
					break
				}
			}
		}
		return out
	})
}

// Reconcile takes one step.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	rest, err := r.pass(ctx, req.NamespacedName)
	return conflict.Again(ctx, reconcile.Result{RequeueAfter: rest}, err)
}

// pass observes, decides and does that. It gives how long to rest: zero if there is no such DatabaseSync.
func (r *Reconciler) pass(ctx context.Context, key client.ObjectKey) (time.Duration, error) {
	w, err := observe(ctx, r.Reader, key, r.Clock.Now())
	if err != nil {
		return 0, err
	}
	if w == nil {
		forget(key.Namespace, key.Name)
		return 0, nil
	}
	r.listen(ctx, w)
	p := next(w)
	return p.patience(w), r.carryOut(ctx, w, p)
}

// listen reads what a version step that has ended has told: its termination message or, mostly, its log. What cannot be read is
// missing, and the step runs again.
func (r *Reconciler) listen(ctx context.Context, w *world) {
	current := open(w.sync.Status.History)
	if current == nil || phaseOf(current) != versioning {
		return
	}
	job := w.job(current)
	if job == nil || !w.over(job) {
		return
	}
	res := resultOf(job, w.pods)
	if w.said = res.message; w.said != "" || res.pod == nil {
		return
	}
	text, err := r.Output(ctx, res.pod, res.container)
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot read what a database has told", "pod", res.pod.Name)
	}
	w.said = text
}

// patience is how long to rest after a plan was carried out.
func (p *plan) patience(w *world) time.Duration {
	switch {
	case p.again:
		return atOnce
	case !p.at.IsZero():
		return min(max(p.at.Sub(w.now), atOnce), longest)
	case p.refused, p.phase == openstackv1.SyncPhaseDone:
		return longest
	}
	return poll
}

// carryOut does what a plan says: first the status, so that nothing runs that is not recorded.
func (r *Reconciler) carryOut(ctx context.Context, w *world, p *plan) error {
	if p.failed != nil {
		r.readOutput(ctx, p)
	}
	if err := r.tell(ctx, w, p); err != nil {
		return err
	}
	var err error
	switch {
	case p.create != nil:
		err = r.create(ctx, w, p)
	case p.release != nil:
		err = r.suspend(ctx, p.release, false)
	case p.suspend != nil:
		err = r.suspend(ctx, p.suspend, true)
	case p.remove != nil:
		err = r.remove(ctx, p.remove)
	}
	if err == nil && p.note != "" {
		log.FromContext(ctx).Info(p.note)
		event.Record(r.Events, w.sync, event.Normal, "Schema", p.note)
	}
	return err
}

func (r *Reconciler) create(ctx context.Context, w *world, p *plan) error {
	job, err := newJob(w.sync, p.of, p.create)
	if err != nil {
		return err
	}
	// One that is there already was made for this same attempt.
	if err := r.Client.Create(ctx, job); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("cannot make Job %s: %w", job.Name, err)
	}
	return nil
}

// suspend keeps a Job from starting, or lets it start, as it was seen and no other.
func (r *Reconciler) suspend(ctx context.Context, job *batchv1.Job, held bool) error {
	changed := job.DeepCopy()
	changed.Spec.Suspend = &held
	asSeen := client.MergeFromWithOptions(job, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, changed, asSeen); err != nil {
		return fmt.Errorf("cannot set spec.suspend of Job %s to %t: %w", job.Name, held, err)
	}
	return nil
}

// remove clears a Job away, as it was seen: it may have been released meanwhile.
func (r *Reconciler) remove(ctx context.Context, job *batchv1.Job) error {
	err := r.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground),
		client.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cannot clear Job %s away: %w", job.Name, err)
	}
	return nil
}

// readOutput puts the end of a failed attempt's output into its record. An output that cannot be read keeps nothing from being
// recorded.
func (r *Reconciler) readOutput(ctx context.Context, p *plan) {
	last := &p.status.History[len(p.status.History)-1]
	if p.failed.pod == nil {
		return
	}
	text, err := r.Output(ctx, p.failed.pod, p.failed.container)
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot read the output of a step", "pod", p.failed.pod.Name)
		text = "its output cannot be read"
	}
	if last.Log != "" {
		text += "\n" + last.Log
	}
	last.Log = excerpt(text)
}

// tell writes the status, if it has changed, and events of what went wrong.
func (r *Reconciler) tell(ctx context.Context, w *world, p *plan) error {
	before := meta.FindStatusCondition(w.sync.Status.Conditions, conditionReady)
	changed := w.sync.DeepCopy()
	changed.Status = report(w, p)
	if !equality.Semantic.DeepEqual(changed.Status, w.sync.Status) {
		if err := r.Client.Status().Update(ctx, changed); err != nil {
			return fmt.Errorf("cannot write the status: %w", err)
		}
	}
	measure(changed)
	if p.failed != nil {
		last := &changed.Status.History[len(changed.Status.History)-1]
		failed.WithLabelValues(changed.Namespace, changed.Name, last.Step).Inc()
		event.Record(r.Events, w.sync, event.Warning, openstackv1.StepFailed,
			fmt.Sprintf("step %s of release %s, attempt %d: %s", last.Step, last.Release, last.Attempt, how(last)))
	}
	if p.refused && (before == nil || before.Reason != p.reason) {
		event.Record(r.Events, w.sync, event.Warning, p.reason, p.message)
	}
	return nil
}

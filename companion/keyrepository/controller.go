package keyrepository

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/named"
)

const (
	// atOnce is after a step, poll while something is awaited (External Secrets is not watched: it may not be installed),
	// and longest the time after which it looks in any case.
	atOnce  = conflict.AtOnce
	poll    = 10 * time.Second
	longest = 10 * time.Minute
)

// Reconciler reconciles KeyRepositories.
type Reconciler struct {
	// Client writes.
	Client client.Client
	// Reader reads live, past every cache.
	Reader client.Reader
	// Events tells people what was done.
	Events events.EventRecorder
	// Clock tells the time.
	Clock clock.PassiveClock
	// Random is what keys are made of.
	Random io.Reader
	// Secrets wakes for changes of keys; nil: nobody does.
	Secrets *named.Secrets
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=keyrepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=keyrepositories/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=external-secrets.io,resources=pushsecrets;externalsecrets,verbs=get;list;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error {
	for _, c := range collectors() {
		if err := metrics.Registry.Register(c); err != nil {
			return fmt.Errorf("cannot register metrics: %w", err)
		}
	}
	secrets, err := named.New(mgr)
	if err != nil {
		return err
	}
	r := &Reconciler{
		Client: mgr.GetClient(),
		Reader: mgr.GetAPIReader(),
		Events: mgr.GetEventRecorder("keyrepository"),
		Clock:  clock.RealClock{},
		Random: rand.Reader,

		Secrets: secrets,
	}
	// Only metadata is watched and cached: decisions read live.
	return ctrl.NewControllerManagedBy(mgr).
		Named("keyrepository").
		For(&openstackv1.KeyRepository{}, builder.WithPredicates(
			predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Owns(&batchv1.Job{}, builder.OnlyMetadata).
		WatchesRawSource(secrets).
		WatchesMetadata(&appsv1.Deployment{}, concerned(mgr.GetClient(), "Deployment")).
		WatchesMetadata(&appsv1.StatefulSet{}, concerned(mgr.GetClient(), "StatefulSet")).
		Complete(r)
}

// concerned finds the KeyRepositories whose consumer an object is.
func concerned(reader client.Reader, kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		list := &openstackv1.KeyRepositoryList{}
		if err := reader.List(ctx, list, client.InNamespace(o.GetNamespace())); err != nil {
			log.FromContext(ctx).Error(err, "cannot list KeyRepositories")
			return nil
		}
		var out []reconcile.Request
		for i := range list.Items {
			if uses(&list.Items[i], kind, o.GetName()) {
				out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
		return out
	})
}

func uses(r *openstackv1.KeyRepository, kind, name string) bool {
	for _, c := range r.Spec.Consumers {
		if c.Kind == kind && string(c.Name) == name {
			return true
		}
	}
	return false
}

// Reconcile takes one step.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	repo := &openstackv1.KeyRepository{}
	if err := r.Reader.Get(ctx, req.NamespacedName, repo); err != nil {
		if apierrors.IsNotFound(err) {
			forget(req.Namespace, req.Name)
			r.Secrets.Follow(req.NamespacedName)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("cannot read the KeyRepository: %w", err)
	}
	if repo.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	r.Secrets.Follow(req.NamespacedName, string(repo.Spec.SecretName))
	w, err := observe(ctx, r.Reader, repo, r.Clock.Now())
	if err != nil {
		return reconcile.Result{}, err
	}
	s := next(w)
	if err := r.tell(ctx, w, s); err != nil {
		return conflict.Again(ctx, reconcile.Result{}, err)
	}
	if s.do == nil {
		return reconcile.Result{RequeueAfter: w.patience(s)}, nil
	}
	if err := s.do(ctx, r); err != nil {
		return conflict.Again(ctx, reconcile.Result{}, err)
	}
	log.FromContext(ctx).Info("took a step", "step", s.name)
	if s.note != "" {
		r.event(repo, s.warning, s.name, s.note)
	}
	return reconcile.Result{RequeueAfter: max(s.rest, atOnce)}, nil
}

// patience is how long a pass may rest that has nothing to do.
func (w *world) patience(s *step) time.Duration {
	if s.at.IsZero() && (s.wait != "" || w.state != intact || w.waitsFor() != "" || w.waitsForMigration() != "" || w.waitsForBackup() != "") {
		return poll
	}
	if !s.at.IsZero() {
		return min(max(s.at.Sub(w.now), atOnce), longest)
	}
	return longest
}

// tell writes the status, if it has changed, and an event when the keys are no longer ready for a new reason.
func (r *Reconciler) tell(ctx context.Context, w *world, s *step) error {
	before := meta.FindStatusCondition(w.repo.Status.Conditions, conditionReady)
	changed := w.repo.DeepCopy()
	changed.Status = report(w, s)
	measure(changed)
	if equality.Semantic.DeepEqual(changed.Status, w.repo.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, changed); err != nil {
		return fmt.Errorf("cannot write the status: %w", err)
	}
	after := meta.FindStatusCondition(changed.Status.Conditions, conditionReady)
	if after.Status == metav1.ConditionFalse && s.do == nil && (before == nil || before.Reason != after.Reason) {
		r.event(w.repo, true, after.Reason, after.Message)
	}
	return nil
}

func (r *Reconciler) event(repo *openstackv1.KeyRepository, warning bool, reason, note string) {
	kind := event.Normal
	if warning {
		kind = event.Warning
	}
	event.Record(r.Events, repo, kind, reason, note)
}

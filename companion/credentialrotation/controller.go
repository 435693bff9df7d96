package credentialrotation

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"time"

	appsv1 "k8s.io/api/apps/v1"
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

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/conflict"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/event"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/named"
)

const (
	// atOnce is after a step, poll while something is awaited (workloads and Secrets are watched, Keystone and pods are not), and
	// longest the time after which it looks in any case: whether Keystone still has the credential.
	atOnce  = conflict.AtOnce
	poll    = 30 * time.Second
	longest = 10 * time.Minute
)

type action = func(context.Context, *Reconciler) error

// Reconciler reconciles CredentialRotations.
type Reconciler struct {
	// Client writes.
	Client client.Client
	// Reader reads live, past every cache.
	Reader client.Reader
	// Login logs in to Keystone.
	Login identity.Login
	// Events tells people what was done.
	Events events.EventRecorder
	// Clock tells the time.
	Clock clock.PassiveClock
	// Random is what credentials are made of.
	Random io.Reader
	// Secrets wakes for changes of credentials and logins; nil: nobody does.
	Secrets *named.Secrets
}

// Through is a Login through what transport gives for the certificate of an authority.
func Through(transport func(ca []byte) (http.RoundTripper, error)) identity.Login {
	return identity.Through(transport)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=c5c3.io,resources=credentialrotations,verbs=get;list;watch
// +kubebuilder:rbac:groups=c5c3.io,resources=credentialrotations/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups=c5c3.io,resources=secretaggregates,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=get;list;watch;patch
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
		Login:  identity.Through(identity.TLS),
		Events: mgr.GetEventRecorder("credentialrotation"),
		Clock:  clock.RealClock{},
		Random: rand.Reader,

		Secrets: secrets,
	}
	// Only metadata is watched and cached: decisions read live.
	return ctrl.NewControllerManagedBy(mgr).
		Named("credentialrotation").
		For(&c5c3v1.CredentialRotation{}, builder.WithPredicates(
			predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WatchesRawSource(secrets).
		WatchesMetadata(&c5c3v1.SecretAggregate{}, concerned(mgr.GetClient(), aggregateKind)).
		WatchesMetadata(&appsv1.Deployment{}, concerned(mgr.GetClient(), "Deployment")).
		WatchesMetadata(&appsv1.StatefulSet{}, concerned(mgr.GetClient(), "StatefulSet")).
		WatchesMetadata(&appsv1.DaemonSet{}, concerned(mgr.GetClient(), "DaemonSet")).
		Complete(r)
}

// concerned finds the CredentialRotations that an object is a consumer of.
func concerned(reader client.Reader, kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		list := &c5c3v1.CredentialRotationList{}
		if err := reader.List(ctx, list, client.InNamespace(o.GetNamespace())); err != nil {
			log.FromContext(ctx).Error(err, "cannot list CredentialRotations")
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

func uses(r *c5c3v1.CredentialRotation, kind, name string) bool {
	for _, c := range r.Spec.Consumers {
		if c.Kind == kind && string(c.Name) == name {
			return true
		}
	}
	return false
}

// Reconcile takes one step.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	rotation := &c5c3v1.CredentialRotation{}
	if err := r.Reader.Get(ctx, req.NamespacedName, rotation); err != nil {
		if apierrors.IsNotFound(err) {
			forget(req.Namespace, req.Name)
			r.Secrets.Follow(req.NamespacedName)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("cannot read the CredentialRotation: %w", err)
	}
	if rotation.DeletionTimestamp != nil {
		return reconcile.Result{}, nil // Pods go on with what they have.
	}
	r.Secrets.Follow(req.NamespacedName, string(rotation.Spec.SecretName), string(rotation.Spec.CloudCredentialsRef.SecretName))
	w, err := observe(ctx, r.Reader, r.Login, rotation, r.Clock.Now())
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
		if s.keystone {
			event.Record(r.Events, rotation, event.Warning, "KeystoneRefuses", err.Error())
		}
		return conflict.Again(ctx, reconcile.Result{}, err)
	}
	log.FromContext(ctx).Info("took a step", "step", s.name)
	if s.note != "" {
		kind := event.Normal
		if s.warning {
			kind = event.Warning
		}
		event.Record(r.Events, rotation, kind, s.name, s.note)
	}
	return reconcile.Result{RequeueAfter: atOnce}, nil
}

// patience is how long a pass may rest that has nothing to do.
func (w *world) patience(s *step) time.Duration {
	switch {
	case !s.at.IsZero():
		return min(max(s.at.Sub(w.now), time.Second), longest)
	case s.wait != "":
		return poll
	}
	return longest
}

// tell writes the status, if it has changed, and an event when the credential is no longer ready for a new reason.
func (r *Reconciler) tell(ctx context.Context, w *world, s *step) error {
	before := meta.FindStatusCondition(w.rotation.Status.Conditions, conditionReady)
	changed := w.rotation.DeepCopy()
	changed.Status = report(w, s)
	measure(changed)
	if equality.Semantic.DeepEqual(changed.Status, w.rotation.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, changed); err != nil {
		return fmt.Errorf("cannot write the status: %w", err)
	}
	after := meta.FindStatusCondition(changed.Status.Conditions, conditionReady)
	if after.Status == metav1.ConditionFalse && s.do == nil && (before == nil || before.Reason != after.Reason) {
		event.Record(r.Events, w.rotation, event.Warning, after.Reason, after.Message)
	}
	return nil
}

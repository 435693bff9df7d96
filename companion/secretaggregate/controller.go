package secretaggregate

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/conflict"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/event"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/named"
)

const (
	// atOnce is after a write; poll while a right is missing, which is not watched; longest the longest time without a look, though every
	// Secret is watched.
	atOnce  = conflict.AtOnce
	poll    = 10 * time.Second
	longest = 10 * time.Minute

	// conditionReady: the Secret holds what its sources and templates make today.
	conditionReady = "Ready"
)

// Reconciler reconciles SecretAggregates.
type Reconciler struct {
	// Client writes.
	Client client.Client
	// Reader reads live, past every cache.
	Reader client.Reader
	// Events tells people what was done.
	Events events.EventRecorder
	// Clock tells the time.
	Clock clock.PassiveClock
	// Random is what the keys of hashes are made of.
	Random io.Reader
	// Secrets wakes for changes of sources and of what is made of them; nil: nobody does.
	Secrets *named.Secrets
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=c5c3.io,resources=secretaggregates,verbs=get;list;watch
// +kubebuilder:rbac:groups=c5c3.io,resources=secretaggregates/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error {
	for _, c := range collectors() {
		if err := metrics.Registry.Register(c); err != nil {
			return fmt.Errorf("cannot register metrics: %w", err)
		}
	}
	watched, err := named.New(mgr)
	if err != nil {
		return err
	}
	r := &Reconciler{
		Client: mgr.GetClient(),
		Reader: mgr.GetAPIReader(),
		Events: mgr.GetEventRecorder("secretaggregate"),
		Clock:  clock.RealClock{},
		Random: rand.Reader,

		Secrets: watched,
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("secretaggregate").
		For(&c5c3v1.SecretAggregate{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(watched).
		Complete(r)
}

// secrets are the names of the Secrets that a SecretAggregate reads and of the one that it writes.
func secrets(a *c5c3v1.SecretAggregate) []string {
	out := []string{string(a.Spec.TargetSecretName)}
	for _, s := range a.Spec.Sources {
		out = append(out, string(s.SecretKeyRef.Name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Reconcile writes the Secret if it is not as it has to be, and else reports.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	aggregate := &c5c3v1.SecretAggregate{}
	if err := r.Reader.Get(ctx, req.NamespacedName, aggregate); err != nil {
		if apierrors.IsNotFound(err) {
			forget(req.Namespace, req.Name)
			r.Secrets.Follow(req.NamespacedName)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("cannot read the SecretAggregate: %w", err)
	}
	if aggregate.DeletionTimestamp != nil {
		return reconcile.Result{}, nil // The Secret goes with its owner.
	}
	r.Secrets.Follow(req.NamespacedName, secrets(aggregate)...)
	w, err := observe(ctx, r.Reader, aggregate)
	if err != nil {
		return reconcile.Result{}, err
	}
	salt, err := r.salt()
	if err != nil {
		return reconcile.Result{}, err
	}
	s := next(w, salt)
	if s.write == nil {
		rest := longest
		if w.forbidden != "" {
			rest = poll
		}
		return conflict.Again(ctx, reconcile.Result{RequeueAfter: rest}, r.tell(ctx, w, s))
	}
	err = r.write(ctx, w, s)
	if reason := apierrors.ReasonForError(err); err != nil && !conflict.Is(err) && reason != metav1.StatusReasonUnknown {
		// What the API server says is left out: nobody knows what an admission webhook quotes.
		failed := step{reason: "WriteFailed", message: fmt.Sprintf("the API server refuses Secret %s: %s", s.write.Name, reason)}
		if err := r.tell(ctx, w, failed); err != nil {
			return conflict.Again(ctx, reconcile.Result{}, err)
		}
	}
	return conflict.Again(ctx, reconcile.Result{RequeueAfter: atOnce}, err)
}

func (r *Reconciler) salt() (string, error) {
	var random [16]byte
	if _, err := io.ReadFull(r.Random, random[:]); err != nil {
		return "", fmt.Errorf("cannot make a random number: %w", err)
	}
	return hex.EncodeToString(random[:]), nil
}

// write makes the Secret, or writes it over exactly the version that was read.
func (r *Reconciler) write(ctx context.Context, w *world, s step) error {
	var err error
	if w.target == nil {
		err = r.Client.Create(ctx, s.write)
	} else {
		err = r.Client.Update(ctx, s.write)
	}
	if err != nil {
		return fmt.Errorf("cannot write Secret %s: %w", s.write.Name, err)
	}
	writes.WithLabelValues(w.aggregate.Namespace, w.aggregate.Name).Inc()
	log.FromContext(ctx).Info("wrote a Secret", "secret", s.write.Name, "reason", s.reason)
	event.Record(r.Events, w.aggregate, event.Normal, s.reason, s.message)
	return nil
}

// tell writes the status, if it has changed, and an event if the Secret is not ready for a new reason.
func (r *Reconciler) tell(ctx context.Context, w *world, s step) error {
	changed := w.aggregate.DeepCopy()
	changed.Status.ObservedGeneration = changed.Generation
	changed.Status.ContentHash = ""
	if w.target != nil && w.foreign() == "" {
		changed.Status.ContentHash = contentHash(w.target)
	}
	condition := metav1.Condition{
		Type: conditionReady, Status: metav1.ConditionFalse, Reason: s.reason, Message: event.Cut(s.message, messageLimit),
		ObservedGeneration: changed.Generation, LastTransitionTime: metav1.Time{Time: r.Clock.Now()},
	}
	if s.ready {
		condition.Status = metav1.ConditionTrue
	}
	before := meta.FindStatusCondition(w.aggregate.Status.Conditions, conditionReady)
	meta.SetStatusCondition(&changed.Status.Conditions, condition)
	measure(changed)
	if equality.Semantic.DeepEqual(changed.Status, w.aggregate.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, changed); err != nil {
		return fmt.Errorf("cannot write the status: %w", err)
	}
	if !s.ready && (before == nil || before.Reason != s.reason) {
		event.Record(r.Events, w.aggregate, event.Warning, s.reason, s.message)
	}
	return nil
}

// messageLimit is the longest message that the API takes in a condition, in bytes.
const messageLimit = 32768

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
)

// Kind defines how objects of type T are reconciled from an observation of type W.
type Kind[T client.Object, W any] struct {
	// Name of the kind, such as SecretAggregate. The name of its controller is in lower case.
	Name string
	// Object is an empty object, and List, required with Consumers, an empty list of the kind.
	Object T
	List   client.ObjectList
	// Finalizes is set if objects that are being deleted are reconciled, too.
	Finalizes bool

	// Secrets returns the names of the Secrets whose changes trigger a pass for an object.
	Secrets func(T) []string
	// Annotated is set if a change of annotations triggers a pass, too.
	Annotated bool
	// Owns are objects of other kinds that it creates and owns.
	Owns []client.Object
	// Consumers are empty objects of the kinds that an object may reference as its consumers, and Names reports whether it
	// does.
	Consumers []client.Object
	Names     func(o T, kind, name string) bool

	// Observe reads the state.
	Observe func(context.Context, *Env, T) (W, error)
	// Next selects the next step. It depends only on the observation.
	Next func(W) Decision

	// Conditions returns the conditions of an object's status.
	Conditions func(T) *[]metav1.Condition
	// ObservedAt returns the time of the last observation in an object's status. WriteInterval is the interval at which it is written
	// while nothing else changes; 0: freshness.WriteInterval.
	ObservedAt    func(T) **metav1.Time
	WriteInterval time.Duration
	// Incomplete reports whether the pass could not read everything that the status describes, so that it is no observation. Nil: it reads
	// only the API server, whose errors end the pass.
	Incomplete func(W) bool
	// ReadAt returns the time of the observation, if the pass can use results of an earlier one. Nil: the time before the pass reads.
	ReadAt func(W) time.Time
	// Warns are the conditions for which a warning is emitted when they become false for a new reason. The first is set for a
	// TerminalError.
	Warns []string
	// LongestBackoff is the longest time between a pass that failed and the next one; 0: the default of controller-runtime, 1,000 seconds.
	LongestBackoff time.Duration
	// FormerConditions are previous types of renamed conditions. They are removed from the status: clients that still wait for one must not
	// find its last state.
	FormerConditions []string
	// Metrics are exported for each object. ExportMetrics, if set, updates the metrics that the kind has added.
	Metrics       *Metrics
	ExportMetrics func(T)
}

// Reconcile runs one pass for an object. A pass that is not complete after PassTimeout fails and is retried with backoff: a server that
// accepts requests and does not respond must not stop the controller for all objects.
func (k *Kind[T, W]) Reconcile(ctx context.Context, env *Env, req reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, PassTimeout)
	defer cancel()
	after, err := k.pass(ctx, env, req.NamespacedName)
	if IsConflict(err) {
		log.FromContext(ctx).V(1).Info("conflict, requeueing", "error", err.Error())
		return reconcile.Result{RequeueAfter: env.conflicted(req.NamespacedName)}, nil
	}
	delete(env.conflicts, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: after}, nil
}

func (k *Kind[T, W]) pass(ctx context.Context, env *Env, key client.ObjectKey) (time.Duration, error) {
	o := clone(k.Object)
	err := env.Reader.Get(ctx, key, o)
	if apierrors.IsNotFound(err) || err == nil && o.GetDeletionTimestamp() != nil && !k.Finalizes {
		k.Metrics.forget(key)
		k.forgetObserved(key)
		env.Secrets.Watch(key)
		delete(env.last, key)
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot read the %s: %w", k.Name, err)
	}
	if k.Secrets != nil {
		env.Secrets.Watch(key, k.Secrets(o)...)
	}
	readAt := env.Clock.Now()
	w, err := k.Observe(ctx, env, o)
	if err != nil {
		return 0, err
	}
	switch {
	case k.Incomplete != nil && k.Incomplete(w):
		readAt = time.Time{}
	case k.ReadAt != nil:
		readAt = k.ReadAt(w)
	}
	return k.execute(ctx, env, o, k.Next(w), readAt)
}

// execute reports and executes a step, and returns the time until the next pass. readAt is the time of the observation; zero if the pass
// is none.
func (k *Kind[T, W]) execute(ctx context.Context, env *Env, o T, s Decision, readAt time.Time) (time.Duration, error) {
	if s.Status != nil {
		before := clone(o)
		s.Status()
		for _, name := range k.FormerConditions {
			meta.RemoveStatusCondition(k.Conditions(o), name)
		}
		if !readAt.IsZero() {
			k.setObserved(before, o, readAt, s.Record)
		}
		if err := k.report(ctx, env, before, o, s); err != nil {
			return 0, err
		}
	}
	if s.Action != nil {
		before := clone(o)
		if err := s.Action(ctx, env); err != nil {
			return k.handleActionError(ctx, env, before, o, err)
		}
		s.RequeueAfter = max(s.RequeueAfter, MinRequeueInterval)
	}
	if s.Action != nil || s.Note != "" {
		log.FromContext(ctx).Info("executed a step", "step", s.Name, "note", s.Note)
	}
	if s.Note != "" {
		kind := map[bool]string{false: corev1.EventTypeNormal, true: corev1.EventTypeWarning}[s.Warning]
		env.Event(o, kind, s.Name, s.Note)
	}
	if s.Status != nil && (s.RequeueAfter <= 0 || s.RequeueAfter > ResyncInterval) { // The time of the last observation must advance.
		return ResyncInterval, nil
	}
	return s.RequeueAfter, nil
}

// handleActionError reports a TerminalError of an Action, with the status that the Action has set. Other errors are returned.
func (k *Kind[T, W]) handleActionError(ctx context.Context, env *Env, before, o T, err error) (time.Duration, error) {
	var terminalError *TerminalError
	if !errors.As(err, &terminalError) {
		return 0, err
	}
	condition.Set(k.Conditions(o), k.Warns[0], o.GetGeneration(), env.Clock.Now(), condition.False(terminalError.Reason,
		terminalError.Message))
	if err := k.report(ctx, env, before, o, Decision{}); err != nil {
		return 0, err
	}
	return cmp.Or(terminalError.RequeueAfter, Poll), terminalError.Cause
}

// report updates the status if it has changed, and emits warnings for conditions that became false.
func (k *Kind[T, W]) report(ctx context.Context, env *Env, before, o T, s Decision) error {
	previous, is := *k.Conditions(before), *k.Conditions(o)
	k.Metrics.setMetrics(o, previous, is)
	k.exportObserved(o)
	if k.ExportMetrics != nil {
		k.ExportMetrics(o)
	}
	if !s.Record && equality.Semantic.DeepEqual(before, o) {
		return nil
	}
	if err := env.Client.Status().Update(ctx, o); err != nil {
		return fmt.Errorf("cannot write the status: %w", err)
	}
	for _, name := range k.Warns {
		c, last := meta.FindStatusCondition(is, name), meta.FindStatusCondition(previous, name)
		if c != nil && c.Status == metav1.ConditionFalse && !s.Expected && (last == nil || last.Reason != c.Reason) {
			env.Event(o, corev1.EventTypeWarning, c.Reason, c.Message)
		}
	}
	return nil
}

func clone[T runtime.Object](o T) T {
	out, _ := o.DeepCopyObject().(T)
	return out
}

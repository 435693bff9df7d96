package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// MinRequeueInterval is the requeue interval after an action or a write conflict.
	MinRequeueInterval = 100 * time.Millisecond
	// Poll is the requeue interval while waiting for resources that are not watched.
	Poll = 10 * time.Second
	// ResyncInterval is the maximum requeue interval.
	ResyncInterval = 10 * time.Minute
	// PassTimeout limits the duration of a pass. It is longer than any of its requests may take.
	PassTimeout = 10 * time.Minute
)

// An Action executes a step. It writes over exactly the version that was observed, so that a stale observation ends in a
// conflict.
type Action = func(context.Context, *Env) error

// A Decision is the result of the rules of a kind: a status to report, an action, or both. The status is written first.
type Decision struct {
	// Name of the step, for logs, and reason of the Event.
	Name string
	// Status sets the status of the observed object; nil: no change.
	Status func()
	// Record writes the status even if it is unchanged, so that a stale observation ends in a conflict.
	Record bool
	// Action executes the step; nil: wait.
	Action Action
	// Wait is the reason for waiting, as a sentence, and At the time at which it ends, if known, for the status.
	Wait string
	At   time.Time
	// Note is the message of the Event after the action; empty: no Event. Warning sets the type of the Event.
	Note    string
	Warning bool
	// Expected suppresses warnings for conditions that are false.
	Expected bool
	// RequeueAfter is the time until the next pass, at least MinRequeueInterval after an action, and at most ResyncInterval if the
	// status is set. 0 without a status: only when something changes.
	RequeueAfter time.Duration
}

// First returns the step of the first rule that has one; otherwise the decision Idle.
func First[W any](rules []func(W) *Decision, w W) Decision {
	for _, rule := range rules {
		if s := rule(w); s != nil {
			return *s
		}
	}
	return Decision{Name: "Idle"}
}

// TerminalError is an error of an Action that requires a user's attention: it becomes the state of the kind's first
// condition.
type TerminalError struct {
	Reason, Message string
	// Cause is retried with exponential backoff; nil: the step is retried after RequeueAfter, which defaults to Poll.
	Cause        error
	RequeueAfter time.Duration
}

// Rejected converts an error to a TerminalError that is retried after Poll; nil if err is nil.
func Rejected(reason string, err error) error {
	if err == nil {
		return nil
	}
	return &TerminalError{Reason: reason, Message: err.Error()}
}

// Error returns the message.
func (r *TerminalError) Error() string { return r.Message }

// Unwrap returns the cause.
func (r *TerminalError) Unwrap() error { return r.Cause }

// IsConflict reports whether a write failed because the object was changed since it was read, or was created by another
// client.
func IsConflict(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// RequeueIn returns the time until at, between MinRequeueInterval and ResyncInterval.
func RequeueIn(at, now time.Time) time.Duration {
	return min(max(at.Sub(now), MinRequeueInterval), ResyncInterval)
}

// Delete deletes exactly the version that was observed. A missing object is not an error.
func Delete(o client.Object, propagation metav1.DeletionPropagation) Action {
	return func(ctx context.Context, env *Env) error {
		uid, version := o.GetUID(), o.GetResourceVersion()
		err := env.Client.Delete(ctx, o, client.PropagationPolicy(propagation), client.Preconditions{UID: &uid, ResourceVersion: &version})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cannot delete %s: %w", o.GetName(), err)
		}
		return nil
	}
}

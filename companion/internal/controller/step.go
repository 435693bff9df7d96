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
	// MinRequeueInterval is the time after which a controller checks again when it has done something, or when a write conflicts.
	MinRequeueInterval = 100 * time.Millisecond
	// Poll is the time after which it looks for what it waits for and does not watch.
	Poll = 10 * time.Second
	// ResyncInterval is the time after which it looks in any case.
	ResyncInterval = 10 * time.Minute
)

// An Action does something. It does so over exactly the version that was observed, so that a stale observation ends in a conflict.
type Action = func(context.Context, *Env) error

// A Step is what the rules of a kind come to: something to report, something to do, or both. What is reported is written first.
type Decision struct {
	// Name of the step, for logs, and reason of the Event.
	Name string
	// Status sets the status of the observed object; nil leaves it as it is.
	Status func()
	// Record writes the status even if it is as before: a stale observation gets no further.
	Record bool
	// Action takes the step; nil waits.
	Action Action
	// Wait says for what, as a sentence, and At when that ends by itself, for the status.
	Wait string
	At   time.Time
	// Note is the message of the Event that follows, none if it is empty; Warning makes it one.
	Note    string
	Warning bool
	// Expected: a condition that is false is no cause for a warning.
	Expected bool
	// RequeueAfter is when to check again, and no sooner than AtOnce if something was done; zero: when something changes.
	RequeueAfter time.Duration
}

// First is the step of the first rule that has one. None: there is nothing to do.
func First[W any](rules []func(W) *Decision, w W) Decision {
	for _, rule := range rules {
		if s := rule(w); s != nil {
			return *s
		}
	}
	return Decision{Name: "Idle"}
}

// TerminalError is an error of an Action that people have to read: it becomes the state of the kind's first condition.
type TerminalError struct {
	Reason, Message string
	// Cause is retried with a growing pause; nil: the step is tried again after After, and that is Poll if it is not set.
	Cause        error
	RequeueAfter time.Duration
}

// Refused makes a Refusal of an error, if it is one, that is tried again after Poll.
func Refused(reason string, err error) error {
	if err == nil {
		return nil
	}
	return &TerminalError{Reason: reason, Message: err.Error()}
}

// Error is the message.
func (r *TerminalError) Error() string { return r.Message }

// Unwrap returns the cause.
func (r *TerminalError) Unwrap() error { return r.Cause }

// IsConflict reports whether a write failed because the object was changed since it was read, or was made by another.
func IsConflict(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// RequeueIn is how long to wait for a time: neither shorter than AtOnce nor longer than Longest.
func RequeueIn(at, now time.Time) time.Duration {
	return min(max(at.Sub(now), MinRequeueInterval), ResyncInterval)
}

// Delete deletes an object as it was observed and no other. One that is gone is no error.
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

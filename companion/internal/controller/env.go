package controller

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/secretwatch"
)

// Env contains the dependencies of a controller. The Reconciler of each kind is an Env, so that tests can replace them.
type Env struct {
	// Client writes.
	Client client.Client
	// Reader reads live, without a cache, because decisions cannot be reverted.
	Reader client.Reader
	// Transport connects to Keystone, and Public connects as external clients do.
	Transport, Public identity.Transport
	// Dial connects to servers without HTTP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Output returns the last lines of a container's log.
	Output func(ctx context.Context, pod *corev1.Pod, container string) (string, error)
	// Version returns the version of the API server.
	Version func(ctx context.Context) (string, error)
	// Events records Kubernetes events.
	Events events.EventRecorder
	// Clock is the source of time.
	Clock clock.PassiveClock
	// Started is the start time of the process: state that was observed before is from an earlier process.
	Started time.Time
	// Random is the source of keys, passwords and salts.
	Random io.Reader
	// Secrets triggers passes for changes of Secrets; nil: none.
	Secrets *secretwatch.Source

	// conflicts is the requeue interval after the last conflict of an object, until a pass without one.
	conflicts map[client.ObjectKey]time.Duration
	// last is the time at which Limit accepted an object. Its loss affects only the rate limit.
	last map[client.ObjectKey]time.Time
}

// Event records an Event about an object. Reason is a word in CamelCase; a long note is truncated.
func (e *Env) Event(about client.Object, kind, reason, note string) {
	const limit = 1024 // NoteLengthLimit of k8s.io/kubernetes/pkg/apis/core/validation, the maximum that the API accepts.
	e.Events.Eventf(about, nil, kind, reason, "Reconcile", "%s", condition.Truncate(note, limit))
}

// Limit returns how long an object has to wait for an operation that is allowed once per interval; 0 if it may proceed.
func (e *Env) Limit(key client.ObjectKey, interval time.Duration) time.Duration {
	now := e.Clock.Now()
	if last, ok := e.last[key]; ok && now.Sub(last) < interval {
		return interval - now.Sub(last)
	}
	if e.last == nil {
		e.last = map[client.ObjectKey]time.Time{}
	}
	e.last[key] = now
	return 0
}

// conflicted returns the requeue interval after a conflict. It doubles with each conflict of the object, up to Poll: two clients
// that change the same object would otherwise write as fast as they can.
func (e *Env) conflicted(key client.ObjectKey) time.Duration {
	if e.conflicts == nil {
		e.conflicts = map[client.ObjectKey]time.Duration{}
	}
	e.conflicts[key] = min(max(2*e.conflicts[key], MinRequeueInterval), Poll) //nolint:mnd // It doubles.
	return e.conflicts[key]
}

// Write creates a Secret that did not exist, or updates exactly the version that was read.
func (e *Env) Write(ctx context.Context, s *corev1.Secret) error {
	var err error
	if s.ResourceVersion == "" {
		err = e.Client.Create(ctx, s)
	} else {
		err = e.Client.Update(ctx, s)
	}
	if err != nil {
		return fmt.Errorf("cannot write Secret %s: %w", s.Name, err)
	}
	return nil
}

// RandomText returns the given number of random bytes, encoded.
func (e *Env) RandomText(length int, encode func([]byte) string) (string, error) {
	random := make([]byte, length)
	if _, err := io.ReadFull(e.Random, random); err != nil {
		return "", fmt.Errorf("cannot generate a random number: %w", err)
	}
	return encode(random), nil
}

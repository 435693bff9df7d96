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
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/named"
)

// Env is what a controller reads, writes and asks by. The Reconciler of each kind is one, so that tests put their own in its place.
type Env struct {
	// Client writes.
	Client client.Client
	// Reader reads live, past every cache: what is decided cannot be taken back.
	Reader client.Reader
	// Transport is the way to Keystone, and Public the one that clients outside have.
	Transport, Public identity.Transport
	// Dial connects to what speaks no HTTP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Output returns the last lines that a container of a pod has written.
	Output func(ctx context.Context, pod *corev1.Pod, container string) (string, error)
	// Events records Kubernetes events.
	Events events.EventRecorder
	// Clock is the source of time.
	Clock clock.PassiveClock
	// Started is when the process did: what was learned of the world before, another one learned.
	Started time.Time
	// Random is what keys, passwords and salts are made of.
	Random io.Reader
	// Secrets requeues for changes of Secrets; nil: nothing does.
	Secrets *named.Source

	// last is when Limit let an object pass. Nothing is lost with it but the limit.
	last map[client.ObjectKey]time.Time
}

// Event records an Event of a type about an object. Reason is one word in CamelCase; a note that is too long is cut.
func (e *Env) Event(about client.Object, kind, reason, note string) {
	const limit = 1024 // NoteLengthLimit of k8s.io/kubernetes/pkg/apis/core/validation, above which the API refuses an Event.
	e.Events.Eventf(about, nil, kind, reason, "Reconcile", "%s", condition.Truncate(note, limit))
}

// Limit is how long an object has to wait for what it may do once in an interval. Zero: it does so now.
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

// Write makes a Secret that was not read, and writes one over exactly the version that was.
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

// RandomText is so many random bytes, encoded.
func (e *Env) RandomText(length int, encode func([]byte) string) (string, error) {
	random := make([]byte, length)
	if _, err := io.ReadFull(e.Random, random); err != nil {
		return "", fmt.Errorf("cannot make a random number: %w", err)
	}
	return encode(random), nil
}

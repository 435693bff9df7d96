package livecloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/doctor"
)

// ReadError means that a cluster cannot be read, or is in a state without a plan.
type ReadError struct {
	// Subject is the flag or the object, Problem the constraint, and Remedy the next step; empty: Problem contains it.
	Subject, Problem, Remedy string
}

// Error returns the message on one line.
func (e *ReadError) Error() string {
	out := e.Subject + ": " + strings.Join(strings.Fields(e.Problem), " ")
	if e.Remedy != "" {
		out += "; " + e.Remedy
	}
	return out
}

func newReadError(subject, problem, remedy string) error {
	return &ReadError{Subject: subject, Problem: problem, Remedy: remedy}
}

// parallel is the maximum number of requests at a time.
const parallel = 8

// reader reads a cluster in bounded time and with bounded parallelism, and collects errors: the user gets all missing rights at once.
type reader struct {
	doctor.Reader

	slots chan struct{}

	mu        sync.Mutex
	forbidden []string
	other     error
}

func newReader(r doctor.Reader) *reader {
	return &reader{Reader: r, slots: make(chan struct{}, parallel)}
}

// requestError is an error with its request.
type requestError struct {
	verb, namespace string
	kind            schema.GroupVersionKind
	err             error
}

func (e *requestError) Error() string {
	return fmt.Sprintf("%s %s %s", e.verb, doctor.ResourceName(e.kind), where(e.namespace))
}

func (e *requestError) Unwrap() error { return e.err }

func where(namespace string) string {
	if namespace == "" {
		return "in the whole cluster"
	}
	return "in namespace " + namespace
}

// errSecret means that a caller has requested a Secret.
var errSecret = errors.New("a Secret must not be read")

// get returns an object.
func (r *reader) get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	if isSecret(kind) {
		return nil, errSecret
	}
	ctx, done := r.start(ctx)
	defer done()
	o, err := r.Get(ctx, kind, namespace, name)
	if err != nil {
		return nil, &requestError{"get", namespace, kind, err}
	}
	return o, nil
}

// list returns the objects of a kind in a namespace, or in the whole cluster.
func (r *reader) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) ([]unstructured.Unstructured, error) {
	if isSecret(kind) {
		return nil, errSecret
	}
	ctx, done := r.start(ctx)
	defer done()
	items, err := r.List(ctx, kind, namespace)
	if err != nil {
		return nil, &requestError{"list", namespace, kind, err}
	}
	return items, nil
}

func isSecret(kind schema.GroupVersionKind) bool { return kind.Group == "" && kind.Kind == "Secret" }

// start waits for a slot, and limits the duration of a request.
func (r *reader) start(ctx context.Context) (context.Context, func()) {
	r.slots <- struct{}{}
	ctx, cancel := context.WithTimeout(ctx, doctor.RequestTimeout)
	return ctx, func() {
		cancel()
		<-r.slots
	}
}

// isMissing reports whether an object or its kind does not exist.
func isMissing(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// fail records an error of a request.
func (r *reader) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if apierrors.IsForbidden(err) {
		right := "?"
		if e := (*requestError)(nil); errors.As(err, &e) {
			right = e.Error()
		}
		if !slices.Contains(r.forbidden, right) {
			r.forbidden = append(r.forbidden, right)
		}
		return
	}
	if r.other == nil {
		r.other = err
	}
}

// maxRights is the maximum number of missing rights in a message.
const maxRights = 8

// err returns one error for all recorded ones, or nil.
func (r *reader) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch err := r.other; {
	case err != nil && apierrors.IsUnauthorized(err):
		return newReadError("--cluster", "the API server does not accept the credentials", "log in again, or set --context")
	case err != nil && meta.IsNoMatchError(err):
		return newReadError("--cluster", fmt.Sprintf("the cluster has no claims of this project: %v", errors.Unwrap(err)),
			"set --context, or install the Configuration")
	case err != nil:
		return newReadError("--cluster", fmt.Sprintf("cannot %v: %v", err, cause(err)),
			"check the connection with kubectl cluster-info, or compare files with --current")
	case len(r.forbidden) == 0:
		return nil
	}
	slices.Sort(r.forbidden)
	rights, more := r.forbidden, ""
	if n := len(rights) - maxRights; n > 0 {
		rights, more = rights[:maxRights], fmt.Sprintf(", and %d others", n)
	}
	return newReadError("--cluster", "missing rights: "+strings.Join(rights, ", ")+more,
		"bind the ClusterRole of docs/reference/plan-permissions.md, or set -n and --no-drift")
}

// cause returns the error of the API server.
func cause(err error) error {
	if e := (*requestError)(nil); errors.As(err, &e) {
		return e.err
	}
	return err
}

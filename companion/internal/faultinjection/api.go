// Package faultinjection lets tests repeat a test run of a controller once for each API call, and inject a fault at that call. The API
// server is in memory; the test provides fakes for all other services.
//
//	whole := faultinjection.New(server, faultinjection.NoFault)   // a run in which nothing goes wrong counts the calls
//	…
//	for _, p := range whole.Points() {          // and each of these is another run
//		api := faultinjection.New(server, p)
package faultinjection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// Fault is the fault at an API call.
type Fault string

const (
	// FailBeforeWrite means: the call does not reach the API server, and the process dies.
	FailBeforeWrite Fault = "fails before"
	// FailAfterWrite means: the write is done, but the response is lost, and the process dies.
	FailAfterWrite Fault = "fails after"
	// Conflict means: another client has written the object.
	Conflict Fault = "conflict"
	// ConcurrentWriter means: this leader is delayed while another one executes API.OnConcurrentWrite, and then continues
	// with the state that it had read.
	ConcurrentWriter Fault = "rival"
)

// Point is a call and the fault that is injected at it.
type Point struct {
	// Call counts from 0.
	Call  int
	Fault Fault
	// Stale is set if, in the pass after the fault, objects read by name have the state before their last write.
	Stale bool
}

// NoFault is the point of a run without faults.
var NoFault = Point{Call: -1}

// String returns the name of a run.
func (p Point) String() string {
	if p.Stale {
		return fmt.Sprintf("%d %s, stale", p.Call, p.Fault)
	}
	return fmt.Sprintf("%d %s", p.Call, p.Fault)
}

// faultErrors are the errors of a call whose server is unavailable: it refuses connections, accepts them and does not respond until the
// deadline of the pass, or ends them. Runs use them in turns.
var faultErrors = []error{
	fmt.Errorf("injected fault: %w", syscall.ECONNREFUSED),
	fmt.Errorf("injected fault: %w", context.DeadlineExceeded),
	fmt.Errorf("injected fault: %w", io.ErrUnexpectedEOF),
}

// err returns the error of the point: the run with stale reads has another one.
func (p Point) err() error {
	i := p.Call
	if p.Stale {
		i++
	}
	return faultErrors[i%len(faultErrors)]
}

// API counts a controller's calls, and injects a fault at one of them.
type API struct {
	// Calls is the number of calls so far.
	Calls int
	// Writes are the written objects by call: "*v1.Secret namespace/name".
	Writes map[int]string
	// OnConcurrentWrite is executed by the other leader.
	OnConcurrentWrite func()
	// Written is called after each write of the controller, successful or not.
	Written func()

	server client.WithWatch
	point  Point
	// stalePasses is the number of passes that still read old state. previous contains all objects before their last write;
	// nil if an object did not exist.
	stalePasses int
	previous    map[string]client.Object
}

// New returns an API that injects a fault at a point.
func New(server client.WithWatch, at Point) *API {
	return &API{
		Writes: map[int]string{}, OnConcurrentWrite: func() {}, Written: func() {},
		server: server, point: at, previous: map[string]client.Object{},
	}
}

// ReconcileDone notes the end of a pass. Reads are live until a fault, and again after the pass that follows it.
func (a *API) ReconcileDone() { a.stalePasses = max(a.stalePasses-1, 0) }

// Points returns all points of a run like this one.
func (a *API) Points() []Point {
	var out []Point
	for call := range a.Calls {
		faults := []Fault{FailBeforeWrite, ConcurrentWriter}
		if a.Writes[call] != "" {
			faults = append(faults, FailAfterWrite, Conflict)
		}
		for _, f := range faults {
			out = append(out, Point{call, f, false}, Point{call, f, true})
		}
	}
	return out
}

// Client returns the client for the controller.
func (a *API) Client() client.Client {
	write := func(o client.Object, do func() error) error {
		a.snapshot(o)
		err := a.call(name(o, client.ObjectKeyFromObject(o)), do)
		a.Written()
		return err
	}
	return interceptor.NewClient(a.server, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return a.call("", func() error {
				old, known := a.previous[name(o, k)]
				switch {
				case a.stalePasses == 0 || !known:
					return c.Get(ctx, k, o, opts...)
				case old == nil:
					return apierrors.NewNotFound(schema.GroupResource{}, k.Name)
				}
				return a.server.Scheme().Convert(old, o, nil)
			})
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			return a.call("", func() error { return c.List(ctx, l, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return write(o, func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return write(o, func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return write(o, func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write(o, func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, _ string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return write(o, func() error { return c.Status().Update(ctx, o, opts...) })
		},
	})
}

// Other counts a call to another service than the API server, with the same faults. written is empty if the call only reads.
func (a *API) Other(written string, do func() error) error {
	err := a.call(written, do)
	if written != "" {
		a.Written()
	}
	return err
}

func name(o client.Object, key client.ObjectKey) string { return fmt.Sprintf("%T %s", o, key) }

// call executes a call of the controller, or injects the fault.
func (a *API) call(written string, do func() error) error {
	index := a.Calls
	a.Calls++
	if written != "" {
		a.Writes[index] = written
	}
	if index != a.point.Call {
		return do()
	}
	defer func() {
		if a.point.Stale {
			a.stalePasses = 2 // The rest of this pass, and the next one.
		}
	}()
	switch a.point.Fault {
	case FailBeforeWrite:
		return a.point.err()
	case FailAfterWrite:
		_ = do()
		return a.point.err()
	case Conflict:
		return apierrors.NewConflict(schema.GroupResource{}, "", errors.New("injected fault"))
	case ConcurrentWriter:
		a.OnConcurrentWrite()
	}
	return do()
}

// snapshot saves the state of an object before a write.
func (a *API) snapshot(o client.Object) {
	key := client.ObjectKeyFromObject(o)
	a.previous[name(o, key)] = nil
	if old, ok := o.DeepCopyObject().(client.Object); ok && a.server.Get(context.Background(), key, old) == nil {
		a.previous[name(o, key)] = old
	}
}

// Sample returns every stride-th point, and of the others the points selected by most: all of them in make test-long, and
// every thirteenth in make test. No others are returned if most is nil.
func Sample(points []Point, stride int, most func(Point) bool) []Point {
	var out, others []Point
	for i, p := range points {
		if i%stride == 0 {
			out = append(out, p)
		} else if most != nil && most(p) {
			others = append(others, p)
		}
	}
	return append(out, effort.Sample(others, 13)...)
}

// Run executes a run for each point, two at a time.
func Run(t *testing.T, points []Point, run func(*testing.T, Point)) {
	t.Helper()
	work := make(chan Point)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for p := range work {
				t.Run(p.String(), func(t *testing.T) { run(t, p) })
			}
		})
	}
	for _, p := range points {
		work <- p
	}
	close(work)
	group.Wait()
}

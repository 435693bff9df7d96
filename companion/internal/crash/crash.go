// Package crash lets tests go through what a controller does once for every API call, and lets that call go wrong. The API server is in
// memory; what is around the controller is faked by the test.
//
//	whole := crash.New(server, crash.Nowhere)   // a run in which nothing goes wrong counts the calls
//	…
//	for _, p := range whole.Points() {          // and each of these is another run
//		api := crash.New(server, p)
package crash

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// A Fault is what happens at one API call.
type Fault string

const (
	// FailBeforeWrite means: the call does not reach the API server, and the process dies.
	FailBeforeWrite Fault = "fails before"
	// FailAfterWrite means: the write is done, but the answer is lost, and the process dies.
	FailAfterWrite Fault = "fails after"
	// Conflict means: someone else has written the object.
	Conflict Fault = "conflict"
	// ConcurrentWriter means: this leader stalls while another one does what API.Meanwhile does, and then goes on with what it had read.
	ConcurrentWriter Fault = "rival"
)

// A Point is where and how a run goes wrong.
type Point struct {
	// Call counts from 0.
	Call  int
	Fault Fault
	// Stale: in the pass after the fault, every object that is read by name is as it was before its last write.
	Stale bool
}

// NoFault is the point of a run in which nothing goes wrong.
var NoFault = Point{Call: -1}

// String names a run.
func (p Point) String() string {
	if p.Stale {
		return fmt.Sprintf("%d %s, stale", p.Call, p.Fault)
	}
	return fmt.Sprintf("%d %s", p.Call, p.Fault)
}

var errFault = errors.New("injected fault")

// API counts a controller's calls, and goes wrong at one of them.
type API struct {
	// Calls so far.
	Calls int
	// Writes are the calls that were writes, and what they wrote: "*v1.Secret namespace/name".
	Writes map[int]string
	// OnConcurrentWrite is what a rival does.
	OnConcurrentWrite func()
	// Written is called after each write of the controller, done or not.
	Written func()

	server client.WithWatch
	point  Point
	// stalePasses is how many passes still see the past. Previous are all objects before their last write; nil: there was none.
	stalePasses int
	previous    map[string]client.Object
}

// New goes wrong at a point.
func New(server client.WithWatch, at Point) *API {
	return &API{
		Writes: map[int]string{}, OnConcurrentWrite: func() {}, Written: func() {},
		server: server, point: at, previous: map[string]client.Object{},
	}
}

// ReconcileDone notes that the controller has ended a pass. Until a fault it reads live, and again after the pass that follows it.
func (a *API) ReconcileDone() { a.stalePasses = max(a.stalePasses-1, 0) }

// Points are all points of a run like this one.
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

// Client is the API as the controller sees it.
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

// Other counts a call to something else than the API server, which goes wrong as any other does. What it writes is empty if it only reads.
func (a *API) Other(written string, do func() error) error {
	err := a.call(written, do)
	if written != "" {
		a.Written()
	}
	return err
}

func name(o client.Object, key client.ObjectKey) string { return fmt.Sprintf("%T %s", o, key) }

// call does one call of the controller, or what becomes of it.
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
		return errFault
	case FailAfterWrite:
		_ = do()
		return errFault
	case Conflict:
		return apierrors.NewConflict(schema.GroupResource{}, "", errFault)
	case ConcurrentWriter:
		a.OnConcurrentWrite()
	}
	return do()
}

// snapshot keeps an object as it is, before a write to it.
func (a *API) snapshot(o client.Object) {
	key := client.ObjectKeyFromObject(o)
	a.previous[name(o, key)] = nil
	if old, ok := o.DeepCopyObject().(client.Object); ok && a.server.Get(context.Background(), key, old) == nil {
		a.previous[name(o, key)] = old
	}
}

// Sample returns every stride-th of the points, and of the others those that matter most: all of these in make test-long, and every seventh
// in make test. Nothing matters most if the function is nil.
func Sample(points []Point, stride int, most func(Point) bool) []Point {
	var out, others []Point
	for i, p := range points {
		if i%stride == 0 {
			out = append(out, p)
		} else if most != nil && most(p) {
			others = append(others, p)
		}
	}
	return append(out, effort.Sample(others, 7)...)
}

// Run makes a run for each point, two at a time.
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

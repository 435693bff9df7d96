package doctor

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reader reads the objects of one cluster, or of a dump of it. It is safe for concurrent use. It returns the errors of an API server:
// apierrors.IsNotFound, apierrors.IsForbidden and meta.IsNoMatchError.
type Reader interface {
	// Get returns an object. The namespace is empty for cluster-scoped objects.
	Get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error)
	// List returns the objects of a kind in a namespace, or in the whole cluster. Of Events, it returns warnings.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace string) ([]unstructured.Unstructured, error)
	// Now returns the time at which the objects are read; zero if it is unknown.
	Now() time.Time
}

// MaxItems is the maximum number of objects of a list: a diagnosis of a very large namespace reads the first ones.
const MaxItems = 2000

// RequestTimeout is the maximum duration of a request.
const RequestTimeout = 10 * time.Second

// parallel is the maximum number of requests at a time.
const parallel = 8

// request identifies a request. The name is empty for a list.
type request struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

// response is the result of a request. It is complete when done is closed.
type response struct {
	done    chan struct{}
	objects []unstructured.Unstructured
	err     error
}

// cache makes each request once, in bounded time and with bounded parallelism, and records the results.
type cache struct {
	reader Reader
	slots  chan struct{}

	mu        sync.Mutex
	responses map[request]*response
	order     []request
}

func newCache(r Reader) *cache {
	return &cache{reader: r, slots: make(chan struct{}, parallel), responses: map[request]*response{}}
}

// get returns an object.
func (c *cache) get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	objects, err := c.once(request{kind, namespace, name}, func() ([]unstructured.Unstructured, error) {
		ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
		defer cancel()
		o, err := c.reader.Get(ctx, kind, namespace, name)
		if err != nil {
			return nil, err
		}
		return []unstructured.Unstructured{*o}, nil
	})
	if err != nil {
		return nil, err
	}
	return objects[0].DeepCopy(), nil
}

// list returns the objects of a kind in a namespace, or none if they cannot be read: the report has a note about the error.
func (c *cache) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) []unstructured.Unstructured {
	objects, err := c.once(request{kind, namespace, ""}, func() ([]unstructured.Unstructured, error) {
		ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
		defer cancel()
		return c.reader.List(ctx, kind, namespace)
	})
	if err != nil {
		return nil
	}
	return objects
}

func (c *cache) once(r request, read func() ([]unstructured.Unstructured, error)) ([]unstructured.Unstructured, error) {
	c.mu.Lock()
	is, ok := c.responses[r]
	if !ok {
		is = &response{done: make(chan struct{})}
		c.responses[r] = is
		c.order = append(c.order, r)
	}
	c.mu.Unlock()
	if ok {
		<-is.done
		return is.objects, is.err
	}
	c.slots <- struct{}{}
	defer func() { <-c.slots }()
	defer close(is.done)
	is.objects, is.err = read()
	return is.objects, is.err
}

// notes returns the rights that are missing, and other requests that failed, each once.
func (c *cache) notes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	noted := map[string]bool{}
	for _, r := range c.order {
		note := r.note(c.responses[r].err)
		if note != "" && !noted[note] {
			noted[note] = true
			out = append(out, note)
		}
	}
	return out
}

// note returns the note about an error of a request, or "".
func (r request) note(err error) string {
	verb, in := "get", "in namespace "+r.namespace
	if r.name == "" {
		verb = "list"
	}
	if r.namespace == "" {
		in = "in the whole cluster"
	}
	switch {
	case err == nil, apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return ""
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Sprintf("missing right: %s %s %s", verb, ResourceName(r.kind), in)
	}
	return fmt.Sprintf("cannot %s %s %s: %s", verb, ResourceName(r.kind), in, message(err.Error()))
}

// Recorded is everything that a diagnosis has read.
type Recorded struct {
	// Objects without duplicates, in the order in which they were read.
	Objects []unstructured.Unstructured
	// Forbidden contains the kinds and namespaces that could not be read for lack of rights.
	Forbidden []Place
}

// Place is a kind in a namespace, or in the whole cluster.
type Place struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
}

func (c *cache) recorded() Recorded {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out Recorded
	recorded, forbidden := map[Ref]bool{}, map[Place]bool{}
	for _, r := range c.order {
		is := c.responses[r]
		if place := (Place{r.kind.Group, r.kind.Kind, r.namespace}); apierrors.IsForbidden(is.err) && !forbidden[place] {
			forbidden[place] = true
			out.Forbidden = append(out.Forbidden, place)
		}
		for _, o := range is.objects {
			if ref := refOf(o.Object); !recorded[ref] {
				recorded[ref] = true
				out.Objects = append(out.Objects, o)
			}
		}
	}
	return out
}

package simulate

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// Cache runs each composite resource once, because many tests start with the same claim. All clusters of a cache must have the same
// functions, which depend on nothing but their requests. The zero value is an empty cache.
type Cache struct {
	mu    sync.Mutex
	ready map[[sha256.Size]byte]cached
}

// cached is a cluster that is ready, and the names of the resources that were added in each step.
type cached struct {
	cluster *Cluster
	steps   [][]string
}

// Run runs the cluster until its composite resource is ready, like Cluster.Run, or takes the result of an earlier run that started with the
// same resources. It returns the names of the resources that were added in each step. A cluster that was composed before, or that has
// owners of objects, always runs.
func (c *Cache) Run(w *Cluster) ([][]string, error) {
	key, ok, err := w.start()
	if err != nil {
		return nil, err
	}
	if !ok {
		return w.added()
	}
	c.mu.Lock()
	known, ok := c.ready[key]
	c.mu.Unlock()
	if ok {
		ready := known.cluster.Clone(nil)
		ready.Kinds, ready.Required, ready.RequiredResources = w.Kinds, w.Required, slices.Clone(ready.RequiredResources)
		*w = *ready
		return known.steps, nil
	}
	steps, err := w.added()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ready == nil {
		c.ready = map[[sha256.Size]byte]cached{}
	}
	c.ready[key] = cached{w.Clone(nil), steps}
	return steps, nil
}

// added runs the cluster, and returns the names of the resources that were added in each step.
func (w *Cluster) added() ([][]string, error) {
	var steps [][]string
	err := w.Run(func(s Step) {
		if len(s.New) > 0 {
			steps = append(steps, s.New)
		}
	})
	return steps, err
}

// start returns a hash of all resources before the first call, and whether they determine the run.
func (w *Cluster) start() (key [sha256.Size]byte, ok bool, err error) {
	started := len(w.Observed) > 0 || w.applied != nil || w.requirements != nil || w.Edit
	if started || w.Reconcile != nil || w.Remove != nil || w.Reports != nil {
		return key, false, nil
	}
	h := sha256.New()
	err = errors.Join(add(h, "composite", w.XR), add(h, "other", w.RequiredResources...), addLists(h, "required", w.Required))
	for _, kind := range slices.Sorted(maps.Keys(w.Nested)) {
		err = errors.Join(err, addLists(h, "nested "+kind, w.Nested[kind]))
	}
	return [sha256.Size]byte(h.Sum(nil)), err == nil, err
}

// addLists adds named lists of resources to a hash.
func addLists(h hash.Hash, name string, lists map[string][]*structpb.Struct) error {
	var errs []error
	for _, list := range slices.Sorted(maps.Keys(lists)) {
		errs = append(errs, add(h, name+" "+list, lists[list]...))
	}
	return errors.Join(errs...)
}

// add adds named resources to a hash, with their number and sizes, so that different lists differ.
func add(h hash.Hash, name string, resources ...*structpb.Struct) error {
	fmt.Fprintf(h, "%q %d\n", name, len(resources))
	for _, r := range resources {
		data, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
		if err != nil {
			return fmt.Errorf("cannot encode a resource of %s: %w", name, err)
		}
		fmt.Fprintf(h, "%d\n", len(data))
		h.Write(data)
	}
	return nil
}

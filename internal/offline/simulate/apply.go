package simulate

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/fake"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// apply creates all desired objects and makes them ready, and removes other objects.
func (w *Cluster) apply(desired map[string]wire.Resource, visit func(Step), depth int) error {
	if w.Observed == nil {
		w.Observed = map[string]encoded.Struct{}
	}
	if w.applied == nil {
		w.applied = map[string]appliedObject{}
	}
	if err := w.remove(desired); err != nil {
		return err
	}
	if err := w.reconcile(desired); err != nil {
		return err
	}
	nested, err := w.compose(desired, visit, depth)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		body := desired[name].Object
		if w.isApplied(name, body) && !ofKind(body, w.Reports) && !wrapper.IsObserveOnly(body) {
			continue
		}
		o := Exist(body)
		if xr, ok := nested[name]; ok {
			o = encoded.Of(xr)
		}
		if wrapper.IsObserveOnly(body) {
			existing := w.find(selectorOf(bare(body)))
			if len(existing) == 0 {
				w.Observed[name] = body.With(encoded.Number(1), "metadata", "generation")
				continue
			}
			o = wrapper.WithObserved(o, encoded.Of(existing[0]))
		}
		if err := w.finish(name, body, o); err != nil {
			return err
		}
	}
	return nil
}

// finish sets the final status of an object.
func (w *Cluster) finish(name string, desired, existing encoded.Struct) error {
	o, err := Finish(existing)
	if err == nil && w.Reports != nil {
		o, err = reported(o, w.Reports)
	}
	if err != nil {
		return fmt.Errorf("cannot make %s ready: %w", name, err)
	}
	w.Observed[name] = o
	w.applied[name] = appliedObject{desired: desired, observed: o}
	return w.addOwned(bare(desired).Map())
}

// addOwned adds the objects that the owner of an object creates, for functions that require them.
func (w *Cluster) addOwned(object map[string]any) error {
	for _, o := range fake.OwnedObjects(object) {
		created, err := structpb.NewStruct(o)
		if err != nil {
			return fmt.Errorf("cannot encode an object of a fake owner: %w", err)
		}
		same := func(other *structpb.Struct) bool {
			return other.GetFields()["kind"].GetStringValue() == o["kind"] && nameOf(other) == nameOf(created) &&
				metadataOf(other, "namespace") == metadataOf(created, "namespace")
		}
		w.RequiredResources = append(slices.DeleteFunc(slices.Clone(w.RequiredResources), same), created)
		w.owned = append(slices.DeleteFunc(slices.Clone(w.owned), same), created)
	}
	return nil
}

// compose runs the clusters of all nested composite resources that are not up to date concurrently, because they do not depend on each
// other: the function desires dependent ones later. Their steps are visited cluster by cluster, by name.
func (w *Cluster) compose(desired map[string]wire.Resource, visit func(Step), depth int) (map[string]*structpb.Struct, error) {
	type run struct {
		name    string
		cluster *Cluster
		steps   []Step
		err     error
	}
	var runs []*run
	out, err := w.composeClaims(desired, visit, depth)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		if body := desired[name].Object; w.isComposite(body) && !w.isApplied(name, body) {
			runs = append(runs, &run{name: name, cluster: w.child(name, Exist(body).Tree())})
		}
	}
	var all sync.WaitGroup
	for _, r := range runs {
		all.Go(func() { r.err = r.cluster.run(func(s Step) { r.steps = append(r.steps, s) }, depth+1) })
	}
	all.Wait()
	var errs []error
	for _, r := range runs {
		for _, s := range r.steps {
			visit(s)
		}
		if r.err != nil {
			errs = append(errs, fmt.Errorf("cannot compose %s: %w", nameOf(r.cluster.XR), r.err))
		}
		out[r.name] = r.cluster.XR
	}
	return out, errors.Join(errs...)
}

// isApplied reports whether a desired object exists and is ready in its desired state.
func (w *Cluster) isApplied(name string, desired encoded.Struct) bool {
	m, ok := w.applied[name]
	return ok && bytes.Equal(m.observed, w.Observed[name]) && bytes.Equal(m.desired, desired)
}

// isNested reports whether an object is a composite resource with a function, or the claim of one.
func (w *Cluster) isNested(o encoded.Struct) bool { return w.isComposite(o) || w.isClaim(o) }

func (w *Cluster) isComposite(o encoded.Struct) bool {
	_, ok := w.Kinds[kindOf(o).String()]
	return ok
}

// reconcile calls the owners of objects that are not up to date. The only owner of a composite resource is its function.
func (w *Cluster) reconcile(desired map[string]wire.Resource) error {
	if w.Reconcile == nil {
		return nil
	}
	var batch []map[string]any
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		body := desired[name].Object
		if w.isApplied(name, body) || w.isNested(body) {
			continue
		}
		batch = append(batch, bare(body).Map())
	}
	if len(batch) == 0 {
		return nil
	}
	return w.Reconcile(batch)
}

// remove deletes objects that are not desired any more, including nested ones.
func (w *Cluster) remove(desired map[string]wire.Resource) error {
	var removed []map[string]any
	for _, name := range slices.Sorted(maps.Keys(w.Observed)) {
		if _, ok := desired[name]; ok {
			continue
		}
		if child := w.children[name]; child != nil {
			if err := child.remove(nil); err != nil {
				return err
			}
			delete(w.children, name)
		} else if m, ok := w.applied[name]; ok && !wrapper.OrphansOnDelete(m.desired) {
			removed = append(removed, bare(m.desired).Map())
		}
		delete(w.Observed, name)
		delete(w.applied, name)
	}
	if w.Remove == nil || len(removed) == 0 {
		return nil
	}
	return w.Remove(removed)
}

// bare returns an object without its wrapper.
func bare(o encoded.Struct) encoded.Struct {
	if inner, ok := wrapper.Desired(o); ok {
		return inner
	}
	return o
}

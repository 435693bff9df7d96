package simulate

import (
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Refresh updates the reported fields of objects, from the innermost composite resource to this one, and runs each of the functions
// again.
func (w *Cluster) Refresh(visit func(Step)) error {
	applied := map[string]encoded.Struct{}
	for name, o := range w.applied {
		applied[name] = o.desired
	}
	for _, name := range inOrder(applied) {
		existing := Exist(w.applied[name].desired)
		if child := w.children[name]; child != nil {
			w.setInputs(child)
			if w.isClaim(w.applied[name].desired) {
				child.Replace(w.RequiredResources)
			}
			if err := child.Refresh(visit); err != nil {
				return w.nestedError(name, err)
			}
			existing = encoded.Of(child.XR)
			if w.isClaim(w.applied[name].desired) {
				existing = w.bind(w.applied[name].observed, child.XR)
			}
		} else if !ofKind(existing, w.Reports) {
			continue
		}
		if err := w.finish(name, w.applied[name].desired, existing); err != nil {
			return err
		}
	}
	return w.Run(visit)
}

// ofKind reports whether reports has fields for an object.
func ofKind(o encoded.Struct, reports func(kind, name string) map[string]any) bool {
	o = bare(o)
	return reports != nil && len(reports(o.At("kind").Text(), o.At("metadata", "name").Text())) > 0
}

// reported returns an object with the additional status fields.
func reported(o encoded.Struct, reports func(kind, name string) map[string]any) (encoded.Struct, error) {
	if observed, ok := wrapper.Observed(o); ok && wrapper.IsObject(o) {
		inner, err := reported(observed, reports)
		return wrapper.WithObserved(o, inner), err
	}
	for field, value := range reports(o.At("kind").Text(), o.At("metadata", "name").Text()) {
		s, err := encode.Struct(map[string]any{"value": value})
		if err != nil {
			return nil, err
		}
		o = o.With(s.At("value"), "status", field)
	}
	return o, nil
}

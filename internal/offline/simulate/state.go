package simulate

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// State is a cluster in JSON, for another version of this program.
type State struct {
	// XR is the composite resource with its status.
	XR *structpb.Struct `json:"xr"`
	// Objects are the composed resources, by resource name.
	Objects map[string]ObjectState `json:"objects,omitempty"`
	// Created contains the objects that owners of composed resources have created.
	Created []*structpb.Struct `json:"created,omitempty"`
	// Nested contains the clusters of nested composite resources, by resource name.
	Nested map[string]*State `json:"nested,omitempty"`
}

// ObjectState is a composed resource. Desired is nil for an object that is only observed and does not exist.
type ObjectState struct {
	Desired  *structpb.Struct `json:"desired,omitempty"`
	Observed *structpb.Struct `json:"observed"`
}

// State returns the state of the cluster.
func (w *Cluster) State() *State {
	s := &State{XR: w.XR, Objects: map[string]ObjectState{}, Created: w.owned, Nested: map[string]*State{}}
	for name, observed := range w.Observed {
		o := ObjectState{Observed: observed.Tree()}
		if applied, ok := w.applied[name]; ok {
			o.Desired = applied.desired.Tree()
		}
		s.Objects[name] = o
	}
	for name, child := range w.children {
		s.Nested[name] = child.State()
	}
	return s
}

// Cluster returns the cluster of a state, with the functions of composite resources by kind. The caller sets its required resources.
func (s *State) Cluster(kinds map[string]function.Runner) *Cluster {
	w := &Cluster{
		XR: s.XR, Kinds: kinds, Observed: map[string]encoded.Struct{}, applied: map[string]appliedObject{},
		owned: s.Created, RequiredResources: s.Created, children: map[string]*Cluster{},
	}
	for name, o := range s.Objects {
		observed := encoded.Of(o.Observed)
		w.Observed[name] = observed
		if o.Desired != nil {
			w.applied[name] = appliedObject{desired: encoded.Of(o.Desired), observed: observed}
		}
	}
	for name, nested := range s.Nested {
		w.children[name] = nested.Cluster(kinds)
	}
	return w
}

package preview

import (
	"errors"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// State is a previewed claim with its objects, in JSON, for another version of this program.
type State struct {
	// Claim contains the claim with its defaults.
	Claim map[string]any `json:"claim"`
	// Cluster contains the composite resource and its objects when everything is ready.
	Cluster *simulate.State `json:"cluster"`
	// Objects lists the objects in the order in which they were added, and Components the components in the order of their declaration.
	Objects    []StateObject `json:"objects"`
	Components []Component   `json:"components"`
}

// StateObject is the place of an object in a State.
type StateObject struct {
	// Owner and Resource identify the object, Stage is the one in which it was added.
	Owner     string `json:"owner"`
	Resource  string `json:"resource"`
	Component string `json:"component"`
	Stage     int    `json:"stage"`
}

// State returns the state of the result.
func (r *Result) State() *State {
	s := &State{Claim: r.claim, Cluster: r.cluster.State(), Components: r.Components}
	for _, o := range r.Objects {
		s.Objects = append(s.Objects, StateObject{o.Owner, o.Resource, o.Component, o.Stage})
	}
	return s
}

// Result returns the previewed claim of a state. kinds are the functions that compose an edit of it (Edit), of another version than those
// that composed the state. It returns an error if the state is incomplete.
func (s *State) Result(kinds map[string]function.Runner) (*Result, error) {
	if s.Claim == nil || s.Cluster == nil || s.Cluster.XR == nil {
		return nil, errors.New("a claim has no cluster")
	}
	meta := metadata(s.Claim)
	r := &Result{
		Kind: str(s.Claim["kind"]), Name: str(meta["name"]), Namespace: str(meta["namespace"]),
		cluster: s.Cluster.Cluster(kinds), claim: s.Claim, kinds: kinds, Components: s.Components,
		otherVersion: true,
	}
	for _, o := range s.Objects {
		r.Objects = append(r.Objects, Object{Owner: o.Owner, Resource: o.Resource, Component: o.Component, Stage: o.Stage})
		r.Stages = max(r.Stages, o.Stage)
	}
	return r, r.read()
}

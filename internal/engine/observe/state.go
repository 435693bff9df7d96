// Package observe shows a function the composed resources that exist, as it composed them: what was wrapped in an Object
// of provider-kubernetes is unwrapped.
//
// A State is read-only and nothing in it is decoded in advance: an accessor finds its field in the encoded object. A call
// looks at a dozen fields of each object, and objects are mostly fields that no function reads (spec, managedFields).
package observe

import (
	"fmt"
	"maps"
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// State is the composed resources that a call of the function observes, by their names in the composition. The zero
// State is empty. It may be read by many goroutines at once.
type State struct {
	names   []string
	objects map[string]*Object
}

// New reads the observed composed resources, whose bytes are kept. It is an error if one of them is malformed on its face; deeper down,
// what is malformed is absent. The error names the resource.
func New(resources map[string]encoded.Struct) (State, error) {
	s := State{
		names:   slices.Sorted(maps.Keys(resources)),
		objects: make(map[string]*Object, len(resources)),
	}
	for _, name := range s.names {
		raw := resources[name]
		if err := raw.Check(); err != nil {
			return State{}, fmt.Errorf("cannot read the observed resource %q: %w", name, err)
		}
		s.objects[name] = unwrap(&Object{raw: raw, exists: true})
	}
	return s, nil
}

// Get is the composed resource of a name. It is false if there is none. A wrapped object that is there may not exist in
// its own cluster yet: see Object.Exists.
func (s State) Get(name string) (*Object, bool) {
	o, ok := s.objects[name]
	return o, ok
}

// Names are the names of the composed resources, sorted. The caller must not change them.
func (s State) Names() []string { return s.names }

// Len is the number of composed resources.
func (s State) Len() int { return len(s.names) }

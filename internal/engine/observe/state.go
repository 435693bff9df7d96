// Package observe gives a function access to the existing composed resources. Objects that are wrapped in an Object of
// provider-kubernetes are unwrapped.
//
// A State is read-only and nothing in it is decoded in advance: an accessor finds its field in the encoded object. A call
// looks at a dozen fields of each object, and objects are mostly fields that no function reads (spec, managedFields).
package observe

import (
	"fmt"
	"maps"
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// State contains the composed resources that a call of the function observes, by their names in the composition. The zero State is empty.
// It is safe for concurrent use.
type State struct {
	names   []string
	objects map[string]*Object
	clock   freshness.Clock
}

// New reads the observed composed resources, whose bytes are kept. It returns an error, with the name of the resource, if the outer level
// of one is malformed; malformed fields on deeper levels are absent.
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

// Get returns a composed resource by name. It returns false if the name is unknown. A wrapped object may not exist in its own cluster
// yet: see Object.Exists.
func (s State) Get(name string) (*Object, bool) {
	o, ok := s.objects[name]
	return o, ok
}

// Names returns the sorted names of the composed resources. The caller must not change them.
func (s State) Names() []string { return s.names }

// Len returns the number of composed resources.
func (s State) Len() int { return len(s.names) }

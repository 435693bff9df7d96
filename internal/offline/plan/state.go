package plan

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// stateFormat is the format of a State. It changes when an older version could not read it any more.
const stateFormat = 1

// State is a running cloud in JSON: the one that another version of the functions has composed.
type State struct {
	Format int              `json:"format"`
	Claims []*preview.State `json:"claims"`
}

// Save writes the state of the cloud.
func (c *Cloud) Save(w io.Writer) error {
	s := State{Format: stateFormat}
	for _, d := range c.claims.Claims {
		s.Claims = append(s.Claims, c.before[d.Identity].State())
	}
	return json.NewEncoder(w).Encode(s)
}

// Load returns the cloud of a state that Save wrote, for plans with the given functions. It returns an error if it is the state of an
// unsupported format.
func Load(r io.Reader, kinds map[string]function.Runner) (*Cloud, error) {
	s := State{}
	if err := json.NewDecoder(r).Decode(&s); err != nil {
		return nil, fmt.Errorf("cannot read the state of the cloud: %w", err)
	}
	if s.Format != stateFormat {
		return nil, fmt.Errorf("the state of the cloud has format %d, this version reads format %d; use consecutive versions of cobaltcore",
			s.Format, stateFormat)
	}
	c := &Cloud{before: map[preview.Identity]*preview.Result{}, kinds: kinds}
	for _, claim := range s.Claims {
		result, err := claim.Result(kinds)
		if err != nil {
			return nil, fmt.Errorf("cannot read the state of the cloud: %w", err)
		}
		id := preview.Identity{Kind: result.Kind, Namespace: result.Namespace, Name: result.Name}
		c.claims.Claims = append(c.claims.Claims, Document{Identity: id})
		c.before[id] = result
	}
	return c, nil
}

package controlplane

import (
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
)

// model holds the inputs of all builders, derived once.
type model struct {
	*services.Cloud
}

// newModel returns the model of services in an infrastructure.
func newModel(shared *infrastructure.Infrastructure, enabled []*services.State) *model {
	return &model{services.New(shared, enabled)}
}

// stateOf returns the derived state of a service, nil if it is disabled.
func (m *model) stateOf(name string) *services.State {
	i := slices.IndexFunc(m.Services, func(s *services.State) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return m.Services[i]
}

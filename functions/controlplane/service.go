package controlplane

import (
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// components returns two components for each service: the service, and the Usages that keep its dependencies until it is deleted.
func components(all []services.Service) compose.Graph[*model] {
	var out compose.Graph[*model]
	for _, each := range all {
		info := each.Info()
		enabled := func(m *model) bool { return m.stateOf(info.Name) != nil }
		out = append(out, compose.Component[*model]{
			Name: info.Name, Phase: info.Phase, Needs: info.Needs, Enabled: enabled,
			Build:   func(m *model) ([]compose.Stage, error) { return m.compose(m.stateOf(info.Name)) },
			Version: func(m *model) string { return m.stateOf(info.Name).Observed.String("status", "version") },
		})
		if info.Name != services.IdentityService {
			out = append(out, compose.Component[*model]{
				Name: info.Name + "-deletion-order", Phase: info.Phase, Follows: []string{info.Name}, Enabled: enabled,
				Build: func(m *model) ([]compose.Stage, error) { return m.serviceDeletionOrder(m.stateOf(info.Name)), nil },
			})
		}
	}
	return out
}

// compose returns the service's composite resource, which is created after the copies of the Secrets that it reads.
func (m *model) compose(s *services.State) ([]compose.Stage, error) {
	object, err := s.Model.Object()
	if err != nil {
		return nil, err
	}
	return []compose.Stage{{{Name: s.Name, Object: object, Management: true, After: m.copiesFor(s)}}}, nil
}

// copiesFor returns the resources that copy the Secrets of a service.
func (m *model) copiesFor(s *services.State) []string {
	out := m.PoolResources(s.Name)
	for _, n := range s.Service.Secrets(&m.Spec.Services) {
		out = append(out, m.Secrets.Resource(string(*n.Name)))
	}
	return out
}

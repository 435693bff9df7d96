package controlplane

import (
	"slices"

	"k8s.io/utils/ptr"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
)

// enabledServices returns the enabled services in the order of the table, with the settings of the claim merged with the defaults of the
// size.
func enabledServices(c *claim.Claim) []*services.State {
	var out []*services.State
	for _, each := range serviceTable {
		requested := each.Requested(&c.Spec.Services)
		if !requested.Enabled {
			continue
		}
		requested.Workload.Replicas = new(ptr.Deref(requested.Workload.Replicas, c.Size.API))
		requested.Workload.Resources = merge.Overlay(requested.Workload.Resources, c.Size.APIResources)
		s := &services.State{Info: each.Info(), Requested: requested, Service: each}
		s.Observed, _ = c.Observed.Get(s.Name)
		s.Endpoints, s.Exposure = addressesOf(c, s)
		out = append(out, s)
	}
	return out
}

// stateOf returns the derived state of a service, nil if it is disabled.
func (m *model) stateOf(name string) *services.State {
	i := slices.IndexFunc(m.Services, func(s *services.State) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return m.Services[i]
}

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

// connectionsOf returns the maximum number of connections that a service opens to the database.
func connectionsOf(s *services.State) int64 {
	if s.ExternalURL != "" {
		return 0
	}
	return s.Model.Connections()
}

// costsOf returns the costs of a service.
func costsOf(s *services.State) []bounds.CostItem {
	if s.ExternalURL != "" {
		return nil
	}
	return append(s.Model.Pods(), s.Model.Volumes()...)
}

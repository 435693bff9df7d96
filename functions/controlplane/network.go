package controlplane

import (
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// policies composes the network policies of the shared infrastructure.
func policies(m *model) ([]compose.Stage, error) {
	// With an external identity service there may be no service with a database.
	hasJobs := slices.ContainsFunc(m.services, func(s *serviceState) bool { return m.connectionsOf(s) > 0 })
	var inspectors []infrastructure.DatabaseInspector
	for _, s := range m.services {
		inspectors = append(inspectors, infrastructure.DatabaseInspector{
			Service: s.name, Components: s.inspectors, Databases: m.databasesOf(s),
		})
	}
	return m.ComposeNetworkPolicies(hasJobs, inspectors)
}

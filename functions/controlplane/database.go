package controlplane

import "github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"

// database composes the database for the connections of all services.
func database(m *model) ([]compose.Stage, error) {
	open := int64(0)
	for _, s := range m.services {
		open += m.connectionsOf(s)
	}
	return m.ComposeDatabase(open)
}

package controlplane

import (
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// namespace composes the namespace with the Pod Security Standard that all pods meet.
func namespace(m *model) ([]compose.Stage, error) {
	return m.ComposeNamespace(!slices.ContainsFunc(m.services, m.isUnrestricted))
}

// isUnrestricted reports whether pods of a service violate the restricted Pod Security Standard, as those of a Galera cluster do.
func (m *model) isUnrestricted(s *serviceState) bool {
	return s.unrestricted != nil && s.unrestricted(&m.Spec.Services) ||
		slices.ContainsFunc(m.databasesOf(s), func(d infrastructure.DatabaseServer) bool { return d.Members > 1 })
}

// companion composes the companion with access to the services that it calls.
func companion(m *model) ([]compose.Stage, error) {
	return m.ComposeCompanion(m.companionEgressPorts(), m.visited())
}

// pools composes the access of services to pools of StorageClusters.
func pools(m *model) ([]compose.Stage, error) {
	var enabled []string
	for _, s := range m.services {
		enabled = append(enabled, s.name)
	}
	return m.ComposePools(enabled), nil
}

package controlplane

import (
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// namespace composes the namespace with the Pod Security Standard that all pods meet.
func namespace(m *model) ([]compose.Stage, error) {
	return m.ComposeNamespace(!slices.ContainsFunc(m.Services, isUnrestricted))
}

// isUnrestricted reports whether pods of a service violate the restricted Pod Security Standard, as those of a Galera cluster do.
func isUnrestricted(s *services.State) bool {
	return s.Model.IsUnrestricted() || slices.ContainsFunc(s.Model.Databases(), func(d infrastructure.DatabaseServer) bool {
		return d.Members > 1
	})
}

// caches composes the caches that services use.
func caches(m *model) ([]compose.Stage, error) {
	var out compose.Stage
	for _, c := range m.caches() {
		stage, err := m.ComposeCache(c.Cache, c.clients)
		if err != nil {
			return nil, err
		}
		out = append(out, stage...)
	}
	return []compose.Stage{out}, nil
}

// usedCache is a cache with the services that use it.
type usedCache struct {
	infrastructure.Cache
	clients []string
}

// caches returns the caches that services use.
func (m *model) caches() []usedCache {
	var shared, identity []string
	for _, s := range m.Services {
		switch {
		case s.ExternalURL != "":
		case s.Name == services.IdentityService:
			identity = append(identity, s.Name)
		default:
			shared = append(shared, s.Name)
		}
	}
	all := []usedCache{{m.SharedCache(), shared}, {m.ServiceCache(services.IdentityService), identity}}
	return slices.DeleteFunc(all, func(c usedCache) bool { return len(c.clients) == 0 })
}

// companion composes the companion with access to the services that it calls.
func companion(m *model) ([]compose.Stage, error) {
	return m.ComposeCompanion(m.companionPorts(), m.visited())
}

// companionPorts returns the ports of the services that the companion calls in addition to the identity service.
func (m *model) companionPorts() []int32 {
	var out []int32
	for _, s := range m.Services {
		out = append(out, s.CompanionPorts...)
	}
	return out
}

// pools composes the access of services to pools of StorageClusters.
func pools(m *model) ([]compose.Stage, error) {
	var enabled []string
	for _, s := range m.Services {
		enabled = append(enabled, s.Name)
	}
	return m.ComposePools(enabled), nil
}

// policies composes the network policies of the shared infrastructure.
func policies(m *model) ([]compose.Stage, error) {
	// With an external identity service there may be no service with a database.
	hasJobs := slices.ContainsFunc(m.Services, func(s *services.State) bool { return connectionsOf(s) > 0 })
	var inspectors []infrastructure.DatabaseInspector
	for _, s := range m.Services {
		inspectors = append(inspectors, infrastructure.DatabaseInspector{
			Service: s.Name, Components: s.Inspectors, Databases: s.Model.Databases(),
		})
	}
	return m.ComposeNetworkPolicies(hasJobs, inspectors)
}

// database composes the database for the connections of all services.
func database(m *model) ([]compose.Stage, error) {
	open := int64(0)
	for _, s := range m.Services {
		open += connectionsOf(s)
	}
	return m.ComposeDatabase(open)
}

// connectionsOf returns the maximum number of connections that a service opens to the database.
func connectionsOf(s *services.State) int64 {
	if s.ExternalURL != "" {
		return 0
	}
	return s.Model.Connections()
}

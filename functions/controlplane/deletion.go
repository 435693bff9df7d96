package controlplane

import (
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// deletionOrder composes Usages, which prevent the deletion of an object before the objects that use it are deleted.
// https://docs.crossplane.io/latest/managed-resources/usages/
//
//   - The catalog and all other services use the identity service: K-ORC logs in to delete their catalog entries. There are no Usages
//     between the services: K-ORC itself keeps a domain or a project until no object references it.
//   - A service with a queue uses RabbitMQ, because the topology operator deletes virtual hosts and users there. For an external queue the
//     operator needs a Secret, which is kept until the namespace is deleted.
//   - The identity service uses its database, and the namespaces of its composite resource and of its pods. If a namespace is deleted
//     before the Objects in it, they remain in deletion forever; if it is deleted before that service, the pods that K-ORC logs in to are
//     deleted with it.
//   - An external database uses the Secret with the credentials of the operator.
//
// The Usages do not depend on the deletion policy, so that the policy of an existing claim can be changed.
func deletionOrder(m *model) ([]compose.Stage, error) {
	s := m.Identity
	stage := compose.Stage{
		m.RestrictTo(s.Name, infrastructure.NamespaceResource, s.Kind.Kind+" lives in the namespace"),
		m.RestrictTo(s.Name, infrastructure.DatabaseResource, s.Kind.Kind+" needs the database until it is gone"),
	}
	if m.Remote {
		stage = append(stage, m.RestrictTo(s.Name, infrastructure.WorkloadNamespaceResource, s.Kind.Kind+"'s pods live in the namespace"))
	}
	return []compose.Stage{stage}, nil
}

// catalogDeletionOrder keeps the identity service until its catalog is deleted.
func catalogDeletionOrder(m *model) ([]compose.Stage, error) {
	return m.identityUsage(services.CatalogComponent), nil
}

// serviceDeletionOrder keeps the identity service until another service is deleted, and the queue until the virtual hosts of that service
// are deleted.
func (m *model) serviceDeletionOrder(s *services.State) []compose.Stage {
	stages := m.identityUsage(s.Name)
	if m.RunsQueue() && slices.Contains(s.Needs, infrastructure.MessagingComponent) {
		reason := s.Kind.Kind + " has virtual hosts and users there to delete"
		stages[0] = append(stages[0], m.RestrictTo(s.Name, infrastructure.MessagingResource, reason))
	}
	return stages
}

// identityUsage keeps the identity service until an object is deleted whose catalog entries K-ORC has to delete.
func (m *model) identityUsage(by string) []compose.Stage {
	return []compose.Stage{{m.RestrictTo(by, services.IdentityService, "K-ORC logs in at "+m.Identity.Kind.Kind+" to delete its catalog entries")}}
}

package controlplane

import (
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/usage"
)

// deletionOrder is said by Usages: what is used cannot be deleted before its user is gone.
// https://docs.crossplane.io/latest/managed-resources/usages/
//
//   - The catalog uses the identity service: K-ORC logs in to delete its entries. So do all other services, which have entries of their
//     own. Between these nothing is said: K-ORC itself keeps a domain or a project until nothing refers to it any more.
//   - A service with a queue uses RabbitMQ, which its operator asks to delete virtual hosts and users. Of one that somebody else runs it
//     needs a Secret, which stays until the namespace goes.
//   - The identity service uses its database, and the namespaces that it and its pods live in. A namespace that goes before the Objects
//     in it leaves them hanging for ever; one that goes before that service takes the pods along that K-ORC has to log in at.
//   - A database that is elsewhere uses the Secret that its operator logs in by.
//
// They are composed whatever the deletion policy is, so that the policy of a living claim can be changed.
func deletionOrder(m *model) ([]compose.Stage, error) {
	s := m.identity
	stage := compose.Stage{
		m.restrictTo(s.name, namespaceResource, s.kind.Kind+" lives in the namespace"),
		m.restrictTo(s.name, databaseResource, s.kind.Kind+" needs the database until it is gone"),
	}
	if m.remote {
		stage = append(stage, m.restrictTo(s.name, workloadNamespaceResource, s.kind.Kind+"'s pods live in the namespace"))
	}
	return []compose.Stage{stage}, nil
}

// databaseDeletionOrder keeps what the operator logs in by until the server elsewhere is gone.
func databaseDeletionOrder(m *model) ([]compose.Stage, error) {
	login := m.databaseLogin(*m.externalMariaDB())
	return []compose.Stage{{m.restrictTo(databaseResource, login, "mariadb-operator logs in to let databases go")}}, nil
}

// catalogDeletionOrder keeps the identity service until its catalog is gone.
func catalogDeletionOrder(m *model) ([]compose.Stage, error) {
	return m.identityUsage(catalogComponent), nil
}

// serviceDeletionOrder keeps the identity service until another one is gone, and the queue until that has taken its virtual hosts away.
func (m *model) serviceDeletionOrder(s *serviceState) []compose.Stage {
	stages := m.identityUsage(s.name)
	if m.runsQueue() && slices.Contains(s.needs, messagingComponent) {
		stages[0] = append(stages[0], m.restrictTo(s.name, messagingResource, s.kind.Kind+" has virtual hosts and users there to delete"))
	}
	return stages
}

// identityUsage keeps the identity service until something is gone whose entries of the catalog K-ORC has to delete.
func (m *model) identityUsage(by string) []compose.Stage {
	return []compose.Stage{{m.restrictTo(by, identityService, "K-ORC logs in at "+m.identity.kind.Kind+" to delete its catalog entries")}}
}

// restrictTo keeps what the resource of is composed as while what by is composed as is there.
func (m *model) restrictTo(by, of, reason string) compose.Resource {
	return usage.Of(m.meta(by+"-uses-"+of), by, of, reason)
}

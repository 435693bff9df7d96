package controlplane

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// deletionOrder is said by Usages: what is used cannot be deleted before its user is gone.
// https://docs.crossplane.io/latest/managed-resources/usages/
//
//   - Catalog entries use Keystone: K-ORC logs in to delete them.
//   - Keystone uses its database, and the namespaces that it and its pods live in. A namespace that goes before the Objects in it
//     leaves them hanging for ever; one that goes before Keystone takes the pods along that K-ORC has to log in at.
//
// They are composed whatever the deletion policy is, so that the policy of a living claim can be changed.
func deletionOrder(m *model) ([]compose.Stage, error) {
	stage := compose.Stage{
		m.usage("keystone-uses-namespace", keystoneResource, namespaceResource, "Keystone lives in the namespace"),
		m.usage("keystone-uses-database", keystoneResource, databaseResource, "Keystone needs the database until it is gone"),
	}
	if m.remote {
		stage = append(stage, m.usage("keystone-uses-workload-namespace", keystoneResource, workloadNamespaceResource,
			"Keystone's pods live in the namespace"))
	}
	return []compose.Stage{stage}, nil
}

// catalogDeletionOrder keeps Keystone until its catalog entries are gone.
func catalogDeletionOrder(m *model) ([]compose.Stage, error) {
	var stage compose.Stage
	for _, e := range m.wantedEntries() {
		stage = append(stage, m.usage(e.resource+"-uses-keystone", e.resource, keystoneResource, "K-ORC logs in at Keystone to delete it"))
	}
	return []compose.Stage{stage}, nil
}

// usage keeps what the resource of is composed as while what by is composed as is there.
func (m *model) usage(name, by, of, reason string) compose.Resource {
	return compose.Resource{
		Name:       name,
		Management: true,
		Refer: func(to func(string) compose.Reference) runtime.Object {
			user, used := to(by), to(of)
			ref := object.Map{"name": used.Name}
			if used.Namespace == "" {
				// A namespaced Usage names a cluster-scoped object by an explicitly empty namespace.
				ref["namespace"] = ""
			}
			return object.New("protection.crossplane.io/v1beta1", "Usage", m.meta(name), object.Map{
				"of":             end(used, ref),
				"by":             end(user, object.Map{"name": user.Name}),
				"reason":         reason,
				"replayDeletion": true,
			})
		},
	}
}

// end is one of the two objects of a Usage.
func end(r compose.Reference, ref object.Map) object.Map {
	apiVersion, kind := r.Kind.ToAPIVersionAndKind()
	return object.Map{"apiVersion": apiVersion, "kind": kind, "resourceRef": ref}
}

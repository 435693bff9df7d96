package controlplane

import (
	"github.com/c5c3/crossplane-cobaltcore/internal/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/korc"
	"github.com/c5c3/crossplane-cobaltcore/internal/object"
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
		m.usage("keystone-uses-namespace", keystoneReference, m.object(namespaceResource), "Keystone lives in the namespace"),
		m.usage("keystone-uses-database", keystoneReference, m.object(databaseResource), "Keystone needs the database until it is gone"),
	}
	if m.remote {
		stage = append(stage, m.usage("keystone-uses-workload-namespace", keystoneReference, m.object(workloadNamespaceResource),
			"Keystone's pods live in the namespace"))
	}
	return []compose.Stage{stage}, nil
}

// catalogDeletionOrder keeps Keystone until its catalog entries are gone.
func catalogDeletionOrder(m *model) ([]compose.Stage, error) {
	var stage compose.Stage
	for _, e := range m.wantedEntries() {
		user := reference{apiVersion: korc.APIVersion, kind: e.kind, name: e.name}
		if m.remote {
			user = m.object(e.resource)
		}
		stage = append(stage, m.usage(e.resource+"-uses-keystone", user, keystoneReference, "K-ORC logs in at Keystone to delete it"))
	}
	return []compose.Stage{stage}, nil
}

var keystoneReference = reference{apiVersion: "keystone.openstack.c5c3.io/v1alpha1", kind: "Keystone", name: keystoneName}

// object is the Object around a resource.
func (m *model) object(resource string) reference {
	return reference{
		apiVersion: "kubernetes.crossplane.io/v1alpha2", kind: "Object", name: place(m).ObjectName(resource), clusterScoped: true,
	}
}

// reference names an object that uses or is used.
type reference struct {
	apiVersion, kind, name string
	clusterScoped          bool
}

func (m *model) usage(name string, by, of reference, reason string) compose.Resource {
	used := object.Map{"name": of.name}
	if of.clusterScoped {
		// A namespaced Usage names a cluster-scoped object by an explicitly empty namespace.
		used["namespace"] = ""
	}
	return compose.Resource{
		Name:       name,
		Management: true,
		Object: object.New("protection.crossplane.io/v1beta1", "Usage", m.meta(name), object.Map{
			"of":             object.Map{"apiVersion": of.apiVersion, "kind": of.kind, "resourceRef": used},
			"by":             object.Map{"apiVersion": by.apiVersion, "kind": by.kind, "resourceRef": object.Map{"name": by.name}},
			"reason":         reason,
			"replayDeletion": true,
		}),
	}
}

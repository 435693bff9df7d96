package tenantsecret

import (
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

// HypervisorStore returns the platform's store for pools of hypervisors. Their entries are separate from the entries of
// control planes, so that the credentials in a cluster of hypervisors need no access to the others. The folder cannot
// collide with an instance, whose name ends with a hash.
func HypervisorStore(s *common.SecretStoreReference) *common.SecretStoreReference {
	return withPrefix(s, "hypervisors")
}

// StorageStore returns the platform's store for Secrets of StorageClusters, which are separated in the same way.
func StorageStore(s *common.SecretStoreReference) *common.SecretStoreReference {
	return withPrefix(s, "storage")
}

// withPrefix returns the store with a subfolder.
func withPrefix(s *common.SecretStoreReference, folder string) *common.SecretStoreReference {
	if s == nil {
		return nil
	}
	out := *s
	out.Prefix = secret.Path(*s, folder)
	return &out
}

// ForClusters returns the set with its Secrets in one cluster and their readers in another one, or in the same. Clusters
// are identified by their provider configs. Secrets are transferred between clusters through the platform's store.
func (s Set) ForClusters(secrets, readers, management string, store *common.SecretStoreReference) Set {
	s.Cluster, s.Via = "", nil
	if secrets != management {
		s.Cluster = secrets
	}
	if secrets != readers {
		s.Via = store
	}
	return s
}

// Unreferenced returns the set for the removal of a composed resource that is no longer needed, with the cluster of that
// resource.
func (s Set) Unreferenced(resource string, observed *observe.Object, management string) Set {
	if _, _, arrivals := s.revisions(); strings.HasPrefix(resource, arrivals+"-") {
		return s // It is in the cluster of the readers.
	}
	if at := observed.Wrapper().String("spec", "providerConfigRef", "name"); at != management {
		s.Cluster = at
	}
	return s
}

// crossesClusters pushes each Secret from its own namespace to the platform's store, and copies it to the cluster of the
// workloads. It grants no permission to read Secrets: External Secrets pushes as configured by an object in the namespace
// of the Secret.
func (s Set) crossesClusters() compose.Stage {
	_, pushes, arrivals := s.revisions()
	var out compose.Stage
	for _, w := range s.Requests {
		name := s.Target(w.Name)
		stored, push := secret.Stored(*s.Via, s.Instance, name), pushes+"-"+name
		// The name contains the instance, because two pools may use the same Secret.
		existing := object.Meta{Name: s.Instance + "-" + name, Namespace: s.From, Labels: s.Labels}
		out = append(out,
			compose.Resource{
				Name: push, Revisions: pushes, Cluster: s.Cluster, Object: secret.Pushed(existing, w.Name, stored, w.Keys...),
			},
			compose.Resource{
				Name: s.Resource(name), Revisions: arrivals, After: []string{push},
				Object: secret.Copied(s.meta(name), stored, s.Type, s.Keep, w.Keys...),
			})
	}
	return out
}

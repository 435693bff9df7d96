package tenantsecret

import (
	"cmp"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

// HypervisorStore is the platform's store as pools of hypervisors have it: their entries lie apart from those of control planes, so that
// the login in a cluster of hypervisors need not read the others. No instance is called so: each ends with a hash.
func HypervisorStore(s *common.SecretStoreReference) *common.SecretStoreReference {
	return withPrefix(s, "hypervisors")
}

// StorageStore is the platform's store as StorageClusters have it, for what comes to them: apart from the others in the same way.
func StorageStore(s *common.SecretStoreReference) *common.SecretStoreReference {
	return withPrefix(s, "storage")
}

// withPrefix is a store in a folder of its own.
func withPrefix(s *common.SecretStoreReference, folder string) *common.SecretStoreReference {
	if s == nil {
		return nil
	}
	out := *s
	out.Kind, out.Prefix = cmp.Or(s.Kind, "ClusterSecretStore"), secret.Path(*s, folder)
	return &out
}

// ForClusters is the set with its Secrets in one cluster and those who read them in another one, or the same: all by their provider configs.
// From one to another they go through the platform's store.
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

// Unreferenced is a set of which nothing is wanted any more, with its Secrets in the cluster that a composed resource of it says.
func (s Set) Unreferenced(resource string, seen *observe.Object, management string) Set {
	if _, _, arrivals := s.revisions(); strings.HasPrefix(resource, arrivals+"-") {
		return s // It lies where those are who read it.
	}
	if at := seen.Wrapper().String("spec", "providerConfigRef", "name"); at != management {
		s.Cluster = at
	}
	return s
}

// crossesClusters pushes each Secret to the platform's store, beside the Secret itself, and copies it where the workloads are. Nobody gets a right
// to read a Secret by it: External Secrets pushes what an object in the Secret's own namespace says.
func (s Set) crossesClusters() compose.Stage {
	_, pushes, arrivals := s.revisions()
	var out compose.Stage
	for _, w := range s.Requests {
		name := s.Target(w.Name)
		stored, push := secret.Stored(*s.Via, s.Instance, name), pushes+"-"+name
		// Two pools have one each of the same Secret.
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

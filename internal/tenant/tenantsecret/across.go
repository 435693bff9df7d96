package tenantsecret

import (
	"cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

// HypervisorStore is the platform's store as pools of hypervisors have it: their entries lie apart from those of control planes, so that
// the login in a cluster of hypervisors need not read the others. No instance is called so: each ends with a hash.
func HypervisorStore(s *common.SecretStoreReference) *common.SecretStoreReference {
	if s == nil {
		return nil
	}
	out := *s
	out.Kind, out.Prefix = cmp.Or(s.Kind, "ClusterSecretStore"), secret.Path(*s, "hypervisors")
	return &out
}

// across pushes each Secret to the platform's store, beside the Secret itself, and copies it where the workloads are. Nobody gets a right
// to read a Secret by it: External Secrets pushes what an object in the Secret's own namespace says.
func (s Set) across() compose.Stage {
	_, pushes, arrivals := s.revisions()
	var out compose.Stage
	for _, w := range s.Wanted {
		name := s.Target(w.Name)
		stored, push := secret.Stored(*s.Via, s.Instance, name), pushes+"-"+name
		// Two pools have one each of the same Secret.
		there := object.Meta{Name: s.Instance + "-" + name, Namespace: s.From, Labels: s.Labels}
		out = append(out,
			compose.Resource{
				Name: push, Revisions: pushes, Cluster: s.Cluster, Object: secret.Pushed(there, w.Name, stored, w.Keys...),
			},
			compose.Resource{
				Name: s.Resource(name), Revisions: arrivals, After: []string{push},
				Object: secret.Copied(s.meta(name), stored, s.Type, s.Keep, w.Keys...),
			})
	}
	return out
}

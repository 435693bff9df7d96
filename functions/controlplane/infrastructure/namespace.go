package infrastructure

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/usage"
)

// ComposeDatabaseDeletionOrder keeps the credentials of the operator until the external server is deleted.
func (inf *Infrastructure) ComposeDatabaseDeletionOrder() ([]compose.Stage, error) {
	login := inf.databaseLogin(*inf.ExternalMariaDB())
	return []compose.Stage{{inf.RestrictTo(DatabaseResource, login, "mariadb-operator logs in to let databases go")}}, nil
}

// RestrictTo composes a Usage that keeps the composed resource of while the composed resource by exists.
func (inf *Infrastructure) RestrictTo(by, of, reason string) compose.Resource {
	return usage.Of(inf.Meta(by+"-uses-"+of), by, of, reason)
}

// ComposeNamespace composes the namespace of this control plane: in the management cluster, and in the workload cluster if that is another
// one. It is retained, because the deletion of a Namespace deletes all objects in it. restricted is false if pods of services violate the
// restricted Pod Security Standard.
func (inf *Infrastructure) ComposeNamespace(restricted bool) ([]compose.Stage, error) {
	ns := func() *corev1.Namespace {
		return &corev1.Namespace{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{
				Name: inf.Instance,
				Labels: map[string]string{
					admission.InstanceLabel:              admission.InstanceLabelValue,
					"pod-security.kubernetes.io/enforce": inf.podSecurity(restricted),
					"pod-security.kubernetes.io/warn":    "restricted",
					"pod-security.kubernetes.io/audit":   "restricted",
				},
				Annotations: inf.namespaceAnnotations(),
			},
		}
	}
	stage := compose.Stage{{Name: NamespaceResource, Object: ns(), Retain: true, Management: true}}
	if inf.Remote {
		stage = append(stage, compose.Resource{Name: WorkloadNamespaceResource, Object: ns(), Retain: true})
	}
	return []compose.Stage{stage}, nil
}

// podSecurity returns the enforced Pod Security Standard. A rejected pod would make a database unavailable, so it is restricted only if all
// pods were admitted with it on a real node. These were not:
//   - members of a Galera cluster. The operator's init container has no security context unless its image is set: the operator's own;
//   - MaxScale, whose user the operator selects by its image, and only if no other security context of the pod is set;
//   - Valkey, whose operator was not run there;
//   - pods with shares of an NFS server mounted by the node, which that standard does not permit.
func (inf *Infrastructure) podSecurity(restricted bool) string {
	if !restricted || inf.DatabaseReplicas() > 1 || inf.proxy.replicas > 0 || inf.Locks() {
		return "baseline"
	}
	return "restricted"
}

// namespaceAnnotations returns the owner of the namespace, and the store and path that the companion may use with External Secrets. The
// chart's admission policies read them, and permit only the provider to write them.
func (inf *Infrastructure) namespaceAnnotations() map[string]string {
	out := map[string]string{admission.ClaimAnnotation: inf.Ref.Namespace + "/" + inf.Ref.Name}
	if s := inf.SecretStore; s != nil {
		out[admission.StoreAnnotation] = s.Kind + "/" + string(s.Name)
		out[admission.PathAnnotation] = secret.Path(*s, inf.Instance)
	}
	return out
}

// ComposeCertificates composes the control plane's own certificate authority for endpoints inside the cluster.
func (inf *Infrastructure) ComposeCertificates() ([]compose.Stage, error) {
	const selfSigned = "self-signed"
	return []compose.Stage{{
		{Name: "self-signed-issuer", Object: certificate.SelfSigned(inf.Meta(selfSigned))},
		{Name: "authority", Object: certificate.Authority(inf.Meta(claim.InternalCA), selfSigned), Retain: true},
		{Name: "issuer", Object: certificate.CAIssuer(inf.Meta(claim.InternalCA), claim.InternalCA)},
	}}, nil
}

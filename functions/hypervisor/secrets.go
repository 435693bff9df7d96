package hypervisor

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// configMap is a kind that becomes ready by being there.
var configMap = schema.GroupKind{Kind: "ConfigMap"}

// Keys of the Secret of an application credential.
const (
	credentialID     = "application_credential_id"
	credentialSecret = "application_credential_secret"
)

// loginsName begins the names of what brings the control plane's Secrets here, copyPrefix those of the copies.
const (
	loginsName = "control-plane-secrets"
	copyPrefix = "control-plane-"
)

// namespace is that of the pool, in the management cluster and in that of the nodes. Its pods have the node's network and devices, which no
// other level of Pod Security lets them have; each says why in an annotation. It has the label of control planes' namespaces, to which
// the platform opens its secret store, only where something comes through that.
func namespace(m *model) ([]compose.Stage, error) {
	deny := workload.DenyAll(m.meta("default-deny"))
	labels := map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}
	if m.platform.SecretStore != nil && (m.remote() || m.isSeparateCluster() || m.disksInOtherCluster()) {
		labels[admission.InstanceLabel] = admission.InstanceLabelValue
	}
	ns := func() *corev1.Namespace {
		return &corev1.Namespace{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{
				Name: m.instance, Labels: labels,
				Annotations: map[string]string{admission.ClaimAnnotation: m.claim.Namespace + "/" + m.claim.Name},
			},
		}
	}
	stage := compose.Stage{{Name: namespaceComponent, Retain: true, Management: true, Object: ns()}}
	if m.remote() {
		stage = append(stage, compose.Resource{Name: workloadNamespaceResource, Retain: true, Object: ns()})
	}
	return []compose.Stage{
		stage,
		// It holds for pods with a network of their own, which speak to nobody; the others have the node's, where no policy holds.
		{{Name: "default-deny", Object: deny}},
	}, nil
}

// clientSecret is where the pool's own certificate for OVN lies, in the control plane's namespace: its authority is there.
func (m *model) clientSecret() string { return m.instance + "-ovn" }

// loginSet are the Secrets of the control plane that nodes need, and no others: whose rights bring them may read just these.
func (m *model) loginSet() tenantsecret.Set {
	a, cell, set := m.plane.access, m.plane.cell, m.controlPlaneSecrets(loginsName, copyPrefix)
	desired := []tenantsecret.Request{
		{Name: string(cell.QueueSecretRef.Name), Keys: []string{secret.UsernameKey, secret.PasswordKey}},
		{Name: string(a.CredentialSecretRef.Name), Keys: []string{credentialID, credentialSecret}},
		{Name: string(cell.Queue.CASecretRef.Name), Keys: []string{string(cell.Queue.CASecretRef.Key)}},
	}
	if m.usesOVN() {
		desired = append(desired, tenantsecret.Request{
			Name: m.clientSecret(), Keys: []string{certificate.CAKey, certificate.CertKey, certificate.KeyKey},
		})
	}
	if m.usesQueue() {
		agents := a.Networks.Agents
		desired = append(desired,
			tenantsecret.Request{Name: string(agents.QueueSecretRef.Name), Keys: []string{secret.UsernameKey, secret.PasswordKey}},
			tenantsecret.Request{Name: string(agents.Queue.CASecretRef.Name), Keys: []string{string(agents.Queue.CASecretRef.Key)}})
	}
	if m.sameCluster() { // Elsewhere there is no metadata, and what is public is verified by public authorities.
		desired = append(desired,
			tenantsecret.Request{Name: string(a.MetadataSecretRef.Name), Keys: []string{secret.PasswordKey}},
			tenantsecret.Request{Name: string(a.CASecretRef.Name), Keys: []string{string(a.CASecretRef.Key)}})
	}
	set.Requests = tenantsecret.Union(desired)
	return set
}

// logins brings them, and says which ones the pool has. It makes the pool's own certificate for OVN: one for each pool, so that it can be
// told from others.
func logins(m *model) ([]compose.Stage, error) {
	stages := m.logins.Stages()
	if m.usesOVN() {
		meta := object.Meta{Name: m.clientSecret(), Namespace: m.plane.instance, Labels: m.meta(loginsName).Labels}
		stages[0] = append(stages[0], m.theirs(compose.Resource{
			Name: "ovn-certificate", Object: certificate.Server(meta, *m.plane.access.Networks.IssuerRef, "ovn-controller."+m.instance+".svc"),
		}))
	}
	stages[0] = append(stages[0], m.remoteConsumer())
	return stages, nil
}

// secretVolume is a volume with some keys of a Secret of the control plane.
func (m *model) secretVolume(volume string, of common.ObjectName, keys ...string) corev1.Volume {
	return workload.SecretVolume(volume, m.logins.Target(string(of)), keys...)
}

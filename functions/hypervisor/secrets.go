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

// configMap is a kind that is ready once it exists.
var configMap = schema.GroupKind{Kind: "ConfigMap"}

// Keys of the Secret of an application credential.
const (
	credentialID     = "application_credential_id"
	credentialSecret = "application_credential_secret"
)

// loginsName is the name prefix of the objects that copy the control plane's Secrets, copyPrefix the name prefix of the copies.
const (
	loginsName = "control-plane-secrets"
	copyPrefix = "control-plane-"
)

// namespace builds the pool's namespace, in the management cluster and in the nodes' cluster. Its pods use the node's network and devices,
// which requires Pod Security level privileged; an annotation of each pod states the reason. It has the label of control planes'
// namespaces, for which the platform opens its secret store, only if Secrets are copied through the store.
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
		// It applies to pods with their own network, which need no traffic; policies do not apply to the others, which use the node's network.
		{{Name: "default-deny", Object: deny}},
	}, nil
}

// clientSecret returns the name of the certificate for OVN that all nodes of the pool share, if they have no separate ones. The Secret is
// in the control plane's namespace, as is its authority.
func (m *model) clientSecret() string { return m.instance + "-ovn" }

// loginSet returns the Secrets of the control plane that nodes need, and no others: the account that copies them may read only these.
func (m *model) loginSet() tenantsecret.Set {
	a, cell, set := m.plane.access, m.plane.cell, m.controlPlaneSecrets(loginsName, copyPrefix)
	desired := []tenantsecret.Request{
		{Name: string(cell.QueueSecretRef.Name), Keys: []string{secret.UsernameKey, secret.PasswordKey}},
		{Name: string(cell.Queue.CASecretRef.Name), Keys: []string{string(cell.Queue.CASecretRef.Key)}},
	}
	for _, credential := range m.applicationCredentials() {
		desired = append(desired, tenantsecret.Request{Name: string(credential), Keys: []string{credentialID, credentialSecret}})
	}
	if m.sharesCertificate() {
		desired = append(desired, tenantsecret.Request{
			Name: m.clientSecret(), Keys: []string{certificate.CAKey, certificate.CertKey, certificate.KeyKey},
		})
	}
	if m.vncTLS() {
		desired = append(desired, tenantsecret.Request{
			Name: m.vncSecret(), Keys: []string{certificate.CAKey, certificate.CertKey, certificate.KeyKey},
		})
	}
	if m.usesQueue() {
		agents := a.Networks.Agents
		desired = append(desired,
			tenantsecret.Request{Name: string(agents.QueueSecretRef.Name), Keys: []string{secret.UsernameKey, secret.PasswordKey}},
			tenantsecret.Request{Name: string(agents.Queue.CASecretRef.Name), Keys: []string{string(agents.Queue.CASecretRef.Key)}})
	}
	if m.sameCluster() { // In another cluster, metadata is not supported, and public authorities verify public addresses.
		desired = append(desired,
			tenantsecret.Request{Name: string(a.MetadataSecretRef.Name), Keys: []string{secret.PasswordKey}},
			tenantsecret.Request{Name: string(a.CASecretRef.Name), Keys: []string{string(a.CASecretRef.Key)}})
	}
	set.Requests = tenantsecret.Union(desired)
	return set
}

// logins copies the Secrets, and records the ones that the pool has. It issues a certificate for VNC to each pool, and one for OVN if its
// nodes share it, so that pools are distinguishable.
func logins(m *model) ([]compose.Stage, error) {
	stages := m.logins.Stages()
	if m.sharesCertificate() {
		meta := object.Meta{Name: m.clientSecret(), Namespace: m.plane.Instance, Labels: m.meta(loginsName).Labels}
		stages[0] = append(stages[0], m.inPlaneCluster(compose.Resource{
			Name: sharedCertificate, Object: certificate.Server(meta, *m.plane.access.Networks.IssuerRef, "ovn-controller."+m.instance+".svc"),
		}))
	}
	if m.vncTLS() {
		stages[0] = append(stages[0], m.vncCertificate())
	}
	stages[0] = append(stages[0], m.remoteConsumer())
	return stages, nil
}

// secretVolume returns a volume with some keys of a Secret of the control plane.
func (m *model) secretVolume(volume string, of common.ObjectName, keys ...string) corev1.Volume {
	return workload.SecretVolume(volume, m.logins.Target(string(of)), keys...)
}

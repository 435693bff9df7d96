package hypervisor

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// identityComponent gives each node a certificate in its own name for OVN (docs/design/0036-nodes-have-certificates-of-their-own.md). It is
// the name of the service account of the pods that request it.
const identityComponent = "node-identity"

// certificateRequesterRole is a ClusterRole of the chart: it lets pods on nodes create CertificateSigningRequests, and read them.
const certificateRequesterRole = "cobaltcore:node-certificates"

// certificateContainer requests the certificate, in each pod that uses it, with certificateFile.
const (
	certificateContainer = "certificate"
	certificateFile      = "certificate.sh"
)

// sharedCertificate is the composed resource of the certificate for OVN that all nodes of the pool share.
const sharedCertificate = "ovn-certificate"

// nodeIssuerResource is the composed resource of the NodeIssuer for OVN.
const nodeIssuerResource = "node-issuer"

// A purpose is a use of certificates of nodes. Each has an authority, a service account and a NodeIssuer: a certificate for one
// purpose is not valid for another one, and pods of one purpose get no certificate for another one.
type purpose struct {
	// account is the name of the service account of the pods.
	account string
	// issuer is the name of the NodeIssuer, and resource its composed resource.
	issuer, resource string
	// shared is the composed resource of the certificate that all nodes share in a pool without separate certificates.
	shared string
	// sets are the DaemonSets whose pods use the certificate.
	sets []string
}

func (m *model) ovnPurpose() purpose {
	return purpose{
		account: identityComponent, issuer: m.instance, resource: nodeIssuerResource, shared: sharedCertificate, sets: m.chassisSets(),
	}
}

// nodeIdentity reports whether each node can have a separate certificate for OVN: the control plane's databases limit the writes of such
// nodes, and the companion is in the nodes' cluster, where it can sign.
func (m *model) nodeIdentity() bool {
	return m.usesOVN() && m.sameCluster() && m.plane.access.Networks.ChassisSouthbound != ""
}

// separateCertificates reports whether pods request a certificate for OVN in the name of their node.
func (m *model) separateCertificates() bool { return m.nodeIdentity() && m.separate(m.ovnPurpose()) }

// sharesCertificate reports whether the pool has the shared certificate for OVN.
func (m *model) sharesCertificate() bool {
	if !m.usesOVN() || !m.separateCertificates() {
		return m.usesOVN()
	}
	return m.retainsShared(m.ovnPurpose())
}

// separate reports whether pods request a certificate of their node for a purpose, if the companion can sign it. Existing pools move when
// the companion is ready to sign: it may be of an earlier version. They never move back.
func (m *model) separate(p purpose) bool {
	if _, shared := m.observed.Get(p.shared); !shared {
		return true
	}
	for _, name := range p.sets {
		if set, ok := m.observed.Get(name); ok && requestsCertificate(set) {
			return true
		}
	}
	issuer, ok := m.observed.Get(p.resource)
	return ok && m.ready("c5c3.io", "NodeIssuer", issuer)
}

// retainsShared reports whether a pool that has moved keeps the shared certificate. It stays until all pods have a separate one. A pool
// that has never had it, or has it no more, does not get it again.
func (m *model) retainsShared(p purpose) bool {
	if _, ok := m.observed.Get(p.shared); !ok {
		return false
	}
	return slices.ContainsFunc(p.sets, func(name string) bool {
		set, ok := m.observed.Get(name)
		return !ok || !requestsCertificate(set) || !m.replaced(set)
	})
}

// replaced reports whether the pods of a DaemonSet are of its current version. With the update strategy OnDelete, no old pod may be left:
// it is not replaced when its node returns.
func (m *model) replaced(set *observe.Object) bool {
	if set.String("spec", "updateStrategy", "type") == string(appsv1.OnDeleteDaemonSetStrategyType) {
		updated, _ := set.Int("status", "updatedNumberScheduled")
		if desired, _ := set.Int("status", "desiredNumberScheduled"); updated < desired {
			return false
		}
	}
	return m.ready("apps", "DaemonSet", set)
}

// ready reports whether an observed object is ready by the rule of its kind.
func (m *model) ready(group, kind string, o *observe.Object) bool {
	rule, _ := readiness.Rules.For(schema.GroupKind{Group: group, Kind: kind})
	return rule.Check(o).Ready
}

// chassisSets returns the DaemonSets whose pods connect to the southbound database.
func (m *model) chassisSets() []string {
	var out []string
	for i := range m.groups {
		g := &m.groups[i]
		out = append(out, g.name(controllerComponent))
		if g.gateway() != nil {
			out = append(out, g.name(gatewayComponent))
		}
		if m.metadataEnabled() {
			out = append(out, g.name(metadataComponent))
		}
	}
	return out
}

// requestsCertificate reports whether the pods of a DaemonSet request a certificate.
func requestsCertificate(set *observe.Object) bool {
	for _, v := range set.List("spec", "template", "spec", "containers") {
		if c, _ := v.(map[string]any); c["name"] == certificateContainer {
			return true
		}
	}
	return false
}

// southbound returns the addresses of the southbound database for nodes, and their port.
func (m *model) southbound() (addresses string, port int32) {
	if m.separateCertificates() {
		return m.plane.access.Networks.ChassisSouthbound, ovnv1.ChassisPort
	}
	return m.plane.access.Networks.Southbound, ovnv1.SouthboundPort
}

// southboundPorts returns the ports of the southbound database that nodes may reach.
func (m *model) southboundPorts() []int32 {
	var out []int32
	if m.sharesCertificate() {
		out = append(out, ovnv1.SouthboundPort)
	}
	if m.separateCertificates() {
		out = append(out, ovnv1.ChassisPort)
	}
	return out
}

// nodeIssuer builds the object by which the companion signs requests of the pool. The Secret of the authority has the name of its issuer.
func (m *model) nodeIssuer() *c5c3v1.NodeIssuer {
	return c5c3.NodeIssuer(m.novaNamespaceMeta(identityComponent), c5c3v1.NodeIssuerSpec{
		Namespace: common.NamespaceName(m.instance), ServiceAccountName: identityComponent,
		AuthoritySecretName: m.plane.access.Networks.IssuerRef.Name,
	})
}

// identity builds the service account of the pods, the right to request certificates, and the companion's right to sign them.
func identity(m *model) ([]compose.Stage, error) {
	w := m.workload(identityComponent, "")
	issuer, labels := m.nodeIssuer(), m.meta(identityComponent).Labels
	role, binding := c5c3.Grant(object.Meta{Name: m.instance + "-issuer", Namespace: m.plane.Instance, Labels: labels}, issuer)
	signer := c5c3.NodeSigner(object.Meta{Name: m.instance + "-node-signer", Labels: labels}, m.plane.Instance)
	return []compose.Stage{
		{
			{Name: identityComponent + "-account", Object: w.ServiceAccount()},
			m.clusterBinding(w, "-rights", certificateRequesterRole),
			m.inPlaneCluster(compose.Resource{Name: "issuer-companion-role", Object: role}),
			m.inPlaneCluster(compose.Resource{Name: "issuer-companion-role-binding", Object: binding}),
			m.inPlaneCluster(compose.Resource{Name: "issuer-companion-signer", Object: signer}),
		},
		{m.inPlaneCluster(compose.Resource{Name: nodeIssuerResource, Object: issuer})},
	}, nil
}

// mountCertificate gives a pod the certificate for OVN, in tlsFolder of its first container.
func (m *model) mountCertificate(p *workload.Pod) {
	const volume = "tls"
	if !m.separateCertificates() {
		p.Containers[0].VolumeMounts = append(p.Containers[0].VolumeMounts, workload.Mount(volume, tlsFolder))
		p.Volumes = append(p.Volumes,
			m.secretVolume(volume, common.ObjectName(m.clientSecret()), certificate.CAKey, certificate.CertKey, certificate.KeyKey))
		return
	}
	m.requestCertificate(p, m.ovnPurpose(), volume, tlsFolder)
}

// requestCertificate adds a container to a pod that requests the certificate of its node, with certificateFile of the volume "config". It
// puts it into a volume that the first container has in a folder.
func (m *model) requestCertificate(p *workload.Pod, of purpose, volume, at string, env ...corev1.EnvVar) {
	const account = "/var/run/secrets/kubernetes.io/serviceaccount"
	c := corev1.Container{
		Name: certificateContainer, Image: m.images.controller, Command: []string{"sh", scripts + "/" + certificateFile},
		VolumeMounts: []corev1.VolumeMount{
			workload.Mount("config", scripts), {Name: volume, MountPath: at}, workload.Mount("token", account),
		},
		Env: append(append(nodeEnvVars(),
			corev1.EnvVar{Name: "SIGNER", Value: c5c3v1.SignerName(m.plane.Instance, of.issuer)},
			corev1.EnvVar{Name: "TLS", Value: at}, corev1.EnvVar{Name: "ACCOUNT", Value: account},
		), env...),
	}
	workload.Readiness(&c, workload.Exec("sh", scripts+"/"+certificateFile, "ready"))
	p.ServiceAccount = of.account
	p.Containers[0].VolumeMounts = append(p.Containers[0].VolumeMounts, workload.Mount(volume, at))
	p.Containers = append(p.Containers, c)
	p.Volumes = append(p.Volumes, workload.MemoryScratch(volume, resource.MustParse("1Mi")), tokenVolume("token"))
}

// tokenVolume returns a volume with the token of the pod's service account, which the kubelet renews, for one container only.
func tokenVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: new(int32(0o440)), //nolint:mnd // a file mode
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3600))}}, //nolint:mnd // an hour
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
		},
	}}}
}

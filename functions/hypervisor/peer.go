package hypervisor

import (
	corev1 "k8s.io/api/core/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// Nodes of a pool are servers and clients of one another for live migration and for disk transfer. A client that may connect to one node
// may connect to all of them: servers authorize clients by the common name, which is the pool's. The certificate of a node has only its own
// names, by which clients verify the server, so that a node cannot receive servers or disks in place of another one
// (docs/design/0036-nodes-have-certificates-of-their-own.md).

// peerPurpose returns the use of certificates by a component whose nodes are servers and clients of one another.
func (m *model) peerPurpose(component string) purpose {
	daemons := []string{libvirtComponent}
	if component == diskTransferComponent {
		daemons = []string{diskTransferComponent, computeComponent}
	}
	p := purpose{
		account: component, issuer: m.instance + "-" + component,
		resource: component + "-node-issuer", shared: component + "-certificate",
	}
	for i := range m.groups {
		for _, daemon := range daemons {
			p.sets = append(p.sets, m.groups[i].name(daemon))
		}
	}
	return p
}

// separatePeerCertificates reports whether each node has a separate certificate for a component. In another cluster than the control
// plane's there is no companion that could sign it.
func (m *model) separatePeerCertificates(component string) bool {
	return m.sameCluster() && m.separate(m.peerPurpose(component))
}

// sharesPeerCertificate reports whether the pool has the certificate that all nodes share for a component.
func (m *model) sharesPeerCertificate(component string) bool {
	return !m.separatePeerCertificates(component) || m.retainsShared(m.peerPurpose(component))
}

// peerIssuer builds the object by which the companion signs requests of the pool for a component, and with a common name. The authority is
// in the pool's namespace.
func (m *model) peerIssuer(component, issuer, commonName string) *c5c3v1.NodeIssuer {
	p := m.peerPurpose(component)
	meta := object.Meta{Name: issuer, Namespace: m.plane.Instance, Labels: m.meta(component).Labels}
	server := &c5c3v1.NodeServer{CommonName: common.NamespaceName(commonName), Domain: common.ObjectName(m.nodeDomain())}
	for i := range m.groups {
		server.UnlistedAddresses = server.UnlistedAddresses || m.groups[i].migrationInterface() != ""
	}
	return c5c3.NodeIssuer(meta, c5c3v1.NodeIssuerSpec{
		Namespace: common.NamespaceName(m.instance), ServiceAccountName: common.ObjectName(p.account), Server: server,
		AuthorityNamespace: common.NamespaceName(m.instance), AuthoritySecretName: common.ObjectName(component + "-ca"),
	})
}

// nodeAuthority builds an authority of the pool for a component, the NodeIssuer that signs the certificate of each node with it, and in the
// Secret <component>-tls the certificate that all nodes share if they have no separate ones. The authority signs nothing else.
func (m *model) nodeAuthority(component string) []compose.Stage {
	selfSigned, ca, tls := component+"-self-signed", component+"-ca", component+"-tls"
	p := m.peerPurpose(component)
	stages := []compose.Stage{
		{{Name: selfSigned, Object: certificate.SelfSigned(m.meta(selfSigned))}},
		{{Name: ca, Object: certificate.Authority(m.meta(ca), selfSigned)}},
	}
	if m.sharesPeerCertificate(component) {
		issuer := common.IssuerReference{Name: common.ObjectName(ca), Kind: "Issuer"}
		peer := func(resource, secret, name string) compose.Resource {
			return compose.Resource{Name: resource, Object: certificate.Peer(m.meta(secret), issuer, name, "*."+m.nodeDomain())}
		}
		shared := compose.Stage{peer(p.shared, tls, m.instance)}
		if component == migrationComponent {
			shared = append(shared, peer(emulatorCertificate, emulatorSecret, emulatorName))
		}
		stages = append(stages, compose.Stage{{Name: component + "-issuer", Object: certificate.CAIssuer(m.meta(ca), ca)}}, shared)
	}
	if !m.sameCluster() {
		return stages
	}
	w, labels, name := m.workload(component, ""), m.meta(component).Labels, m.instance+"-"+component
	role, binding := c5c3.SecretReader(m.meta(component+"-authority"), m.plane.Instance, ca)
	signer := c5c3.NodeSigner(object.Meta{Name: name + "-signer", Labels: labels}, m.plane.Instance)
	issuers := compose.Stage{m.inPlaneCluster(compose.Resource{Name: p.resource, Object: m.peerIssuer(component, p.issuer, m.instance)})}
	if component == migrationComponent {
		issuers = append(issuers, m.inPlaneCluster(compose.Resource{
			Name: emulatorIssuerResource, Object: m.peerIssuer(component, m.emulatorIssuer(), emulatorName),
		}))
	}
	return append(stages,
		compose.Stage{
			{Name: component + "-account", Object: w.ServiceAccount()},
			m.clusterBinding(w, "-rights", certificateRequesterRole),
			{Name: component + "-companion-role", Object: role},
			{Name: component + "-companion-role-binding", Object: binding},
			m.inPlaneCluster(compose.Resource{Name: component + "-companion-signer", Object: signer}),
		},
		issuers,
	)
}

// requestPeerCertificate adds a container to a pod that requests the certificate of its node for a component.
func (m *model) requestPeerCertificate(g *group, p *workload.Pod, component, volume, at string, env ...corev1.EnvVar) {
	m.requestCertificate(p, m.peerPurpose(component), volume, at, append([]corev1.EnvVar{
		{Name: "COMMON_NAME", Value: m.instance}, {Name: "DOMAIN", Value: m.nodeDomain()},
		{Name: "INTERFACE", Value: g.migrationInterface()},
	}, env...)...)
}

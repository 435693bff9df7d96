package novacell

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	novacellv1 "github.com/c5c3/crossplane-cobaltcore/apis/novacell/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// vncCertificates is the component of the certificates for VNC between the cell's proxies and its hypervisors (VeNCrypt).
const vncCertificates = "vnc-certificates"

// vncClient is the name suffix of the proxies' certificate, and the name of its volume.
const vncClient = "vnc-client"

func (m *model) usesVNC() bool { return m.spec.Consoles.Graphical == novav1.VNC }

// vncAuthority builds the authority of VNC connections and the certificate of the proxies. Each pool of hypervisors requests its own
// certificate. The authority signs nothing else: QEMU accepts each client with a certificate of it, and the proxies accept each server
// (nova.console.rfb.authvencrypt verifies no name).
func (m *model) vncAuthority() ([]compose.Stage, error) {
	selfSigned, ca := m.Sub("vnc-self-signed"), novacellv1.VNCIssuer(m.Name)
	issuer, client := common.IssuerReference{Name: common.ObjectName(ca), Kind: "Issuer"}, m.Sub(vncClient)
	return []compose.Stage{
		{{Name: "vnc-self-signed", Object: certificate.SelfSigned(m.Meta(selfSigned))}},
		{{Name: "vnc-ca", Object: certificate.Authority(m.Meta(ca), selfSigned), Retain: true}},
		{{Name: "vnc-issuer", Object: certificate.CAIssuer(m.Meta(ca), ca)}},
		{{
			Name:   "vnc-client-certificate",
			Object: certificate.VNCClient(m.Meta(client), issuer, client, m.Sub(vnc.name)+"."+m.Namespace+".svc"),
		}},
	}, nil
}

// vncCertificate returns the volume with the proxies' certificate. A proxy reads it for each connection, so that no pod restarts when it is
// renewed.
func (m *model) vncCertificate() service.Volume {
	return m.SecretVolume(vncClient, m.Sub(vncClient), certificate.CAKey, certificate.CertKey, certificate.KeyKey)
}

// vncEnv returns the options of connections to hypervisors. They are not in the configuration file, which other processes of the cell read,
// too. The hypervisor decides: a proxy uses the first scheme in the hypervisor's list that it accepts, and QEMU offers one.
// https://docs.openstack.org/nova/latest/admin/remote-console-access.html#vnc-proxy-security
func (m *model) vncEnv() []corev1.EnvVar {
	schemes := "vencrypt,none"
	if ptr.Deref(m.spec.Consoles.VNC, novav1.VNCConnections{}).TLS == novav1.TLSRequired {
		schemes = "vencrypt"
	}
	option := func(name, value string) corev1.EnvVar {
		return corev1.EnvVar{Name: oslo.MustEnvName("vnc", name), Value: value}
	}
	return []corev1.EnvVar{
		option("auth_schemes", schemes),
		option("vencrypt_ca_certs", m.Path(vncClient, certificate.CAKey)),
		option("vencrypt_client_cert", m.Path(vncClient, certificate.CertKey)),
		option("vencrypt_client_key", m.Path(vncClient, certificate.KeyKey)),
	}
}

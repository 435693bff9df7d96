package hypervisor

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// vncVolume is the volume with the certificate of VNC servers, vncFolder its path in the container of libvirt.
const (
	vncVolume = "vnc-certificate"
	vncFolder = "/etc/pki-vnc"
)

// The files of QEMU's configuration: without TLS for VNC, and with it. Both always exist, because a pod reads the current version of its
// file whenever its container starts: a pod of an earlier version has no certificate, and must not get the options for it.
const (
	qemuFile    = "qemu.conf"
	qemuVNCFile = "qemu-vnc.conf"
)

// vncConf lets VNC servers accept only clients with a certificate of the cell's authority, with TLS (VeNCrypt). libvirtd does not start
// without the folder, to which libvirt.sh copies the certificate. Servers keep the mode of their start.
// https://docs.openstack.org/nova/latest/admin/remote-console-access.html#vnc-proxy-security
const vncConf = `vnc_tls = 1
vnc_tls_x509_cert_dir = "/run/libvirt/pki/vnc"
vnc_tls_x509_verify = 1
`

// vncTLS reports whether VNC servers on nodes of the pool use TLS. With libvirt of the node's operating system, its owner configures them.
func (m *model) vncTLS() bool { return m.libvirtManaged() && m.plane.cell.VNCIssuerRef != nil }

// vncSecret returns the name of the pool's certificate for VNC. The Secret is in the control plane's namespace, as is its authority.
func (m *model) vncSecret() string { return m.instance + "-vnc" }

// vncCertificate builds the certificate of the pool's VNC servers. Nova's proxies verify its authority and no name, so that all nodes share
// one.
func (m *model) vncCertificate() compose.Resource {
	meta := object.Meta{Name: m.vncSecret(), Namespace: m.plane.Instance, Labels: m.meta(loginsName).Labels}
	return m.inPlaneCluster(compose.Resource{
		Name:   vncVolume,
		Object: certificate.VNCServer(meta, *m.plane.cell.VNCIssuerRef, m.instance, "vnc."+m.instance+".svc"),
	})
}

// mountVNC adds the certificate to a pod of libvirt, with the file names that QEMU expects. It is optional: the Secret is deleted if the
// cell gets other consoles, and a pod with the mount must still start after a restart of its node.
// https://www.qemu.org/docs/master/system/tls.html
func (m *model) mountVNC(pod *workload.Pod) {
	v := workload.SecretVolume(vncVolume, m.logins.Target(m.vncSecret()))
	for _, f := range [][2]string{
		{certificate.CAKey, "ca-cert.pem"}, {certificate.CertKey, "server-cert.pem"}, {certificate.KeyKey, "server-key.pem"},
	} {
		v.Secret.Items = append(v.Secret.Items, corev1.KeyToPath{Key: f[0], Path: f[1]})
	}
	v.Secret.Optional = new(true)
	pod.Volumes = append(pod.Volumes, v)
	c := &pod.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, workload.Mount(vncVolume, vncFolder))
}

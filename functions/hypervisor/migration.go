package hypervisor

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// migrationComponent is the PKI for live migration between nodes: the pool's own authority, and the certificate of its nodes.
const migrationComponent = "live-migration"

const (
	// migrationSecret is the Secret of the certificate that all nodes share if they have no separate ones.
	migrationSecret = migrationComponent + "-tls"
	// migrationVolumeName is the volume with the certificate in pods of libvirt.
	migrationVolumeName = "certificate"
	// libvirt expects certificates in pkiFolder. libvirt.sh makes links there to the certificate of the node in nodeCertificateFolder.
	pkiFolder             = "/etc/pki"
	nodeCertificateFolder = "/etc/node-certificate"
)

// QEMU sends memory and disks with a certificate of the same authority, so that it verifies QEMU of nodes of an earlier version, and the
// reverse. It has another common name, with which libvirt accepts no client: a guest that escapes from QEMU reads the key.
const (
	// emulatorName is the common name.
	emulatorName = "qemu"
	// emulatorSecret is the Secret of the certificate that all nodes share if they have no separate ones, and emulatorCertificate its composed
	// resource.
	emulatorSecret      = emulatorName + "-tls"
	emulatorCertificate = emulatorName + "-certificate"
	// emulatorIssuerResource is the composed resource of the NodeIssuer for certificates of QEMU.
	emulatorIssuerResource = emulatorName + "-node-issuer"
	// emulatorCertificateFolder has the certificate of the node.
	emulatorCertificateFolder = nodeCertificateFolder + "/" + emulatorName
)

// emulatorIssuer returns the name of the NodeIssuer for certificates of QEMU.
func (m *model) emulatorIssuer() string { return m.instance + "-" + emulatorName }

// nodeDomain returns the domain of the names by which nodes address each other. Each name is derived from an address:
// 10-20-0-5.NAMESPACE.pod. Cluster DNS resolves such a name to its address, so that no list of nodes is needed.
// https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
func (m *model) nodeDomain() string { return m.instance + ".pod" }

// migration builds the authority of libvirt and QEMU, and the issuer of their certificates.
func migration(m *model) ([]compose.Stage, error) { return m.nodeAuthority(migrationComponent), nil }

// mountMigration gives a pod of libvirt the certificate of the node.
func (m *model) mountMigration(g *group, p *workload.Pod) {
	c := &p.Containers[0]
	if !m.separatePeerCertificates(migrationComponent) {
		c.VolumeMounts = append(c.VolumeMounts, workload.Mount(migrationVolumeName, pkiFolder))
		p.Volumes = append(p.Volumes, migrationVolume())
		return
	}
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "pki", MountPath: pkiFolder})
	c.Env = append(c.Env, corev1.EnvVar{Name: "CERTIFICATE", Value: nodeCertificateFolder},
		corev1.EnvVar{Name: "EMULATOR_CERTIFICATE", Value: emulatorCertificateFolder})
	p.Volumes = append(p.Volumes, workload.MemoryScratch("pki", resource.MustParse("1Mi")))
	m.requestPeerCertificate(g, p, migrationComponent, migrationVolumeName, nodeCertificateFolder,
		corev1.EnvVar{Name: "EMULATOR_SIGNER", Value: c5c3v1.SignerName(m.plane.Instance, m.emulatorIssuer())},
		corev1.EnvVar{Name: "EMULATOR_NAME", Value: emulatorName},
	)
}

// migrationVolume returns the shared certificates: libvirt's where it expects it as a server and as a client, and QEMU's under the names
// that QEMU expects.
// https://libvirt.org/kbase/tlscerts.html, https://www.qemu.org/docs/master/system/tls.html
func migrationVolume() corev1.Volume {
	files := func(secret string, paths ...[2]string) corev1.VolumeProjection {
		p := &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}
		for _, f := range paths {
			p.Items = append(p.Items, corev1.KeyToPath{Key: f[0], Path: f[1]})
		}
		return corev1.VolumeProjection{Secret: p}
	}
	return corev1.Volume{Name: migrationVolumeName, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: new(int32(0o440)), //nolint:mnd // a file mode
		Sources: []corev1.VolumeProjection{
			files(migrationSecret,
				[2]string{certificate.CAKey, "CA/cacert.pem"},
				[2]string{certificate.CertKey, "libvirt/servercert.pem"}, [2]string{certificate.KeyKey, "libvirt/private/serverkey.pem"},
				[2]string{certificate.CertKey, "libvirt/clientcert.pem"}, [2]string{certificate.KeyKey, "libvirt/private/clientkey.pem"}),
			files(emulatorSecret,
				[2]string{certificate.CAKey, "qemu/ca-cert.pem"},
				[2]string{certificate.CertKey, "qemu/server-cert.pem"}, [2]string{certificate.KeyKey, "qemu/server-key.pem"},
				[2]string{certificate.CertKey, "qemu/client-cert.pem"}, [2]string{certificate.KeyKey, "qemu/client-key.pem"}),
		},
	}}}
}

// migrationInterface returns the interface for live migration on nodes of the group. Empty: the address of the node is used.
func (g *group) migrationInterface() string {
	return string(ptr.Deref(g.network.LiveMigration, hypervisorv1.LiveMigrationNetwork{}).Interface)
}

// Defaults of live migration. The schema cannot have them, because it sets no defaults below an absent liveMigration, which is usual.
const (
	defaultTimeoutAction = "Abort"
	defaultAutoConverge  = true
)

func (m *model) liveMigration() hypervisorv1.LiveMigration {
	return ptr.Deref(m.spec.Virtualization.LiveMigration, hypervisorv1.LiveMigration{})
}

// migrationOptions returns nova-compute's options of live migration. If the node's operating system runs libvirt, its configuration decides
// instead.
// https://docs.openstack.org/nova/latest/admin/secure-live-migration-with-qemu-native-tls.html
func (m *model) migrationOptions() oslo.Config {
	if !m.libvirtManaged() {
		return nil
	}
	l := m.liveMigration()
	c := oslo.Config{"DEFAULT": {}, "libvirt": {
		"live_migration_scheme": "tls", "live_migration_with_native_tls": true,
		"live_migration_permit_auto_converge": ptr.Deref(l.AllowAutoConverge, defaultAutoConverge),
		"live_migration_permit_post_copy":     l.AllowPostCopy,
		"live_migration_timeout_action": map[string]string{
			"Abort": "abort", "ForceComplete": "force_complete",
		}[cmp.Or(l.TimeoutAction, defaultTimeoutAction)],
	}}
	if l.BandwidthPerMigration != nil {
		c["libvirt"]["live_migration_bandwidth"] = int(l.BandwidthPerMigration.Value() / mebibyte)
	}
	if l.CompletionTimeoutPerGiB != nil {
		c["libvirt"]["live_migration_completion_timeout"] = int(*l.CompletionTimeoutPerGiB)
	}
	if l.MaxDowntimeMilliseconds != nil {
		c["libvirt"]["live_migration_downtime"] = int(*l.MaxDowntimeMilliseconds)
	}
	if l.ParallelOutboundMigrationsPerNode != nil {
		c["DEFAULT"]["max_concurrent_live_migrations"] = int(*l.ParallelOutboundMigrationsPerNode)
	}
	return c
}

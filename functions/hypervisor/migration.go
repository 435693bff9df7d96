package hypervisor

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// migrationComponent is what lets virtual machines move from node to node: the pool's own authority, and the certificate of its nodes.
const migrationComponent = "live-migration"

// migrationSecret has the certificate.
const migrationSecret = migrationComponent + "-tls"

// peers is the domain of the names by which nodes know each other, each of which follows from an address: 10-20-0-5.NAMESPACE.pod. Every
// pod has such a name in Kubernetes, and so it leads to the address of a node without anybody who keeps a list.
// https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
func (m *model) peers() string { return m.instance + ".pod" }

// migration builds the authority and the certificate of libvirt and QEMU.
func migration(m *model) ([]compose.Stage, error) { return m.nodeAuthority(migrationComponent), nil }

// migrationVolume has the certificate where libvirt looks for it as a server and as a client, and what is copied for QEMU, which knows it
// by other names (libvirt.sh).
// https://libvirt.org/kbase/tlscerts.html, https://www.qemu.org/docs/master/system/tls.html
func migrationVolume() corev1.Volume {
	v := workload.SecretVolume("certificate", migrationSecret)
	for _, f := range [][2]string{
		{certificate.CAKey, "CA/cacert.pem"},
		{certificate.CertKey, "libvirt/servercert.pem"}, {certificate.KeyKey, "libvirt/private/serverkey.pem"},
		{certificate.CertKey, "libvirt/clientcert.pem"}, {certificate.KeyKey, "libvirt/private/clientkey.pem"},
		{certificate.CAKey, "qemu/ca-cert.pem"},
		{certificate.CertKey, "qemu/server-cert.pem"}, {certificate.KeyKey, "qemu/server-key.pem"},
		{certificate.CertKey, "qemu/client-cert.pem"}, {certificate.KeyKey, "qemu/client-key.pem"},
	} {
		v.Secret.Items = append(v.Secret.Items, corev1.KeyToPath{Key: f[0], Path: f[1]})
	}
	return v
}

// migrationInterface of nodes of the group. Empty: they are reached at their own address.
func (g *group) migrationInterface() string {
	return string(ptr.Deref(g.network.LiveMigration, hypervisorv1.LiveMigrationNetwork{}).Interface)
}

func (m *model) liveMigration() hypervisorv1.LiveMigration {
	return ptr.Deref(m.spec.Virtualization.LiveMigration, hypervisorv1.LiveMigration{})
}

// migrationOptions are those of nova-compute, which says how. With libvirt of the node's operating system it is that which decides.
// https://docs.openstack.org/nova/latest/admin/secure-live-migration-with-qemu-native-tls.html
func (m *model) migrationOptions() oslo.Config {
	if !m.libvirtManaged() {
		return nil
	}
	l := m.liveMigration()
	c := oslo.Config{"DEFAULT": {}, "libvirt": {
		"live_migration_scheme": "tls", "live_migration_with_native_tls": true,
		"live_migration_permit_auto_converge": ptr.Deref(l.AllowAutoConverge, true), "live_migration_permit_post_copy": l.AllowPostCopy,
		"live_migration_timeout_action": map[string]string{"Abort": "abort", "ForceComplete": "force_complete"}[cmp.Or(l.TimeoutAction, "Abort")],
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

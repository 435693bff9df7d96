package cinder

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/ceph"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/volume"
)

// targetName is the name suffix of the backup target's objects, targetResource their resource name, and filesPath the folder of backups in
// pods.
const (
	targetName     = "backup-target"
	targetResource = "backup-target"
	filesPath      = "/var/lib/cinder/backup"
)

// publicCAs is the image's bundle of public CAs.
const publicCAs = "/etc/ssl/certs/ca-certificates.crt"

// A target is the place of backups, and the access of pods to it.
type target struct {
	secret     *c5c3v1.SecretAggregateSpec
	mounts     []service.Volume
	env        []corev1.EnvVar
	egress     []workload.Flow
	privileges []workload.Privilege
}

// findTarget derives the target of backups.
// https://docs.openstack.org/cinder/latest/configuration/block-storage/backup-drivers.html
func (m *model) findTarget() error {
	b := m.spec.Backup
	switch {
	case b == nil:
		return nil
	case b.S3 != nil:
		return m.backupToS3(b.S3)
	case b.Swift != nil:
		return m.backupToSwift(b.Swift)
	case b.Ceph != nil:
		return m.backupToPool()
	case b.RBD != nil:
		r, folder := b.RBD, m.backupToCeph(b.RBD.Pool, b.RBD.User)
		m.target.secret = cephClient(r.SecretRef, m.Sub(targetName), r.User, folder, cinderv1.CephConfigKey, cinderv1.CephKeyringKey)
		m.target.egress = []workload.Flow{ceph.Traffic(r.Networks)}
	case b.NFS != nil:
		v := share(targetName, b.NFS.Share)
		v.Folder = filesPath
		m.target.mounts, m.target.privileges = []service.Volume{v}, nfsPrivilege()
		m.backupToFiles()
	default:
		m.target.mounts = []service.Volume{{Folder: filesPath, Writable: true, Volume: corev1.Volume{
			Name: targetName, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: m.Sub(targetName)},
			},
		}}}
		m.backupToFiles()
	}
	return nil
}

// backupToFiles stores backups in a mounted folder.
func (m *model) backupToFiles() {
	m.target.set("backup_driver", "cinder.backup.drivers.posix.PosixBackupDriver")
	m.target.set("backup_posix_path", filesPath+"/backups")
}

// set sets an option for the pods of the backup service only.
func (t *target) set(option, value string) {
	t.env = append(t.env, corev1.EnvVar{Name: oslo.MustEnvName("DEFAULT", option), Value: value})
}

// backupToPool stores backups in a pool of a StorageCluster.
func (m *model) backupToPool() error {
	c, err := service.StorageClient(m.spec.StorageClients, cinderv1.BackupPlace)
	if err != nil {
		return err
	}
	folder := m.backupToCeph(c.Pool, c.User)
	m.target.secret = poolClient(c, m.Sub(targetName), folder, cinderv1.CephConfigKey, cinderv1.CephKeyringKey)
	m.target.egress = []workload.Flow{ceph.TrafficOf(c)}
	return nil
}

// backupToCeph stores backups in a Ceph pool, and returns the folder of the client's files.
func (m *model) backupToCeph(pool, user string) (folder string) {
	folder = m.Path(targetName)
	m.target.set("backup_driver", "cinder.backup.drivers.ceph.CephBackupDriver")
	m.target.set("backup_ceph_conf", folder+"/"+cinderv1.CephConfigKey)
	m.target.set("backup_ceph_user", user)
	m.target.set("backup_ceph_pool", pool)
	m.target.mounts = []service.Volume{m.SecretVolume(targetName, m.Sub(targetName))}
	return folder
}

func (m *model) backupToS3(s *cinderv1.S3) error {
	m.target.set("backup_driver", "cinder.backup.drivers.s3.S3BackupDriver")
	m.target.set("backup_s3_endpoint_url", s.Endpoint)
	m.target.set("backup_s3_store_bucket", s.Bucket)
	for _, k := range [][3]string{
		{"accessKeyID", cinderv1.S3AccessKeyIDKey, "backup_s3_store_access_key"},
		{"secretAccessKey", cinderv1.S3SecretAccessKeyKey, "backup_s3_store_secret_key"},
	} {
		source := service.Source(k[0], string(s.CredentialsSecretRef.Name), k[1])
		source.Escape = "OsloConfig"
		m.tenantSecretSource(source, k[1])
		m.target.env = append(m.target.env, workload.SecretEnv(oslo.MustEnvName("DEFAULT", k[2]), m.Sub(targetName), k[1]))
	}
	return m.objectStore(s.Endpoint, s.CASecretRef, "backup_s3_ca_cert_file")
}

// backupToSwift stores backups of each project in its own account, with the token of the requesting user. With a single account for all,
// the object store would receive tokens of Cinder's own user, which has administrative rights; and the driver would log in with a password,
// which is not rotated. The URL is from the claim instead of the catalog, which administrators of the cloud can change.
// https://docs.openstack.org/cinder/latest/configuration/block-storage/backup/swift-backup-driver.html
func (m *model) backupToSwift(s *cinderv1.Swift) error {
	m.target.set("backup_driver", "cinder.backup.drivers.swift.SwiftBackupDriver")
	m.target.set("backup_swift_auth", "per_user")
	m.target.set("backup_swift_container", s.Container)
	m.target.set("backup_swift_url", s.URL)
	return m.objectStore(s.URL, s.CASecretRef, "backup_swift_ca_cert_file")
}

// objectStore allows egress to an object store, and configures its CA with the given option.
func (m *model) objectStore(endpoint string, ca *common.SecretKeyReference, option string) error {
	authority := publicCAs
	if ca != nil {
		const file = "ca.crt"
		m.tenantSecretSource(service.Source("ca", string(ca.Name), string(ca.Key)), file)
		m.target.mounts = []service.Volume{m.SecretVolume(targetName, m.Sub(targetName), file)}
		authority = m.Path(targetName, file)
	}
	m.target.set(option, authority)
	flow, err := workload.ExternalEgress(endpoint)
	if err != nil {
		return fmt.Errorf("cannot find the port of the object store: %w", err)
	}
	m.target.egress = []workload.Flow{flow}
	return nil
}

// tenantSecretSource adds a value of a tenant's Secret to the target's Secret, under a key.
func (m *model) tenantSecretSource(source c5c3v1.SecretSource, key string) {
	if m.target.secret == nil {
		m.target.secret = &c5c3v1.SecretAggregateSpec{
			TargetSecretName: common.ObjectName(m.Sub(targetName)), Template: map[string]c5c3v1.SecretTemplate{},
		}
	}
	m.target.secret.Sources = append(m.target.secret.Sources, source)
	m.target.secret.Template[key] = c5c3v1.SecretTemplate("{{ ." + source.Name + " }}")
}

// backupService returns the process that backs up the volumes of a zone. It reads and writes the volumes of all backends itself.
func (m *model) backupService(observed observe.State, zone string, isDefault bool) service.Process {
	t := m.target
	p := service.Process{
		Process: m.spec.Backup.Process, Name: backup, Component: backup, Title: "Cinder's backup service", Command: []string{"cinder-backup"},
		Outage:                 "backups cannot be created or restored",
		TerminationGracePeriod: backupTerminationGracePeriod, Env: append([]corev1.EnvVar{programsEnv}, t.env...),
		Mounts: slices.Clone(t.mounts), Egress: slices.Clone(t.egress),
	}
	if zone != volume.NovaZone {
		p.Env = append(p.Env, corev1.EnvVar{Name: oslo.MustEnvName("DEFAULT", "storage_availability_zone"), Value: zone})
	}
	if !isDefault {
		p.Name, p.Title = backup+"-"+service.Hash(zone), p.Title+" in zone "+zone
	}
	p = m.daemon(p)
	m.attach(&p, observed, m.backends...)
	if len(p.Privileges) == 0 {
		p.Privileges = t.privileges
	}
	if t.secret != nil {
		maps.Copy(p.Annotations, service.StartupAnnotations(observed, p.Name, readAtStart(targetResource)))
	}
	return p
}

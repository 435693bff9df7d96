package cinder

import (
	"crypto/md5" //nolint:gosec // Cinder derives folder names with it; it protects nothing.
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/ceph"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/volume"
)

// Folders of pods that store volumes or backups.
const (
	scratchPath = "/var/lib/cinder/conversion"
	statePath   = "/tmp"
	// mountsPath is Cinder's default folder of share mounts, below state_path.
	mountsPath   = statePath + "/mnt"
	programsPath = "/opt/cinder/bin"
	// cephPath is the only folder in which os-brick looks for a user's keys when Cinder itself attaches volumes
	// (os_brick.initiator.connectors.rbd).
	cephPath = "/etc/ceph"
)

// sharing is the cluster name of managers that share the volumes of a backend. The volumes are recorded under it.
const sharing = cinderv1.ServiceName

// A backend stores volumes; options is its section of cinder.conf.
type backend struct {
	cinderv1.Backend
	// name is the name suffix of its objects.
	name    string
	options oslo.Options
	// secret is the Secret of a Ceph client, nil for other backends.
	secret *c5c3v1.SecretAggregateSpec
	// mounts are shares that nodes mount for pods, and files has the list of them.
	mounts []service.Volume
	files  []service.ExtraFile
	flow   workload.Flow
	// shared reports whether several managers share its volumes.
	shared bool
}

// process returns the name of the backend's manager processes.
func (b *backend) process() string { return volumes + "-" + b.name }

// findBackends derives the backends.
func (m *model) findBackends() error {
	for _, spec := range m.spec.Backends {
		b := backend{Backend: spec, name: volume.ObjectName(spec.Name), options: oslo.Options{"volume_backend_name": spec.Name}}
		b.shared = volume.Shares(spec) && m.spec.Coordination != nil
		if spec.AvailabilityZone != "" {
			b.options["backend_availability_zone"] = spec.AvailabilityZone
		}
		var err error
		switch {
		case spec.NFS != nil:
			m.nfs(&b)
		case spec.Ceph != nil:
			err = m.pool(&b)
		default:
			m.cluster(&b)
		}
		if err != nil {
			return err
		}
		m.backends = append(m.backends, b)
	}
	return nil
}

// cluster configures a backend in a Ceph pool whose client the claim references.
func (m *model) cluster(b *backend) {
	r := b.RBD
	config, keyring := b.rbd(r.Pool, r.User, volume.SecretUUID(m.Namespace, m.Name, b.Name))
	b.secret = cephClient(r.SecretRef, volume.ClientSecret(m.Name, b.Name), r.User, cephPath, config, keyring)
	b.flow = ceph.Traffic(r.Networks)
}

// pool configures a backend in a pool of a StorageCluster, which provides the UUID of its user's key in libvirt.
func (m *model) pool(b *backend) error {
	c, err := service.StorageClient(m.spec.StorageClients, cinderv1.PlaceOf(b.Name))
	if err != nil {
		return err
	}
	config, keyring := b.rbd(c.Pool, c.User, c.SecretUUID)
	b.secret = poolClient(c, volume.ClientSecret(m.Name, b.Name), cephPath, config, keyring)
	b.flow = ceph.TrafficOf(c)
	return nil
}

// rbd sets the options of a Ceph pool, and returns the names of the client's files, which differ between backends.
// https://docs.openstack.org/cinder/latest/configuration/block-storage/drivers/ceph-rbd-volume-driver.html
func (b *backend) rbd(pool, user, secretUUID string) (config, keyring string) {
	config, keyring = b.Name+".ceph", volume.Keyring(b.Name, user)
	// Otherwise a manager would wait for its monitors forever.
	maps.Copy(b.options, (oslo.Options{
		"volume_driver":    "cinder.volume.drivers.rbd.RBDDriver",
		"rbd_pool":         pool,
		"rbd_user":         user,
		"rbd_ceph_conf":    path.Join(cephPath, config),
		"rbd_cluster_name": b.Name,
		"rbd_secret_uuid":  secretUUID,

		"rados_connect_timeout":            5,
		"rbd_flatten_volume_from_snapshot": false,
		"report_discard_supported":         true,
	}))
	return config, keyring
}

// poolClient returns the equivalent of cephClient for the user of a StorageCluster's pool.
func poolClient(c *common.StorageClient, name, folder, config, keyring string) *c5c3v1.SecretAggregateSpec {
	return &c5c3v1.SecretAggregateSpec{
		TargetSecretName: common.ObjectName(name),
		Sources:          []c5c3v1.SecretSource{service.Source(ceph.KeySource, c.SecretName, rook.UserKey)},
		Template:         ceph.FilesOf(c, folder, config, keyring),
	}
}

// cephClient returns a Secret with the files of a Ceph client in a folder.
func cephClient(from common.SecretReference, name, user, folder, config, keyring string) *c5c3v1.SecretAggregateSpec {
	return &c5c3v1.SecretAggregateSpec{
		TargetSecretName: common.ObjectName(name),
		Sources: []c5c3v1.SecretSource{
			service.Source(ceph.ConfigSource, string(from.Name), cinderv1.CephConfigKey),
			service.Source(ceph.KeyringSource, string(from.Name), cinderv1.CephKeyringKey),
		},
		Template: ceph.Files(user, folder, config, keyring),
	}
}

// nfs configures shares that the nodes of the pods mount: mounting one itself requires a privileged pod, and the driver accepts mounted
// shares. https://docs.openstack.org/cinder/latest/configuration/block-storage/drivers/nfs-volume-driver.html
func (m *model) nfs(b *backend) {
	file := b.Name + ".shares"
	var shares strings.Builder
	for i, s := range b.NFS.Shares {
		shares.WriteString(string(s))
		if b.NFS.MountOptions != "" {
			shares.WriteString(" -o " + b.NFS.MountOptions)
		}
		shares.WriteString("\n")
		b.mounts = append(b.mounts, share(fmt.Sprintf("%s-%d", b.name, i), s))
	}
	b.files = []service.ExtraFile{{Name: file, Text: shares.String()}}
	// Pods do not run as root, and files belong to the pod's user.
	maps.Copy(b.options, (oslo.Options{
		"volume_driver":     "cinder.volume.drivers.nfs.NfsDriver",
		"nfs_shares_config": m.Path(file),

		"nas_secure_file_operations":  true,
		"nas_secure_file_permissions": true,
		"nfs_snapshot_support":        true,
	}))
	b.flow = nfsTraffic
}

// share returns a volume with a share of an NFS server, at the path where Cinder would mount it.
func share(name string, address cinderv1.NFSShare) service.Volume {
	hash := md5.Sum([]byte(address)) //nolint:gosec // See above.
	source := &corev1.NFSVolumeSource{Server: strings.Trim(volume.Server(address), "[]"), Path: volume.Folder(address)}
	return service.Volume{Folder: path.Join(mountsPath, hex.EncodeToString(hash[:])), Writable: true, Volume: corev1.Volume{
		Name: name, VolumeSource: corev1.VolumeSource{NFS: source},
	}}
}

// nfsTraffic is empty: the node connects to the server, and network policies of a pod do not apply to it.
var nfsTraffic = workload.Flow{}

// nfsPrivilege returns the reason for a volume type that the restricted Pod Security Standard does not allow.
func nfsPrivilege() []workload.Privilege {
	return []workload.Privilege{{
		Container: cinderv1.ServiceName,
		Reason:    "its node mounts the shares of an NFS server for it, which nothing else can without being privileged",
	}}
}

// manager returns the manager process of a backend: a single one, or the requested number if they share its volumes.
func (m *model) manager(observed observe.State, b backend) service.Process {
	name := b.process()
	requested := ptr.Deref(b.Volume, m.spec.Volume)
	if !b.shared {
		requested.Replicas = new(int32(1))
	}
	p := m.daemon(service.Process{
		Process: requested, Name: name, Component: volumes, Title: "Cinder's manager of " + b.Name, Command: []string{"cinder-volume"},
		Outage:                 "volumes of this backend cannot be created, attached or detached; attached volumes keep working",
		TerminationGracePeriod: volumeTerminationGracePeriod,
		Env:                    []corev1.EnvVar{{Name: oslo.MustEnvName("DEFAULT", "enabled_backends"), Value: b.Name}, programsEnv},
	})
	if b.shared {
		p.Env = append(p.Env, corev1.EnvVar{Name: oslo.MustEnvName("DEFAULT", "cluster"), Value: sharing})
	}
	m.attach(&p, observed, b)
	return p
}

// attach adds files, mounts and egress for some backends to a process.
func (m *model) attach(p *service.Process, observed observe.State, backends ...backend) {
	p.Mounts = append(p.Mounts, m.programsVolume(), service.Volume{
		Folder: scratchPath, Writable: true, Volume: workload.Scratch("conversion", m.conversion),
	})
	var clients []corev1.VolumeProjection
	var reads []service.StartupInput
	for _, b := range backends {
		if b.secret != nil {
			clients = append(clients, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: string(b.secret.TargetSecretName)},
			}})
			reads = append(reads, readAtStart(backendResource(b)))
			p.Egress = append(p.Egress, b.flow)
		}
		for _, v := range b.mounts {
			p.Mounts = append(p.Mounts, v)
			p.Privileges = nfsPrivilege()
		}
	}
	if len(clients) > 0 {
		const groupReads = 0o440
		p.Mounts = append(p.Mounts, service.Volume{Folder: cephPath, Volume: corev1.Volume{
			Name: "ceph", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: clients, DefaultMode: ptr.To[int32](groupReads),
			}},
		}})
	}
	p.Annotations = service.StartupAnnotations(observed, p.Name, reads...)
}

// readAtStart returns the startup input of a Secret that pods read at startup.
func readAtStart(resource string) service.StartupInput {
	return service.StartupInput{Resource: resource, Path: []string{"status", "contentHash"}, Annotation: cinderv1.Group + "/" + resource}
}

func backendResource(b backend) string { return "backend-" + b.name }

// storage builds the Secrets and volumes for access to volumes and backups. Volumes outlive the Cinder.
func storage(m *model) ([]compose.Stage, error) {
	var stage compose.Stage
	for _, b := range m.backends {
		if b.secret != nil {
			stage = append(stage, compose.Resource{
				Name: backendResource(b), Object: c5c3.SecretAggregate(m.Meta(string(b.secret.TargetSecretName)), *b.secret),
			})
		}
	}
	if s := m.target.secret; s != nil {
		stage = append(stage, compose.Resource{Name: targetResource, Object: c5c3.SecretAggregate(m.Meta(string(s.TargetSecretName)), *s)})
	}
	if b := m.spec.Backup; b != nil && b.File != nil {
		f := b.File
		stage = append(stage, compose.Resource{
			Name: targetResource, Retain: true,
			Object: workload.SharedVolume(m.Meta(m.Sub(targetName)), string(f.StorageClass), f.StorageSize, f.AccessMode),
		})
	}
	return []compose.Stage{stage}, nil
}

// sudo replaces the program of that name.
//
//go:embed sudo.sh
var sudo string

// programs returns the ConfigMap of the programs, named by the hash of its contents.
func (m *model) programs() compose.Resource {
	files := map[string]string{"sudo": sudo, typesFile: typesScript}
	suffix := "programs-" + service.HashOf(files)
	return compose.Resource{Name: suffix, Object: m.Workload.ConfigMap(m.Sub(suffix), files), Revisions: "programs"}
}

func (m *model) programsVolume() service.Volume {
	const executable = 0o555
	return service.Volume{Folder: programsPath, Volume: corev1.Volume{Name: "programs", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: m.Sub(m.programs().Name)}, DefaultMode: ptr.To[int32](executable),
		},
	}}}
}

// programsEnv is the search path: our programs first, then the image's.
var programsEnv = corev1.EnvVar{
	Name: "PATH", Value: programsPath + ":/opt/openstack/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}

// backendStates returns the reported state of the backends.
func (m *model) backendStates(plan compose.Plan) []cinderv1.BackendStatus {
	out := make([]cinderv1.BackendStatus, len(m.backends))
	for i, b := range m.backends {
		out[i] = cinderv1.BackendStatus{Name: b.Name, Phase: common.ComponentWaiting}
		part, ok := plan.ComponentStatus(volumes)
		switch {
		case !ok || !part.Exists():
		case part.IsReady():
			out[i].Phase = common.ComponentReady
		default:
			out[i].Phase = common.ComponentCreating
		}
		m.reportCapacity(&out[i])
	}
	return out
}

// publicEndpoint returns the public address without the version.
func publicEndpoint(url string) string { return strings.TrimSuffix(url, cinderv1.Version) }

// Package cinder derives the composite resource of Cinder from a claim.
package cinder

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/volume"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
)

// Service is Cinder, the block storage service.
type Service struct{ services.Defaults }

// Info returns the properties that do not depend on a claim.
func (Service) Info() services.Info {
	return services.Info{
		Name: cinderv1.ServiceName, Kind: cinderv1.GroupVersionKind, Phase: common.PhaseCoreServices,
		Needs:      []string{services.CatalogComponent, infrastructure.MessagingComponent, infrastructure.LocksComponent, glancev1.ServiceName},
		PublicPath: "/volume", Version: cinderv1.Version, Internal: cinderv1.InternalURL, CompanionPorts: []int32{cinderv1.Port},
	}
}

// Requested returns the settings of a claim.
func (Service) Requested(s *controlplanev1.Services) services.Requested {
	c := s.Cinder
	if c == nil || !c.Enabled {
		return services.Requested{}
	}
	return services.Requested{Enabled: true, Basics: c.Service, Workload: services.APIWorkload(c.API, c.Placement), UWSGI: c.UWSGI}
}

// Conditions lists conditions of the claim that do not affect its readiness.
func (Service) Conditions() []services.Condition {
	return []services.Condition{{Type: cinderv1.CephConnected, Verdict: cephConnected}}
}

// Derive returns the model of the enabled service.
func (Service) Derive(m *services.Cloud, s *services.State) services.Model {
	return model{services.Common{Cloud: m, State: s}}
}

// model is the derived state of Cinder.
type model struct{ services.Common }

// Object returns the composite resource of the block storage service.
func (x model) Object() (runtime.Object, error) {
	m, s := x.Cloud, x.State
	c := m.Spec.Services.Cinder
	out := &cinderv1.Cinder{
		TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name),
		Spec: cinderv1.CinderSpec{
			ServiceSpec: m.QueuedServiceSpec(s), Placement: c.Placement, Identity: m.IdentitySpec(), Queue: m.QueueSpec(),
			KeyManager: m.KeyManager(),
			Storage:    volumeStorage(m, s), StorageClients: m.StorageClients(s.Name),
			API: m.Process(c.API), Scheduler: m.Daemon(c.Scheduler), Volume: manager(m, nil),
			Archive: ptr.Deref(c.Archive, common.Archive{}), UWSGI: s.Processes(),
		},
	}
	if m.Locks() {
		out.Spec.Coordination = &cinderv1.Coordination{
			BindingSecretRef: common.SecretReference{Name: infrastructure.ValkeyName + "-binding"}, Sentinel: m.Store.Sentinel,
		}
	}
	return out, nil
}

// manager returns the settings of the managers of a backend: from the backend, from all backends, and from the size, in this order. The
// default is two managers, because each can do all work of the other; without locks across pods it is one.
func manager(m *services.Cloud, own *common.Process) common.Process {
	const onePlusOne = 2
	out := m.Worker(nil)
	out.Replicas = new(min(m.Size.Daemons, onePlusOne))
	if !m.Locks() {
		out.Replicas = new(int32(1))
	}
	return claim.MergeProcess(out, []*common.Process{own, m.Spec.Services.Cinder.Volume})
}

// volumeStorage returns the settings of volumes and backups with defaults for every process. Backups use the platform's storage class if
// the claim sets none; an existing volume keeps its class.
func volumeStorage(m *services.Cloud, s *services.State) cinderv1.Storage {
	out := *m.Spec.Services.Cinder.Storage.DeepCopy()
	for i := range out.Backends {
		if b := &out.Backends[i]; b.Volume != nil {
			b.Volume = new(manager(m, b.Volume))
		}
	}
	if b := out.Backup; b != nil {
		b.Process = backupPods(m, b)
		if f := b.File; f != nil {
			class := string(m.Platform.StorageClass)
			if s.Observed.Map("spec", "backup", "file") != nil {
				class = s.Observed.String("spec", "backup", "file", "storageClass")
			}
			f.StorageClass = cmp.Or(f.StorageClass, common.ObjectName(class))
		}
	}
	return out
}

// backupPods returns the settings of the backup service. The default is one pod if its volume supports a single pod only.
func backupPods(m *services.Cloud, b *cinderv1.Backup) common.Process {
	out := m.Worker(nil)
	if b.File != nil && b.File.AccessMode == volume.ReadWriteOnce {
		out.Replicas = new(int32(1))
	}
	return claim.MergeProcess(out, []*common.Process{&b.Process})
}

// managersOf returns the settings of the managers of a backend. A backend that cannot be shared has one.
func managersOf(m *services.Cloud, b cinderv1.Backend) common.Process {
	out := manager(m, b.Volume)
	if !volume.Shares(b) {
		out.Replicas = new(int32(1))
	}
	return out
}

// Pods returns the costs of all processes.
func (x model) Pods() []cost.Item {
	m, s := x.Cloud, x.State
	c := m.Spec.Services.Cinder
	of := func(field string, p common.Process) cost.Item {
		return cost.Item{Field: s.FieldPath(field), Replicas: *p.Replicas, Resources: openstack.Resources(p), Short: true}
	}
	out := []cost.Item{
		of(".api", m.Process(c.API)), of(".scheduler", m.Daemon(c.Scheduler)),
		{Field: s.FieldPath(""), Processes: ptr.Deref(s.UWSGI, common.UWSGI{}).Processes},
	}
	for i, b := range c.Backends {
		field := ".volume"
		if b.Volume != nil {
			field = fmt.Sprintf(".backends[%d].volume", i)
		}
		managers := of(field, managersOf(m, b))
		out = append(out, managers, cost.Item{
			Field: s.FieldPath(".conversionSize"), Exact: true, Replicas: managers.Replicas, Scratch: c.ConversionSize,
		})
	}
	if c.Backup != nil {
		for range volume.Zones(&c.Storage) { // Each zone has its own pods.
			out = append(out, of(".backup", backupPods(m, c.Backup)))
		}
	}
	return out
}

// Volumes returns the costs of the volume for backups, if one is used.
func (x model) Volumes() []cost.Item {
	m, s := x.Cloud, x.State
	b := m.Spec.Services.Cinder.Backup
	if b == nil || b.File == nil {
		return nil
	}
	return []cost.Item{{Field: s.FieldPath(".backup.file"), Replicas: 1, Storage: b.File.StorageSize, Program: minimum.VolumeBackup}}
}

// Connections returns the maximum number of database connections: in addition to the threads of the API, each daemon has a worker
// process and a parent process.
func (x model) Connections() int64 {
	m, s := x.Cloud, x.State
	c := m.Spec.Services.Cinder
	const processes = 2
	out := s.Threads() + processes*claim.PoolConnections(m.Daemon(c.Scheduler))
	for _, b := range c.Backends {
		out += processes * claim.PoolConnections(managersOf(m, b))
	}
	if c.Backup != nil {
		out += processes * claim.PoolConnections(backupPods(m, c.Backup)) * int64(len(volume.Zones(&c.Storage)))
	}
	return out
}

// IsUnrestricted reports whether nodes mount shares of an NFS server for pods.
func (x model) IsUnrestricted() bool {
	c := x.Cloud.Spec.Services.Cinder
	return slices.ContainsFunc(c.Backends, func(b cinderv1.Backend) bool { return b.NFS != nil }) || c.Backup != nil && c.Backup.NFS != nil
}

// Locations lists where backends store volumes and where backups are stored.
func (x model) Locations() []bounds.Location {
	m, s := x.Cloud, x.State
	var out []bounds.Location
	for i, b := range m.Spec.Services.Cinder.Backends {
		field := s.FieldPath(fmt.Sprintf(".backends[%d]", i))
		switch {
		case b.Ceph != nil:
			out = append(out, bounds.PoolLocation(field+".ceph", b.Ceph))
		case b.RBD != nil:
			out = append(out, bounds.CephLocation(field+".rbd", b.RBD.Pool, "volumes", b.RBD.SecretRef))
		case b.NFS != nil:
			for j, share := range b.NFS.Shares {
				out = append(out, bounds.ShareLocation(fmt.Sprintf("%s.nfs.shares[%d]", field, j), string(share)))
			}
		}
	}
	switch b := ptr.Deref(m.Spec.Services.Cinder.Backup, cinderv1.Backup{}); {
	case b.Ceph != nil:
		out = append(out, bounds.PoolLocation(s.FieldPath(".backup.ceph"), b.Ceph))
	case b.RBD != nil:
		out = append(out, bounds.CephLocation(s.FieldPath(".backup.rbd"), b.RBD.Pool, "backups", b.RBD.SecretRef))
	case b.S3 != nil:
		out = append(out, bounds.BucketLocation(s.FieldPath(".backup.s3"), b.S3.Endpoint, b.S3.Bucket, ""))
	case b.NFS != nil:
		out = append(out, bounds.ShareLocation(s.FieldPath(".backup.nfs.share"), string(b.NFS.Share)))
	}
	return out
}

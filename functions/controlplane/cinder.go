package controlplane

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/volume"
)

// cinder builds the composite resource of the block storage service.
func cinder(m *model, s *serviceState) runtime.Object {
	c := m.spec.Services.Cinder
	out := &cinderv1.Cinder{
		TypeMeta: s.typeMeta(), ObjectMeta: m.objectMeta(s.name),
		Spec: cinderv1.CinderSpec{
			ServiceSpec: m.queuedServiceSpec(s), Placement: c.Placement, Identity: m.identitySpec(), Queue: m.queueSpec(), KeyManager: m.keyManager(),
			Storage: m.volumeStorage(s), StorageClients: m.storageClients(s),
			API: m.process(c.API), Scheduler: m.daemon(c.Scheduler), Volume: m.manager(nil),
			Archive: ptr.Deref(c.Archive, common.Archive{}), UWSGI: s.processes(),
		},
	}
	if m.locks() {
		out.Spec.Coordination = &cinderv1.Coordination{
			BindingSecretRef: common.SecretReference{Name: valkeyName + "-binding"}, Sentinel: m.store.sentinel,
		}
	}
	return out
}

// cinderAPI returns the settings of the API's pods as a Workload.
func cinderAPI(c *controlplanev1.Cinder) common.Workload {
	return *openstack.PlacedWorkload(ptr.Deref(c.API, common.Process{}), c.Placement)
}

// manager returns the settings of the managers of a backend: from the backend, from all backends, and from the size, in this order. The
// default is two managers, because each can do all work of the other; without locks across pods it is one.
func (m *model) manager(own *common.Process) common.Process {
	const onePlusOne = 2
	out := m.worker(nil)
	out.Replicas = new(min(m.size.daemons, onePlusOne))
	if !m.locks() {
		out.Replicas = new(int32(1))
	}
	return mergeProcess(out, []*common.Process{own, m.spec.Services.Cinder.Volume})
}

// volumeStorage returns the settings of volumes and backups with defaults for every process. Backups use the platform's storage class if
// the claim sets none; an existing volume keeps its class.
func (m *model) volumeStorage(s *serviceState) cinderv1.Storage {
	out := *m.spec.Services.Cinder.Storage.DeepCopy()
	for i := range out.Backends {
		if b := &out.Backends[i]; b.Volume != nil {
			b.Volume = new(m.manager(b.Volume))
		}
	}
	if b := out.Backup; b != nil {
		b.Process = m.backupPods(b)
		if f := b.File; f != nil {
			class := string(m.platform.StorageClass)
			if s.observed.Map("spec", "backup", "file") != nil {
				class = s.observed.String("spec", "backup", "file", "storageClass")
			}
			f.StorageClass = cmp.Or(f.StorageClass, common.ObjectName(class))
		}
	}
	return out
}

// backupPods returns the settings of the backup service. The default is one pod if its volume supports a single pod only.
func (m *model) backupPods(b *cinderv1.Backup) common.Process {
	out := m.worker(nil)
	if b.File != nil && b.File.AccessMode == volume.ReadWriteOnce {
		out.Replicas = new(int32(1))
	}
	return mergeProcess(out, []*common.Process{&b.Process})
}

func checkCinder(m *model, s *serviceState, r release.Release) error {
	c := m.spec.Services.Cinder
	spec, storage := s.spec(), *c.Storage.DeepCopy()
	volume.SetDefaults(&storage)
	spec.Workload, spec.MemoryField = openstack.PlacedWorkload(m.process(c.API), c.Placement), "api.memory"
	spec.Groups = volume.Groups(storage.Backends)
	errs := []error{m.checkQueue(s), volume.Check(s.field(""), r, spec, &storage, c.Volume, m.locks())}
	if s.observed.Map("spec", "coordination") != nil && !m.locks() {
		errs = append(errs, invalid.Field("spec.infrastructure.valkey.enabled",
			"cannot be disabled, because volume managers share its locks; keep it enabled"))
	}
	if c.API != nil { // All services check the memory themselves.
		errs = append(errs, openstack.CheckAmounts(s.field(".api"), *c.API))
	}
	for field, requested := range map[string]*common.Process{".scheduler": c.Scheduler, ".volume": c.Volume} {
		if requested != nil {
			errs = append(errs, openstack.CheckProcess(s.field(field), *requested))
		}
	}
	if b := c.Backup; b != nil && b.S3 != nil {
		errs = append(errs, checkObjectStore(s.field(".backup.s3"), b.S3.Endpoint, "", b.S3.Bucket, b.S3.CASecretRef != nil))
	}
	errs = append(errs, minimum.CheckStorage(s.field(".conversionSize"), minimum.ImageConversion, c.ConversionSize))
	if a := c.Archive; a != nil && a.Schedule != "" {
		errs = append(errs, identity.CheckSchedule(s.field(".archive.schedule"), a.Schedule))
	}
	return errors.Join(errs...)
}

// managersOf returns the settings of the managers of a backend. A backend that cannot be shared has one.
func (m *model) managersOf(b cinderv1.Backend) common.Process {
	out := m.manager(b.Volume)
	if !volume.Shares(b) {
		out.Replicas = new(int32(1))
	}
	return out
}

// cinderPods returns the costs of all processes.
func cinderPods(m *model, s *serviceState) []costItem {
	c := m.spec.Services.Cinder
	of := func(field string, p common.Process) costItem {
		return costItem{field: s.field(field), replicas: *p.Replicas, resources: openstack.Resources(p), short: true}
	}
	out := []costItem{
		of(".api", m.process(c.API)), of(".scheduler", m.daemon(c.Scheduler)),
		{field: s.field(""), processes: ptr.Deref(s.uwsgi, common.UWSGI{}).Processes},
	}
	for i, b := range c.Backends {
		field := ".volume"
		if b.Volume != nil {
			field = fmt.Sprintf(".backends[%d].volume", i)
		}
		out = append(out, of(field, m.managersOf(b)))
	}
	if c.Backup != nil {
		for range volume.Zones(&c.Storage) { // Each zone has its own pods.
			out = append(out, of(".backup", m.backupPods(c.Backup)))
		}
	}
	return out
}

// cinderVolumes returns the costs of the volume for backups, if one is used.
func cinderVolumes(m *model, s *serviceState) []costItem {
	b := m.spec.Services.Cinder.Backup
	if b == nil || b.File == nil {
		return nil
	}
	return []costItem{{field: s.field(".backup.file"), replicas: 1, storage: b.File.StorageSize, program: minimum.VolumeBackup}}
}

// cinderConnections returns the maximum number of database connections: in addition to the threads of the API, each daemon has a worker
// process and a parent process.
func cinderConnections(m *model, s *serviceState) int64 {
	c := m.spec.Services.Cinder
	const processes = 2
	out := s.threads() + processes*daemonsOf(m.daemon(c.Scheduler))
	for _, b := range c.Backends {
		out += processes * daemonsOf(m.managersOf(b))
	}
	if c.Backup != nil {
		out += processes * daemonsOf(m.backupPods(c.Backup)) * int64(len(volume.Zones(&c.Storage)))
	}
	return out
}

// cinderSecrets lists the Secrets of Ceph clients and of the object store for backups.
func cinderSecrets(s *controlplanev1.Services) []secretReference {
	if s.Cinder == nil || !s.Cinder.Enabled {
		return nil // A disabled service needs no Secret.
	}
	var out []secretReference
	add := func(name *common.ObjectName, field string, keys ...string) {
		out = append(out, secretReference{name: name, field: "spec.services.cinder." + field, keys: keys})
	}
	for i := range s.Cinder.Backends {
		if r := s.Cinder.Backends[i].RBD; r != nil {
			add(&r.SecretRef.Name, fmt.Sprintf("backends[%d].rbd.secretRef", i), cinderv1.CephConfigKey, cinderv1.CephKeyringKey)
		}
	}
	if b := s.Cinder.Backup; b != nil && b.RBD != nil {
		add(&b.RBD.SecretRef.Name, "backup.rbd.secretRef", cinderv1.CephConfigKey, cinderv1.CephKeyringKey)
	}
	if b := s.Cinder.Backup; b != nil && b.S3 != nil {
		add(&b.S3.CredentialsSecretRef.Name, "backup.s3.credentialsSecretRef", cinderv1.S3AccessKeyIDKey, cinderv1.S3SecretAccessKeyKey)
		if ca := b.S3.CASecretRef; ca != nil {
			add(&ca.Name, "backup.s3.caSecretRef", string(ca.Key))
		}
	}
	if b := s.Cinder.Backup; b != nil && b.Swift != nil {
		if ca := b.Swift.CASecretRef; ca != nil {
			add(&ca.Name, "backup.swift.caSecretRef", string(ca.Key))
		}
	}
	return out
}

// cinderPools lists the pools of backends and of backups.
func cinderPools(s *controlplanev1.Services) []poolReference {
	if s.Cinder == nil || !s.Cinder.Enabled {
		return nil
	}
	var out []poolReference
	for i, b := range s.Cinder.Backends {
		if p := b.Ceph; p != nil {
			out = append(out, poolReference{
				place: cinderv1.PlaceOf(b.Name), field: fmt.Sprintf("spec.services.cinder.backends[%d].ceph", i), pool: *p,
				user: storagev1.ServiceCinder,
			})
		}
	}
	if b := s.Cinder.Backup; b != nil && b.Ceph != nil {
		out = append(out, poolReference{
			place: cinderv1.BackupPlace, field: "spec.services.cinder.backup.ceph", pool: *b.Ceph, user: storagev1.ServiceCinderBackup,
		})
	}
	return out
}

// cinderHypervisorAccess adds the locations of volumes. A backend whose pool is not known yet is skipped.
func cinderHypervisorAccess(m *model, s *serviceState, to *controlplanev1.HypervisorAccess) {
	storage, clients := *m.spec.Services.Cinder.Storage.DeepCopy(), m.storageClients(s)
	volume.SetDefaults(&storage)
	for _, b := range storage.Backends {
		access := controlplanev1.VolumeAccess{Backend: b.Name}
		switch {
		case b.RBD != nil:
			access.User, access.SecretUUID = b.RBD.User, volume.SecretUUID(m.instance, s.name, b.Name)
		case b.Ceph != nil:
			c, err := openstack.StorageClient(clients, cinderv1.PlaceOf(b.Name))
			if err != nil {
				continue
			}
			access.User, access.SecretUUID = c.User, c.SecretUUID
		}
		if access.User != "" {
			access.SecretName = volume.ClientSecret(s.name, b.Name)
		}
		to.Volumes = append(to.Volumes, access)
	}
}

func cinderReferences(path string, value any) []externalReference {
	networks := func(list []common.CIDR) []externalReference {
		if len(list) == 0 {
			return []externalReference{{&storageNetworks, path + ".networks", anyNetwork}}
		}
		return listEntries(&storageNetworks, path+".networks", list)
	}
	switch v := value.(type) {
	case cinderv1.RBD:
		return networks(v.Networks)
	case cinderv1.BackupRBD:
		return networks(v.Networks)
	case cinderv1.NFS:
		// The node mounts the share, so the server's address counts.
		var out []externalReference
		for _, share := range v.Shares {
			out = append(out, externalReference{&nfsServers, path + ".shares", volume.Server(share)})
		}
		return out
	case cinderv1.BackupNFS:
		return []externalReference{{&nfsServers, path + ".share", volume.Server(v.Share)}}
	case cinderv1.BackupFile:
		return []externalReference{{&storageClasses, path + ".storageClass", string(v.StorageClass)}}
	case cinderv1.S3:
		return []externalReference{{&s3Endpoints, path + ".endpoint", v.Endpoint}}
	case cinderv1.Swift:
		return []externalReference{{&s3Endpoints, path + ".url", v.URL}}
	}
	return nil
}

// cinderShares reports whether nodes mount shares of an NFS server for pods.
func cinderShares(s *controlplanev1.Services) bool {
	c := s.Cinder
	return slices.ContainsFunc(c.Backends, func(b cinderv1.Backend) bool { return b.NFS != nil }) || c.Backup != nil && c.Backup.NFS != nil
}

// cinderReport copies the state of the backends.
func cinderReport(s *serviceState, status *controlplanev1.ControlPlaneClusterStatus) {
	for _, reported := range s.observed.List("status", "backends") {
		b, _ := reported.(map[string]any)
		name, _ := b["name"].(string)
		phase, _ := b["phase"].(string)
		if name == "" || phase == "" {
			continue
		}
		status.Backends = append(status.Backends, cinderv1.BackendStatus{
			Name: name, Phase: phase, TotalGiB: gibibytes(b["totalGiB"]), AvailableGiB: gibibytes(b["availableGiB"]),
		})
	}
}

// gibibytes converts a reported number. It returns nil for any other value.
func gibibytes(reported any) *int64 {
	n, ok := reported.(float64)
	if !ok {
		return nil
	}
	return new(int64(n))
}

// cephConnected copies the condition of the block storage service on its Ceph clusters.
func (m *model) cephConnected() rules.Result {
	if c := m.spec.Services.Cinder; c == nil || !c.Enabled {
		return rules.Result{}
	}
	observedState, _ := m.observed.Get(cinderv1.ServiceName)
	c, ok := observedState.Condition(cinderv1.CephConnected)
	if !ok || c.Status == "Unknown" {
		return rules.Result{}
	}
	return rules.Result{Ready: c.Status == "True", Reason: c.Reason, Message: c.Message}
}

// cinderLocations lists where backends store volumes and where backups are stored.
func cinderLocations(m *model, s *serviceState) []location {
	var out []location
	for i, b := range m.spec.Services.Cinder.Backends {
		field := s.field(fmt.Sprintf(".backends[%d]", i))
		switch {
		case b.Ceph != nil:
			out = append(out, poolLocation(field+".ceph", b.Ceph))
		case b.RBD != nil:
			out = append(out, cephLocation(field+".rbd", b.RBD.Pool, "volumes", b.RBD.SecretRef))
		case b.NFS != nil:
			for j, share := range b.NFS.Shares {
				out = append(out, shareLocation(fmt.Sprintf("%s.nfs.shares[%d]", field, j), string(share)))
			}
		}
	}
	switch b := ptr.Deref(m.spec.Services.Cinder.Backup, cinderv1.Backup{}); {
	case b.Ceph != nil:
		out = append(out, poolLocation(s.field(".backup.ceph"), b.Ceph))
	case b.RBD != nil:
		out = append(out, cephLocation(s.field(".backup.rbd"), b.RBD.Pool, "backups", b.RBD.SecretRef))
	case b.S3 != nil:
		out = append(out, bucketLocation(s.field(".backup.s3"), b.S3.Endpoint, b.S3.Bucket, ""))
	case b.NFS != nil:
		out = append(out, shareLocation(s.field(".backup.nfs.share"), string(b.NFS.Share)))
	}
	return out
}

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
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/volume"
)

// cinder builds the composite resource of the block storage service.
func cinder(m *model, s *services.State) runtime.Object {
	c := m.Spec.Services.Cinder
	out := &cinderv1.Cinder{
		TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name),
		Spec: cinderv1.CinderSpec{
			ServiceSpec: m.QueuedServiceSpec(s), Placement: c.Placement, Identity: m.IdentitySpec(), Queue: m.QueueSpec(), KeyManager: m.KeyManager(),
			Storage: m.volumeStorage(s), StorageClients: m.StorageClients(s.Name),
			API: m.Process(c.API), Scheduler: m.Daemon(c.Scheduler), Volume: m.manager(nil),
			Archive: ptr.Deref(c.Archive, common.Archive{}), UWSGI: s.Processes(),
		},
	}
	if m.Locks() {
		out.Spec.Coordination = &cinderv1.Coordination{
			BindingSecretRef: common.SecretReference{Name: infrastructure.ValkeyName + "-binding"}, Sentinel: m.Store.Sentinel,
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
	out := m.Worker(nil)
	out.Replicas = new(min(m.Size.Daemons, onePlusOne))
	if !m.Locks() {
		out.Replicas = new(int32(1))
	}
	return claim.MergeProcess(out, []*common.Process{own, m.Spec.Services.Cinder.Volume})
}

// volumeStorage returns the settings of volumes and backups with defaults for every process. Backups use the platform's storage class if
// the claim sets none; an existing volume keeps its class.
func (m *model) volumeStorage(s *services.State) cinderv1.Storage {
	out := *m.Spec.Services.Cinder.Storage.DeepCopy()
	for i := range out.Backends {
		if b := &out.Backends[i]; b.Volume != nil {
			b.Volume = new(m.manager(b.Volume))
		}
	}
	if b := out.Backup; b != nil {
		b.Process = m.backupPods(b)
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
func (m *model) backupPods(b *cinderv1.Backup) common.Process {
	out := m.Worker(nil)
	if b.File != nil && b.File.AccessMode == volume.ReadWriteOnce {
		out.Replicas = new(int32(1))
	}
	return claim.MergeProcess(out, []*common.Process{&b.Process})
}

func checkCinder(m *model, s *services.State, r release.Release) error {
	c := m.Spec.Services.Cinder
	spec, storage := s.CheckedSpec(), *c.Storage.DeepCopy()
	volume.SetDefaults(&storage)
	spec.Workload, spec.MemoryField = openstack.PlacedWorkload(m.Process(c.API), c.Placement), "api.memory"
	spec.Groups = volume.Groups(storage.Backends)
	errs := []error{m.CheckQueue(s), volume.Check(s.FieldPath(""), r, spec, &storage, c.Volume, m.Locks())}
	if s.Observed.Map("spec", "coordination") != nil && !m.Locks() {
		errs = append(errs, invalid.Field("spec.infrastructure.valkey.enabled",
			"cannot be disabled, because volume managers share its locks; keep it enabled"))
	}
	if c.API != nil { // All services check the memory themselves.
		errs = append(errs, openstack.CheckAmounts(s.FieldPath(".api"), *c.API))
	}
	for field, requested := range map[string]*common.Process{".scheduler": c.Scheduler, ".volume": c.Volume} {
		if requested != nil {
			errs = append(errs, openstack.CheckProcess(s.FieldPath(field), *requested))
		}
	}
	if b := c.Backup; b != nil && b.S3 != nil {
		errs = append(errs, claim.CheckObjectStore(s.FieldPath(".backup.s3"), b.S3.Endpoint, "", b.S3.Bucket, b.S3.CASecretRef != nil))
	}
	errs = append(errs, minimum.CheckStorage(s.FieldPath(".conversionSize"), minimum.ImageConversion, c.ConversionSize))
	if a := c.Archive; a != nil && a.Schedule != "" {
		errs = append(errs, identity.CheckSchedule(s.FieldPath(".archive.schedule"), a.Schedule))
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
func cinderPods(m *model, s *services.State) []bounds.CostItem {
	c := m.Spec.Services.Cinder
	of := func(field string, p common.Process) bounds.CostItem {
		return bounds.CostItem{Field: s.FieldPath(field), Replicas: *p.Replicas, Resources: openstack.Resources(p), Short: true}
	}
	out := []bounds.CostItem{
		of(".api", m.Process(c.API)), of(".scheduler", m.Daemon(c.Scheduler)),
		{Field: s.FieldPath(""), Processes: ptr.Deref(s.UWSGI, common.UWSGI{}).Processes},
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
func cinderVolumes(m *model, s *services.State) []bounds.CostItem {
	b := m.Spec.Services.Cinder.Backup
	if b == nil || b.File == nil {
		return nil
	}
	return []bounds.CostItem{{Field: s.FieldPath(".backup.file"), Replicas: 1, Storage: b.File.StorageSize, Program: minimum.VolumeBackup}}
}

// cinderConnections returns the maximum number of database connections: in addition to the threads of the API, each daemon has a worker
// process and a parent process.
func cinderConnections(m *model, s *services.State) int64 {
	c := m.Spec.Services.Cinder
	const processes = 2
	out := s.Threads() + processes*claim.PoolConnections(m.Daemon(c.Scheduler))
	for _, b := range c.Backends {
		out += processes * claim.PoolConnections(m.managersOf(b))
	}
	if c.Backup != nil {
		out += processes * claim.PoolConnections(m.backupPods(c.Backup)) * int64(len(volume.Zones(&c.Storage)))
	}
	return out
}

// cinderSecrets lists the Secrets of Ceph clients and of the object store for backups.
func cinderSecrets(s *controlplanev1.Services) []claim.SecretReference {
	if s.Cinder == nil || !s.Cinder.Enabled {
		return nil // A disabled service needs no Secret.
	}
	var out []claim.SecretReference
	add := func(name *common.ObjectName, field string, keys ...string) {
		out = append(out, claim.SecretReference{Name: name, Field: "spec.services.cinder." + field, Keys: keys})
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
func cinderPools(s *controlplanev1.Services) []infrastructure.PoolReference {
	if s.Cinder == nil || !s.Cinder.Enabled {
		return nil
	}
	var out []infrastructure.PoolReference
	for i, b := range s.Cinder.Backends {
		if p := b.Ceph; p != nil {
			out = append(out, infrastructure.PoolReference{
				Place: cinderv1.PlaceOf(b.Name), Field: fmt.Sprintf("spec.services.cinder.backends[%d].ceph", i), Pool: *p,
				User: storagev1.ServiceCinder,
			})
		}
	}
	if b := s.Cinder.Backup; b != nil && b.Ceph != nil {
		out = append(out, infrastructure.PoolReference{
			Place: cinderv1.BackupPlace, Field: "spec.services.cinder.backup.ceph", Pool: *b.Ceph, User: storagev1.ServiceCinderBackup,
		})
	}
	return out
}

// cinderHypervisorAccess adds the locations of volumes. A backend whose pool is not known yet is skipped.
func cinderHypervisorAccess(m *model, s *services.State, to *controlplanev1.HypervisorAccess) {
	storage, clients := *m.Spec.Services.Cinder.Storage.DeepCopy(), m.StorageClients(s.Name)
	volume.SetDefaults(&storage)
	for _, b := range storage.Backends {
		access := controlplanev1.VolumeAccess{Backend: b.Name}
		switch {
		case b.RBD != nil:
			access.User, access.SecretUUID = b.RBD.User, volume.SecretUUID(m.Instance, s.Name, b.Name)
		case b.Ceph != nil:
			c, err := openstack.StorageClient(clients, cinderv1.PlaceOf(b.Name))
			if err != nil {
				continue
			}
			access.User, access.SecretUUID = c.User, c.SecretUUID
		}
		if access.User != "" {
			access.SecretName = volume.ClientSecret(s.Name, b.Name)
		}
		to.Volumes = append(to.Volumes, access)
	}
}

func cinderReferences(path string, value any) []bounds.ExternalReference {
	networks := func(list []common.CIDR) []bounds.ExternalReference {
		if len(list) == 0 {
			return []bounds.ExternalReference{{List: &bounds.StorageNetworks, Field: path + ".networks", Value: bounds.AnyNetwork}}
		}
		return bounds.ListEntries(&bounds.StorageNetworks, path+".networks", list)
	}
	switch v := value.(type) {
	case cinderv1.RBD:
		return networks(v.Networks)
	case cinderv1.BackupRBD:
		return networks(v.Networks)
	case cinderv1.NFS:
		// The node mounts the share, so the server's address counts.
		var out []bounds.ExternalReference
		for _, share := range v.Shares {
			out = append(out, bounds.ExternalReference{List: &bounds.NFSServers, Field: path + ".shares", Value: volume.Server(share)})
		}
		return out
	case cinderv1.BackupNFS:
		return []bounds.ExternalReference{{List: &bounds.NFSServers, Field: path + ".share", Value: volume.Server(v.Share)}}
	case cinderv1.BackupFile:
		return []bounds.ExternalReference{{List: &bounds.StorageClasses, Field: path + ".storageClass", Value: string(v.StorageClass)}}
	case cinderv1.S3:
		return []bounds.ExternalReference{{List: &bounds.S3Endpoints, Field: path + ".endpoint", Value: v.Endpoint}}
	case cinderv1.Swift:
		return []bounds.ExternalReference{{List: &bounds.S3Endpoints, Field: path + ".url", Value: v.URL}}
	}
	return nil
}

// cinderShares reports whether nodes mount shares of an NFS server for pods.
func cinderShares(s *controlplanev1.Services) bool {
	c := s.Cinder
	return slices.ContainsFunc(c.Backends, func(b cinderv1.Backend) bool { return b.NFS != nil }) || c.Backup != nil && c.Backup.NFS != nil
}

// cinderReport copies the state of the backends.
func cinderReport(s *services.State, status *controlplanev1.ControlPlaneClusterStatus) {
	for _, reported := range s.Observed.List("status", "backends") {
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
func cephConnected(m *services.Cloud) rules.Result {
	if c := m.Spec.Services.Cinder; c == nil || !c.Enabled {
		return rules.Result{}
	}
	observedState, _ := m.Observed.Get(cinderv1.ServiceName)
	c, ok := observedState.Condition(cinderv1.CephConnected)
	if !ok || c.Status == "Unknown" {
		return rules.Result{}
	}
	return rules.Result{Ready: c.Status == "True", Reason: c.Reason, Message: c.Message}
}

// cinderLocations lists where backends store volumes and where backups are stored.
func cinderLocations(m *model, s *services.State) []bounds.Location {
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

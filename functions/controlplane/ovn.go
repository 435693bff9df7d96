package controlplane

import (
	"cmp"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Databases of OVN, as fields of its composite resource are called.
const (
	northbound = "northbound"
	southbound = "southbound"
)

// ovn is where virtual networks are kept. It is a composite resource beside the network service's: what runs goes on by it, whatever
// becomes of that service.
func ovn(m *model) ([]compose.Stage, error) {
	apiVersion, kind := ovnv1.GroupVersionKind.ToAPIVersionAndKind()
	xr := &ovnv1.OVNCluster{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, ObjectMeta: m.objectMeta(ovnComponent), Spec: m.ovnSpec(),
	}
	return []compose.Stage{{{Name: ovnComponent, Object: xr, Management: true, After: m.copiesOfOVN()}}}, nil
}

// copiesOfOVN are the resources that make the copies of Secrets which its backups and its pods read.
func (m *model) copiesOfOVN() []string {
	var out []string
	for _, n := range networkSecrets(&m.spec.Services) {
		out = append(out, m.secrets.Resource(string(*n.name)))
	}
	return out
}

// ovnRelay are the copies of the southbound database, if any are asked for: of equal ones, two are there by themselves.
func (m *model) ovnRelay() *common.Process {
	said := m.ovnSaid().Relay
	if said == nil {
		return nil
	}
	r := m.size.networksResources.Requests
	out := processOver(common.Process{
		Replicas: new(m.size.daemons), CPU: new(intstr.FromString(r.CPU.String())), Memory: common.Memory(r.Memory.String()),
	}, []*common.Process{said})
	return &out
}

func ovnBackup(b *controlplanev1.OVNBackup) *ovnv1.Backup {
	if b == nil {
		return nil
	}
	return &ovnv1.Backup{Schedule: b.Schedule, RetentionDays: b.RetentionDays, Bucket: ovnBucket(b.S3)}
}

func ovnRestoreFrom(r *controlplanev1.OVNRestoreFrom) *ovnv1.RestoreFrom {
	if r == nil {
		return nil
	}
	return &ovnv1.RestoreFrom{TargetRecoveryTime: r.TargetRecoveryTime, Bucket: ovnBucket(r.S3)}
}

func ovnBucket(s controlplanev1.S3) ovnv1.Bucket {
	return ovnv1.Bucket{
		Bucket: s.Bucket, Endpoint: s.Endpoint, Region: s.Region, Prefix: s.Prefix, CredentialsSecretRef: s.CredentialsSecretRef,
		PrivateCA: s.PrivateCA,
	}
}

// ovnDeletionOrder keeps the namespaces until what lives in them is gone.
func ovnDeletionOrder(m *model) ([]compose.Stage, error) {
	stage := compose.Stage{m.uses(ovnComponent, namespaceResource, ovnv1.GroupVersionKind.Kind+" lives in the namespace")}
	if m.remote {
		stage = append(stage, m.uses(ovnComponent, workloadNamespaceResource, ovnv1.GroupVersionKind.Kind+"'s pods live in the namespace"))
	}
	return []compose.Stage{stage}, nil
}

func (m *model) ovnSpec() ovnv1.OVNClusterSpec {
	said := m.ovnSaid()
	south := ovnv1.Southbound{Members: m.ovnMembers(southbound, southboundSaid(said))}
	if said.Southbound != nil {
		south.Exposure = said.Southbound.Exposure
	}
	return ovnv1.OVNClusterSpec{
		Crossplane:     m.crossplane(),
		Target:         m.workloadCluster(),
		Northbound:     m.ovnMembers(northbound, said.Northbound),
		Southbound:     south,
		Northd:         m.worker(said.Northd),
		Relay:          m.ovnRelay(),
		Backup:         ovnBackup(said.Backup),
		RestoreFrom:    ovnRestoreFrom(said.RestoreFrom),
		Placement:      m.ovnNodes(),
		Image:          said.OVNImage,
		Images:         m.images,
		ClusterDomain:  common.Hostname(m.ovnSeen().Keep(m.clusterDomain(), "spec", "clusterDomain")),
		Monitoring:     m.monitoring,
		DeletionPolicy: m.spec.DeletionPolicy,
	}
}

func southboundSaid(o controlplanev1.OVN) *controlplanev1.Members {
	if o.Southbound == nil {
		return nil
	}
	return &o.Southbound.Members
}

func (m *model) ovnSeen() *observe.Object {
	seen, _ := m.seen.Get(ovnComponent)
	return seen
}

// ovnMembers are those of a database. Volumes that are there stay as they are.
func (m *model) ovnMembers(part string, of *controlplanev1.Members) ovnv1.Members {
	said, r := ptr.Deref(of, controlplanev1.Members{}), m.size.networksResources.Requests
	out := ovnv1.Members{
		Process: processOver(common.Process{
			Replicas: new(m.size.networks), CPU: new(intstr.FromString(r.CPU.String())), Memory: common.Memory(r.Memory.String()),
		}, []*common.Process{&said.Process}),
		StorageSize:  ovnv1.StorageSize(ptr.Deref(said.StorageSize, storageSize(m.size.networksStorage))),
		StorageClass: cmp.Or(said.StorageClass, m.platform.StorageClass),

		ElectionTimerSeconds: m.ovnSaid().ElectionTimerSeconds, InactivityProbeSeconds: m.ovnSaid().InactivityProbeSeconds,
	}
	if seen := m.ovnSeen(); seen.Map("spec", part) != nil {
		out.StorageSize = ovnv1.StorageSize(seen.String("spec", part, "storageSize"))
		out.StorageClass = common.ObjectName(seen.String("spec", part, "storageClass"))
	}
	return out
}

// mostMembers is how many members a database of OVN has at most.
const mostMembers = 5

// checkOVN refuses what leaves a process no room, and another volume than there is.
func (m *model) checkOVN(field string) error {
	said := m.ovnSaid()
	var errs []error
	if said.Northd != nil {
		errs = append(errs, openstack.CheckProcess(field+".northd", *said.Northd))
	}
	if said.Relay != nil {
		errs = append(errs, openstack.CheckProcess(field+".relay", *said.Relay))
	}
	for _, d := range []struct {
		part string
		of   *controlplanev1.Members
	}{{northbound, said.Northbound}, {southbound, southboundSaid(said)}} {
		if d.of == nil {
			continue
		}
		at, is := field+"."+d.part, m.ovnMembers(d.part, d.of)
		errs = append(errs, openstack.CheckProcess(at, d.of.Process))
		if n := *is.Replicas; n%2 == 0 || n > mostMembers {
			errs = append(errs, invalid.Field(at+".replicas", "%d members cannot agree, or do so slowly; say 1, 3 or 5", n))
		}
		if size := d.of.StorageSize; size != nil && !same(string(*size), string(is.StorageSize)) {
			errs = append(errs, invalid.Field(at+".storageSize", "the volumes have %s, and they do not change; say %[1]s here, or leave it out",
				is.StorageSize))
		}
		if d.of.StorageClass != "" && d.of.StorageClass != is.StorageClass {
			errs = append(errs, keepsClass(at, string(is.StorageClass)))
		}
	}
	if b := said.Backup; b != nil && b.Schedule != "" {
		errs = append(errs, identity.CheckSchedule(field+".backup.schedule", b.Schedule))
	}
	if r := said.RestoreFrom; r != nil {
		errs = append(errs, checkTime(field+".restoreFrom.targetRecoveryTime", r.TargetRecoveryTime))
	}
	return errors.Join(errs...)
}

// ovnParts are the pods of OVN.
func (m *model) ovnParts(field string) []part {
	spec := m.ovnSpec()
	of := func(name string, p common.Process, storage ovnv1.StorageSize) part {
		out := part{
			field: field + "." + name, replicas: *p.Replicas, resources: openstack.Resources(p), short: true, storage: string(storage),
		}
		if storage != "" {
			out.program = minimum.OVNDatabase
		}
		return out
	}
	out := []part{
		of(northbound, spec.Northbound.Process, spec.Northbound.StorageSize),
		of(southbound, spec.Southbound.Process, spec.Southbound.StorageSize),
		of("northd", spec.Northd, ""),
	}
	if spec.Relay != nil {
		out = append(out, of("relay", *spec.Relay, ""))
	}
	return out
}

// ovnStatus is what is known of it.
func (m *model) ovnStatus() *controlplanev1.OVNStatus {
	if m.byOVN() && m.ovnSaid().External != nil {
		x := m.ovnSaid().External
		return &controlplanev1.OVNStatus{Northbound: x.Northbound, Southbound: x.Southbound}
	}
	seen := m.ovnSeen()
	if !m.ovnOrdered() || !seen.Exists() {
		return nil
	}
	count := func(field string) int32 {
		n, _ := seen.Int("status", field)
		return int32(n) //nolint:gosec // nodes
	}
	return &controlplanev1.OVNStatus{
		Northbound: seen.String("status", northbound, "endpoint"), Southbound: seen.String("status", southbound, "endpoint"),
		ChassisCount: count("chassisCount"), ActiveControllers: count("activeControllers"),
	}
}

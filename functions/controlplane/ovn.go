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
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Fields of OVN's composite resource with the databases.
const (
	northbound = "northbound"
	southbound = "southbound"
)

// ovn composes the OVN databases. They are a separate composite resource, so that virtual networks do not depend on the state of the
// network service.
func ovn(m *model) ([]compose.Stage, error) {
	apiVersion, kind := ovnv1.GroupVersionKind.ToAPIVersionAndKind()
	xr := &ovnv1.OVNCluster{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, ObjectMeta: m.ObjectMeta(ovnComponent), Spec: m.ovnSpec(),
	}
	return []compose.Stage{{{Name: ovnComponent, Object: xr, Management: true, After: m.copiesOfOVN()}}}, nil
}

// copiesOfOVN returns the resources that copy the Secrets of its backups and pods.
func (m *model) copiesOfOVN() []string {
	var out []string
	for _, n := range networkSecrets(&m.Spec.Services) {
		out = append(out, m.Secrets.Resource(string(*n.Name)))
	}
	return out
}

// ovnRelay returns the settings of the relays, which are copies of the southbound database, nil if none are requested. The default number
// is the number of daemons.
func (m *model) ovnRelay() *common.Process {
	requested := m.ovnSpecFromClaim().Relay
	if requested == nil {
		return nil
	}
	r := m.Size.NetworksResources.Requests
	out := claim.MergeProcess(common.Process{
		Replicas: new(m.Size.Daemons), CPU: new(intstr.FromString(r.CPU.String())), Memory: common.Memory(r.Memory.String()),
	}, []*common.Process{requested})
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

// ovnDeletionOrder keeps the namespaces until OVN is deleted.
func ovnDeletionOrder(m *model) ([]compose.Stage, error) {
	stage := compose.Stage{m.RestrictTo(ovnComponent, infrastructure.NamespaceResource, ovnv1.GroupVersionKind.Kind+" lives in the namespace")}
	if m.Remote {
		stage = append(stage, m.RestrictTo(ovnComponent, infrastructure.WorkloadNamespaceResource,
			ovnv1.GroupVersionKind.Kind+"'s pods live in the namespace"))
	}
	return []compose.Stage{stage}, nil
}

func (m *model) ovnSpec() ovnv1.OVNClusterSpec {
	requested := m.ovnSpecFromClaim()
	south := ovnv1.Southbound{Members: m.ovnMembers(southbound, southboundFromClaim(requested))}
	if requested.Southbound != nil {
		south.Exposure = requested.Southbound.Exposure
	}
	return ovnv1.OVNClusterSpec{
		Crossplane:     m.Crossplane(),
		Target:         m.WorkloadCluster(),
		Northbound:     m.ovnMembers(northbound, requested.Northbound),
		Southbound:     south,
		Northd:         m.Worker(requested.Northd),
		Relay:          m.ovnRelay(),
		Backup:         ovnBackup(requested.Backup),
		RestoreFrom:    ovnRestoreFrom(requested.RestoreFrom),
		Placement:      m.ovnNodes(),
		Image:          requested.OVNImage,
		Images:         m.Images,
		ClusterDomain:  common.Hostname(m.observedOVN().Keep(m.ClusterDomain(), "spec", "clusterDomain")),
		Monitoring:     m.Monitoring,
		DeletionPolicy: m.Spec.DeletionPolicy,
	}
}

func southboundFromClaim(o controlplanev1.OVN) *controlplanev1.Members {
	if o.Southbound == nil {
		return nil
	}
	return &o.Southbound.Members
}

func (m *model) observedOVN() *observe.Object {
	observedState, _ := m.Observed.Get(ovnComponent)
	return observedState
}

// ovnMembers returns the members of a database. Existing volumes keep their size and class.
func (m *model) ovnMembers(part string, of *controlplanev1.Members) ovnv1.Members {
	requested, r := ptr.Deref(of, controlplanev1.Members{}), m.Size.NetworksResources.Requests
	out := ovnv1.Members{
		Process: claim.MergeProcess(common.Process{
			Replicas: new(m.Size.Networks), CPU: new(intstr.FromString(r.CPU.String())), Memory: common.Memory(r.Memory.String()),
		}, []*common.Process{&requested.Process}),
		StorageSize:  ovnv1.StorageSize(ptr.Deref(requested.StorageSize, infrastructure.StorageSize(m.Size.NetworksStorage))),
		StorageClass: cmp.Or(requested.StorageClass, m.Platform.StorageClass),

		ElectionTimerSeconds: m.ovnSpecFromClaim().ElectionTimerSeconds, InactivityProbeSeconds: m.ovnSpecFromClaim().InactivityProbeSeconds,
	}
	if observedState := m.observedOVN(); observedState.Map("spec", part) != nil {
		out.StorageSize = ovnv1.StorageSize(observedState.String("spec", part, "storageSize"))
		out.StorageClass = common.ObjectName(observedState.String("spec", part, "storageClass"))
	}
	return out
}

// maxOVNMembers is the maximum number of members of an OVN database.
const maxOVNMembers = 5

// checkOVN returns an error for processes with too few resources, invalid numbers of members, and changes of volumes.
func (m *model) checkOVN(field string) error {
	requested := m.ovnSpecFromClaim()
	var errs []error
	if s := requested.Southbound; s != nil {
		errs = append(errs, membersNotExposed(field+".southbound.exposure", s.Exposure))
	}
	if requested.Northd != nil {
		errs = append(errs, openstack.CheckProcess(field+".northd", *requested.Northd))
	}
	if requested.Relay != nil {
		errs = append(errs, openstack.CheckProcess(field+".relay", *requested.Relay))
	}
	for _, d := range []struct {
		part string
		of   *controlplanev1.Members
	}{{northbound, requested.Northbound}, {southbound, southboundFromClaim(requested)}} {
		if d.of == nil {
			continue
		}
		at, is := field+"."+d.part, m.ovnMembers(d.part, d.of)
		errs = append(errs, openstack.CheckProcess(at, d.of.Process))
		if n := *is.Replicas; n%2 == 0 || n > maxOVNMembers {
			errs = append(errs, invalid.Field(at+".replicas", "a Raft cluster of %d members is not supported; set it to 1, 3 or 5", n))
		}
		if size := d.of.StorageSize; size != nil && !infrastructure.Same(string(*size), string(is.StorageSize)) {
			errs = append(errs, invalid.Field(at+".storageSize", "is immutable: the volumes have %s; set it to %[1]s, or remove it",
				is.StorageSize))
		}
		if d.of.StorageClass != "" && d.of.StorageClass != is.StorageClass {
			errs = append(errs, infrastructure.CheckStorageClassUnchanged(at, string(is.StorageClass)))
		}
	}
	if b := requested.Backup; b != nil && b.Schedule != "" {
		errs = append(errs, identity.CheckSchedule(field+".backup.schedule", b.Schedule))
	}
	if r := requested.RestoreFrom; r != nil {
		errs = append(errs, claim.CheckTime(field+".restoreFrom.targetRecoveryTime", r.TargetRecoveryTime))
	}
	return errors.Join(errs...)
}

// ovnParts returns the costs of the pods of OVN.
func (m *model) ovnParts(field string) []bounds.CostItem {
	spec := m.ovnSpec()
	of := func(name string, p common.Process, storage ovnv1.StorageSize) bounds.CostItem {
		out := bounds.CostItem{
			Field: field + "." + name, Replicas: *p.Replicas, Resources: openstack.Resources(p), Short: true, Storage: string(storage),
		}
		if storage != "" {
			out.Program = minimum.OVNDatabase
		}
		return out
	}
	out := []bounds.CostItem{
		of(northbound, spec.Northbound.Process, spec.Northbound.StorageSize),
		of(southbound, spec.Southbound.Process, spec.Southbound.StorageSize),
		of("northd", spec.Northd, ""),
	}
	if spec.Relay != nil {
		out = append(out, of("relay", *spec.Relay, ""))
	}
	return out
}

// ovnStatus returns the state of OVN, nil without OVN.
func (m *model) ovnStatus() *controlplanev1.OVNStatus {
	if m.usesOVN() && m.ovnSpecFromClaim().External != nil {
		x := m.ovnSpecFromClaim().External
		return &controlplanev1.OVNStatus{Northbound: x.Northbound, Southbound: x.Southbound}
	}
	observedState := m.observedOVN()
	if !m.ownsOVN() || !observedState.Exists() {
		return nil
	}
	count := func(field string) int32 {
		n, _ := observedState.Int("status", field)
		return int32(n) //nolint:gosec // nodes
	}
	return &controlplanev1.OVNStatus{
		Northbound: observedState.String("status", northbound, "endpoint"), Southbound: observedState.String("status", southbound, "endpoint"),
		ChassisCount: count("chassisCount"), ActiveControllers: count("activeControllers"),
	}
}

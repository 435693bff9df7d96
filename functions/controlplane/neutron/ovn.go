package neutron

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
)

// ovnComponent is the component of the OVN databases, and its resource.
const ovnComponent = ovnv1.Name

// usesOVN reports whether OVN implements the virtual networks.
func usesOVN(m *services.Cloud) bool {
	n := m.Spec.Services.Neutron
	return n != nil && n.Enabled && n.Mechanism != neutronv1.ByOVS
}

// OwnsOVN reports whether the control plane runs the OVN that implements its virtual networks.
func OwnsOVN(m *services.Cloud) bool { return usesOVN(m) && ovnSpecFromClaim(m).External == nil }

// ovnSpecFromClaim returns the OVN settings of the claim.
func ovnSpecFromClaim(m *services.Cloud) controlplanev1.OVN {
	return ptr.Deref(m.Spec.Services.Neutron.OVN, controlplanev1.OVN{})
}

// ovnNodes returns the placement of the OVN pods.
func ovnNodes(m *services.Cloud) common.Placement { return m.Spec.Services.Neutron.Placement }

// ovnAt returns the addresses of the OVN databases. The observed addresses of the network service are used while OVN reports none.
func ovnAt(m *services.Cloud, s *services.State) *neutronv1.OVN {
	if x := ovnSpecFromClaim(m).External; x != nil {
		return &neutronv1.OVN{
			Sync: ovnSpecFromClaim(m).Sync, Northbound: x.Northbound, Southbound: x.Southbound, Networks: x.Networks,
			ClientSecretRef: &x.ClientSecretRef,
		}
	}
	address := func(part string) string {
		return cmp.Or(observedOVN(m).String("status", part, "endpoint"), s.Observed.String("spec", "ovn", part))
	}
	return &neutronv1.OVN{
		Sync:       ovnSpecFromClaim(m).Sync,
		Northbound: address(northbound), Southbound: address(Southbound),
		IssuerRef: ovnIssuer(), InactivityProbeSeconds: ovnSpecFromClaim(m).InactivityProbeSeconds,
	}
}

// ovnIssuer returns OVN's own issuer, because its certificates permit writing to the databases.
func ovnIssuer() *common.IssuerReference {
	return &common.IssuerReference{Name: ovnv1.Name + "-ca", Kind: "Issuer"}
}

// Fields of OVN's composite resource with the databases.
const (
	northbound = "northbound"
	Southbound = "southbound"
)

// ComposeOVN composes the OVN databases. They are a separate composite resource, so that virtual networks do not depend on the state of the
// network service.
func ComposeOVN(m *services.Cloud) ([]compose.Stage, error) {
	apiVersion, kind := ovnv1.GroupVersionKind.ToAPIVersionAndKind()
	xr := &ovnv1.OVNCluster{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, ObjectMeta: m.ObjectMeta(ovnComponent), Spec: ovnSpec(m),
	}
	return []compose.Stage{{{Name: ovnComponent, Object: xr, Management: true, After: copiesOfOVN(m)}}}, nil
}

// copiesOfOVN returns the resources that copy the Secrets of its backups and pods.
func copiesOfOVN(m *services.Cloud) []string {
	var out []string
	for _, n := range (Service{}).Secrets(&m.Spec.Services) {
		out = append(out, m.Secrets.Resource(string(*n.Name)))
	}
	return out
}

// ovnRelay returns the settings of the relays, which are copies of the southbound database, nil if none are requested. The default number
// is the number of daemons.
func ovnRelay(m *services.Cloud) *common.Process {
	requested := ovnSpecFromClaim(m).Relay
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

// ComposeOVNDeletionOrder keeps the namespaces until OVN is deleted.
func ComposeOVNDeletionOrder(m *services.Cloud) ([]compose.Stage, error) {
	stage := compose.Stage{m.RestrictTo(ovnComponent, infrastructure.NamespaceResource, ovnv1.GroupVersionKind.Kind+" lives in the namespace")}
	if m.Remote {
		stage = append(stage, m.RestrictTo(ovnComponent, infrastructure.WorkloadNamespaceResource,
			ovnv1.GroupVersionKind.Kind+"'s pods live in the namespace"))
	}
	return []compose.Stage{stage}, nil
}

func ovnSpec(m *services.Cloud) ovnv1.OVNClusterSpec {
	requested := ovnSpecFromClaim(m)
	south := ovnv1.Southbound{Members: ovnMembers(m, Southbound, southboundFromClaim(requested))}
	if requested.Southbound != nil {
		south.Exposure = requested.Southbound.Exposure
	}
	return ovnv1.OVNClusterSpec{
		Crossplane:     m.Crossplane(),
		Target:         m.WorkloadCluster(),
		Northbound:     ovnMembers(m, northbound, requested.Northbound),
		Southbound:     south,
		Northd:         m.Worker(requested.Northd),
		Relay:          ovnRelay(m),
		Backup:         ovnBackup(requested.Backup),
		RestoreFrom:    ovnRestoreFrom(requested.RestoreFrom),
		Placement:      ovnNodes(m),
		Image:          requested.OVNImage,
		Images:         m.Images,
		ClusterDomain:  common.Hostname(observedOVN(m).Keep(m.ClusterDomain(), "spec", "clusterDomain")),
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

func observedOVN(m *services.Cloud) *observe.Object {
	observedState, _ := m.Observed.Get(ovnComponent)
	return observedState
}

// ovnMembers returns the members of a database. Existing volumes keep their size and class.
func ovnMembers(m *services.Cloud, part string, of *controlplanev1.Members) ovnv1.Members {
	requested, r := ptr.Deref(of, controlplanev1.Members{}), m.Size.NetworksResources.Requests
	out := ovnv1.Members{
		Process: claim.MergeProcess(common.Process{
			Replicas: new(m.Size.Networks), CPU: new(intstr.FromString(r.CPU.String())), Memory: common.Memory(r.Memory.String()),
		}, []*common.Process{&requested.Process}),
		StorageSize:  ovnv1.StorageSize(ptr.Deref(requested.StorageSize, infrastructure.StorageSize(m.Size.NetworksStorage))),
		StorageClass: cmp.Or(requested.StorageClass, m.Platform.StorageClass),

		ElectionTimerSeconds: ovnSpecFromClaim(m).ElectionTimerSeconds, InactivityProbeSeconds: ovnSpecFromClaim(m).InactivityProbeSeconds,
	}
	if observedState := observedOVN(m); observedState.Map("spec", part) != nil {
		out.StorageSize = ovnv1.StorageSize(observedState.String("spec", part, "storageSize"))
		out.StorageClass = common.ObjectName(observedState.String("spec", part, "storageClass"))
	}
	return out
}

// ovnParts returns the costs of the pods of OVN.
func ovnParts(m *services.Cloud, field string) []cost.Item {
	spec := ovnSpec(m)
	of := func(name string, p common.Process, storage ovnv1.StorageSize) cost.Item {
		out := cost.Item{
			Field: field + "." + name, Replicas: *p.Replicas, Resources: openstack.Resources(p), Short: true, Storage: string(storage),
		}
		if storage != "" {
			out.Program = minimum.OVNDatabase
		}
		return out
	}
	out := []cost.Item{
		of(northbound, spec.Northbound.Process, spec.Northbound.StorageSize),
		of(Southbound, spec.Southbound.Process, spec.Southbound.StorageSize),
		of("northd", spec.Northd, ""),
	}
	if spec.Relay != nil {
		out = append(out, of("relay", *spec.Relay, ""))
	}
	return out
}

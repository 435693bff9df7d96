// Package neutron derives the composite resource of Neutron from a claim.
package neutron

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/network"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
)

// Service is Neutron, the network service, with its OVN.
type Service struct{ services.Defaults }

// Info returns the properties that do not depend on a claim.
func (Service) Info() services.Info {
	return services.Info{
		Name: neutronv1.ServiceName, Kind: neutronv1.GroupVersionKind, Phase: common.PhaseCoreServices,
		Needs:      []string{services.CatalogComponent, infrastructure.MessagingComponent, ovnv1.Name},
		PublicPath: "/networking", Internal: neutronv1.InternalURL,
	}
}

// Requested returns the settings of a claim.
func (Service) Requested(s *controlplanev1.Services) services.Requested {
	n := s.Neutron
	if n == nil || !n.Enabled {
		return services.Requested{}
	}
	return services.Requested{Enabled: true, Basics: n.Service, Workload: services.APIWorkload(n.API, n.Placement), UWSGI: n.UWSGI}
}

// Conditions lists conditions of the claim that do not affect its readiness.
func (Service) Conditions() []services.Condition {
	return []services.Condition{{Type: neutronv1.InSync, Verdict: networksInSync}}
}

// Derive returns the model of the enabled service.
func (Service) Derive(m *services.Cloud, s *services.State) services.Model {
	return model{services.Common{Cloud: m, State: s}}
}

// model is the derived state of Neutron.
type model struct{ services.Common }

// Object returns the composite resource of the network service.
func (x model) Object() (runtime.Object, error) {
	m, s := x.Cloud, x.State
	n := m.Spec.Services.Neutron
	worker := m.Worker(n.Workers)
	out := &neutronv1.Neutron{
		TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name),
		Spec: neutronv1.NeutronSpec{
			ServiceSpec: m.QueuedServiceSpec(s), Placement: n.Placement, Networks: n.Networks, Identity: m.IdentitySpec(), Queue: m.QueueSpec(),
			Mechanism: n.Mechanism, NotifiesNova: m.HasService(novav1.ServiceName),
			API: m.Process(n.API), Periodic: worker, UWSGI: s.Processes(),
		},
	}
	if usesOVN(m) {
		out.Spec.OVN, out.Spec.Maintenance = ovnAt(m, s), &worker
	}
	if network.UsesAgents(n.Mechanism, n.Networks) {
		out.Spec.RPC = new(rpcWorker(m, n.Workers))
	}
	return out, nil
}

// rpcWorker returns the settings of the RPC workers that agents call. All of its pods work, each with three processes (functions/neutron).
func rpcWorker(m *services.Cloud, requested *common.Process) common.Process {
	r := m.Size.APIResources.Requests
	return claim.MergeProcess(common.Process{
		Replicas: new(m.Size.Daemons), CPU: new(intstr.FromString(r.CPU.String())), Memory: common.Memory(r.Memory.String()),
	}, []*common.Process{requested})
}

// Pods returns the costs of all processes and of the OVN databases.
func (x model) Pods() []cost.Item {
	m, s := x.Cloud, x.State
	n := m.Spec.Services.Neutron
	const workers = 2 // maintenance and periodic
	of := func(field string, p common.Process, times int32) cost.Item {
		return cost.Item{Field: s.FieldPath(field), Replicas: *p.Replicas, Times: times, Resources: openstack.Resources(p), Short: true}
	}
	out := []cost.Item{
		of(".api", m.Process(n.API), 1), {Field: s.FieldPath(""), Processes: ptr.Deref(s.UWSGI, common.UWSGI{}).Processes},
	}
	if network.UsesAgents(n.Mechanism, n.Networks) {
		out = append(out, of(".workers", rpcWorker(m, n.Workers), 1))
	}
	if !usesOVN(m) {
		return append(out, of(".workers", m.Worker(n.Workers), 1))
	}
	out = append(out, of(".workers", m.Worker(n.Workers), workers))
	if OwnsOVN(m) {
		out = append(out, ovnParts(m, s.FieldPath(".ovn"))...)
	}
	return out
}

// Secrets lists the Secrets of external OVN databases, and of object stores with backups of the control plane's own OVN databases.
func (Service) Secrets(s *controlplanev1.Services) []claim.SecretReference {
	if s.Neutron == nil || !s.Neutron.Enabled || s.Neutron.OVN == nil {
		return nil // A disabled service needs no Secret.
	}
	var out []claim.SecretReference
	add := func(b *controlplanev1.S3, part string) {
		out = append(out, claim.SecretReference{
			Name: &b.CredentialsSecretRef.Name, Field: "spec.services.neutron.ovn." + part + ".s3.credentialsSecretRef",
			Keys: mariadb.BucketKeys(b.PrivateCA),
		})
	}
	if x := s.Neutron.OVN.External; x != nil {
		out = append(out, claim.SecretReference{
			Name: &x.ClientSecretRef.Name, Field: "spec.services.neutron.ovn.external.clientSecretRef",
			Keys: []string{certificate.CAKey, certificate.CertKey, certificate.KeyKey},
		})
	}
	if b := s.Neutron.OVN.Backup; b != nil {
		add(&b.S3, "backup")
	}
	if r := s.Neutron.OVN.RestoreFrom; r != nil {
		add(&r.S3, "restoreFrom")
	}
	return out
}

// ExternalReferences lists the networks of external OVN databases, which must be networks of hypervisors.
func (Service) ExternalReferences(path string, value any) []bounds.ExternalReference {
	if v, ok := value.(controlplanev1.ExternalOVN); ok {
		return bounds.ListEntries(&bounds.HypervisorNetworks, path+".networks", v.Networks)
	}
	return nil
}

// Connections returns the maximum number of database connections: in addition to requests, each API process handles OVN events, and
// each worker has a parent process.
func (x model) Connections() int64 {
	m, s := x.Cloud, x.State
	n := m.Spec.Services.Neutron
	const processes, rpcProcesses = 2, 4 // An RPC worker has a parent and three processes.
	out := s.Threads() + processes*claim.PoolConnections(m.Worker(n.Workers))
	if network.UsesAgents(n.Mechanism, n.Networks) {
		out += rpcProcesses * claim.PoolConnections(rpcWorker(m, n.Workers))
	}
	if usesOVN(m) {
		out += int64(*s.Workload.Replicas)*int64(s.Processes().Processes)*claim.PoolSize + processes*claim.PoolConnections(m.Worker(n.Workers))
	}
	return out
}

// Locations lists where backups of the OVN databases are stored.
func (x model) Locations() []bounds.Location {
	m, s := x.Cloud, x.State
	if !OwnsOVN(m) || ovnSpecFromClaim(m).Backup == nil {
		return nil
	}
	b := ovnSpecFromClaim(m).Backup.S3
	return []bounds.Location{bounds.BucketLocation(s.FieldPath(".ovn.backup.s3"), b.Endpoint, b.Bucket, b.Prefix)}
}

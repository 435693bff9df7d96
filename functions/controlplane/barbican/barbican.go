// Package barbican derives the composite resource of Barbican from a claim.
package barbican

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
)

// Service is Barbican, the key manager.
type Service struct{ services.Defaults }

// Info returns the properties that do not depend on a claim.
func (Service) Info() services.Info {
	return services.Info{
		Name: barbicanv1.ServiceName, Kind: barbicanv1.GroupVersionKind, Phase: common.PhaseCoreServices,
		Needs:      []string{services.CatalogComponent, infrastructure.MessagingComponent},
		PublicPath: "/key-manager", Internal: barbicanv1.InternalURL,
	}
}

// Requested returns the settings of a claim.
func (Service) Requested(s *controlplanev1.Services) services.Requested {
	b := s.Barbican
	if b == nil || !b.Enabled {
		return services.Requested{}
	}
	return services.Requested{Enabled: true, Basics: b.Service, Workload: services.APIWorkload(b.API, b.Placement), UWSGI: b.UWSGI}
}

// Derive returns the model of the enabled service.
func (Service) Derive(m *services.Cloud, s *services.State) services.Model {
	return model{services.Common{Cloud: m, State: s}}
}

// model is the derived state of Barbican.
type model struct{ services.Common }

// Object returns the composite resource of the key manager.
func (x model) Object() (runtime.Object, error) {
	m, s := x.Cloud, x.State
	b := m.Spec.Services.Barbican
	out := &barbicanv1.Barbican{
		TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name),
		Spec: barbicanv1.BarbicanSpec{
			ServiceSpec: m.QueuedServiceSpec(s), Placement: b.Placement, Storage: *b.Storage.DeepCopy(), Identity: m.IdentitySpec(),
			Queue: m.QueueSpec(),
			API:   m.Process(b.API), Worker: m.Worker(b.Worker), UWSGI: s.Processes(), Archive: ptr.Deref(b.Archive, common.Archive{}),
		},
	}
	return out, nil
}

// Check returns an error for settings that Barbican rejects in a release.
func (x model) Check(r release.Release) error {
	m, s := x.Cloud, x.State
	b := m.Spec.Services.Barbican
	spec := s.CheckedSpec().WithAPI(m.Process(b.API), b.Placement)
	errs := []error{m.CheckQueue(s), spec.Check(s.FieldPath(""), s.Name, r)}
	if b.Worker != nil {
		errs = append(errs, openstack.CheckProcess(s.FieldPath(".worker"), *b.Worker))
	}
	return errors.Join(errs...)
}

// Pods returns the costs of both processes.
func (x model) Pods() []cost.Item {
	m, s := x.Cloud, x.State
	b := m.Spec.Services.Barbican
	of := func(field string, p common.Process) cost.Item {
		return cost.Item{Field: s.FieldPath(field), Replicas: *p.Replicas, Resources: openstack.Resources(p), Short: true}
	}
	return []cost.Item{
		of(".api", m.Process(b.API)), of(".worker", m.Worker(b.Worker)),
		{Field: s.FieldPath(""), Processes: ptr.Deref(s.UWSGI, common.UWSGI{}).Processes},
	}
}

// Connections returns the maximum number of database connections. The pool of a worker limits its connections.
func (x model) Connections() int64 {
	m, s := x.Cloud, x.State
	return s.Threads() + claim.PoolConnections(m.Worker(m.Spec.Services.Barbican.Worker))
}

// Secrets lists the Secrets of a Vault.
func (Service) Secrets(s *controlplanev1.Services) []claim.SecretReference {
	if s.Barbican == nil || !s.Barbican.Enabled || s.Barbican.Vault == nil {
		return nil // A disabled service needs no Secret.
	}
	v := s.Barbican.Vault
	const field = "spec.services.barbican.vault."
	login := []string{barbicanv1.VaultRoleIDKey, barbicanv1.VaultSecretIDKey}
	out := []claim.SecretReference{{Name: &v.SecretRef.Name, Field: field + "secretRef", Keys: login}}
	if ca := v.CASecretRef; ca != nil {
		out = append(out, claim.SecretReference{Name: &ca.Name, Field: field + "caSecretRef", Keys: []string{string(ca.Key)}})
	}
	return out
}

// ExternalReferences lists the references to external systems in a value of the service's types.
func (Service) ExternalReferences(path string, value any) []bounds.ExternalReference {
	if v, ok := value.(barbicanv1.Vault); ok {
		return []bounds.ExternalReference{{List: &bounds.VaultServers, Field: path + ".url", Value: v.URL}}
	}
	return nil
}

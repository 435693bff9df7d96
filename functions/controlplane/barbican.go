package controlplane

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// barbican builds the composite resource of the key manager.
func barbican(m *model, s *serviceState) runtime.Object {
	b := m.spec.Services.Barbican
	return &barbicanv1.Barbican{
		TypeMeta: s.typeMeta(), ObjectMeta: m.objectMeta(s.name),
		Spec: barbicanv1.BarbicanSpec{
			ServiceSpec: m.queuedServiceSpec(s), Placement: b.Placement, Storage: *b.Storage.DeepCopy(), Identity: m.identitySpec(), Queue: m.queueSpec(),
			API: m.process(b.API), Worker: m.worker(b.Worker), UWSGI: s.processes(), Archive: ptr.Deref(b.Archive, common.Archive{}),
		},
	}
}

// barbicanAPI returns the settings of the API's pods as a Workload.
func barbicanAPI(b *controlplanev1.Barbican) common.Workload {
	return *openstack.PlacedWorkload(ptr.Deref(b.API, common.Process{}), b.Placement)
}

func checkBarbican(m *model, s *serviceState, r release.Release) error {
	b := m.spec.Services.Barbican
	spec := s.spec()
	spec.Workload, spec.MemoryField = openstack.PlacedWorkload(m.process(b.API), b.Placement), "api.memory"
	errs := []error{m.checkQueue(s), spec.Check(s.field(""), s.name, r)}
	if b.API != nil { // All services check the memory themselves.
		errs = append(errs, openstack.CheckAmounts(s.field(".api"), *b.API))
	}
	if b.Worker != nil {
		errs = append(errs, openstack.CheckProcess(s.field(".worker"), *b.Worker))
	}
	if k := b.Keys; k != nil && k.RotationSchedule != "" {
		errs = append(errs, identity.CheckSchedule(s.field(".keys.rotationSchedule"), k.RotationSchedule))
	}
	if a := b.Archive; a != nil && a.Schedule != "" {
		errs = append(errs, identity.CheckSchedule(s.field(".archive.schedule"), a.Schedule))
	}
	return errors.Join(errs...)
}

// barbicanPods returns the costs of both processes.
func barbicanPods(m *model, s *serviceState) []costItem {
	b := m.spec.Services.Barbican
	of := func(field string, p common.Process) costItem {
		return costItem{field: s.field(field), replicas: *p.Replicas, resources: openstack.Resources(p), short: true}
	}
	return []costItem{
		of(".api", m.process(b.API)), of(".worker", m.worker(b.Worker)),
		{field: s.field(""), processes: ptr.Deref(s.uwsgi, common.UWSGI{}).Processes},
	}
}

// barbicanConnections returns the maximum number of database connections. The pool of a worker limits its connections.
func barbicanConnections(m *model, s *serviceState) int64 {
	return s.threads() + daemonsOf(m.worker(m.spec.Services.Barbican.Worker))
}

// barbicanSecrets lists the Secrets of a Vault.
func barbicanSecrets(s *controlplanev1.Services) []secretReference {
	if s.Barbican == nil || !s.Barbican.Enabled || s.Barbican.Vault == nil {
		return nil // A disabled service needs no Secret.
	}
	v := s.Barbican.Vault
	const field = "spec.services.barbican.vault."
	login := []string{barbicanv1.VaultRoleIDKey, barbicanv1.VaultSecretIDKey}
	out := []secretReference{{name: &v.SecretRef.Name, field: field + "secretRef", keys: login}}
	if ca := v.CASecretRef; ca != nil {
		out = append(out, secretReference{name: &ca.Name, field: field + "caSecretRef", keys: []string{string(ca.Key)}})
	}
	return out
}

func barbicanReferences(path string, value any) []externalReference {
	if v, ok := value.(barbicanv1.Vault); ok {
		return []externalReference{{&vaultServers, path + ".url", v.URL}}
	}
	return nil
}

// keyManager returns the key manager settings of services that encrypt data, nil without a key manager.
func (m *model) keyManager() *common.KeyManager {
	if b := m.spec.Services.Barbican; b == nil || !b.Enabled {
		return nil
	}
	return &common.KeyManager{InternalURL: common.URL(barbicanv1.InternalURL(barbicanv1.ServiceName, m.instance))}
}

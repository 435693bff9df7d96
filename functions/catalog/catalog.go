// Package catalog composes one IdentityCatalog: what there is in Keystone from its beginning, as objects that others refer to. It is a
// composite resource of its own, and not part of Keystone's: K-ORC has to log in there to delete it, so it goes first.
package catalog

import (
	catalogv1 "github.com/c5c3/crossplane-cobaltcore/apis/catalog/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// New returns the function of IdentityCatalog composite resources.
func New() function.Runner {
	return function.Kind[catalogv1.IdentityCatalog, *model]{Graph: graph.MustValidate(), Derive: derive, Target: place, Status: status}
}

// graph is what an IdentityCatalog consists of.
var graph = compose.Graph[*model]{{Name: "entries", Build: build}}

// model is everything that builders read, derived once.
type model struct {
	name, namespace string
	generation      int64
	spec            catalogv1.IdentityCatalogSpec
	// previous is the status of the last call.
	previous catalogv1.IdentityCatalogStatus
	// wanted are the objects of K-ORC.
	wanted []entry
	// domainIDs are those of the directories' domains that exist.
	domainIDs map[string]keystonev1.DomainID
}

func derive(in function.Input[catalogv1.IdentityCatalog]) (*model, error) {
	x := &in.XR
	m := &model{name: x.Name, namespace: x.Namespace, generation: x.Generation, spec: x.Spec, previous: x.Status}
	if m.spec.AdminUser == "" {
		m.spec.AdminUser = keystonev1.DefaultAdminUser
	}
	m.wanted = desiredEntries(&m.spec)
	m.domainIDs = m.findDomains(in.Observed)
	return m, nil
}

func (m *model) meta(name string) object.Meta {
	w := workload.Workload{Name: name, Namespace: m.namespace, App: name, Instance: m.namespace, Component: name}
	return object.Meta{Name: name, Namespace: m.namespace, Labels: w.Labels()}
}

// place says where the objects live. None of them holds data: what they stand for stays in Keystone.
func place(m *model) respond.Target {
	config := string(m.spec.Target.ProviderConfig)
	return respond.Target{
		Namespaced: true, Namespace: m.namespace, Prefix: m.name,
		Management: config, Workload: config, Remote: m.spec.Target.Remote,
	}
}

func status(m *model, plan compose.Plan) any {
	phase, _ := service.Phase(plan, m.previous.Phase)
	return catalogv1.IdentityCatalogStatus{
		ObservedGeneration: m.generation,
		Phase:              phase,
		DomainIDs:          m.domainIDs,
		Components:         respond.Components(plan, m.previous.Components),
	}
}

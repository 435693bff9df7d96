// Package catalog composes an IdentityCatalog: the initial objects of Keystone, as K-ORC objects that others reference. It is a separate
// composite resource, because K-ORC must log in to Keystone to delete its objects, so it is deleted before Keystone.
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
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// New returns the function of IdentityCatalog composite resources.
func New() function.Runner {
	return function.Kind[catalogv1.IdentityCatalog, *model]{
		Graph: graph.MustValidate(), Rules: readiness.Rules, Derive: derive, Target: place, Status: status,
	}
}

// graph lists the components of an IdentityCatalog.
var graph = compose.Graph[*model]{{Name: "entries", Build: build}}

// model is the input of all builders. derive computes it once per call.
type model struct {
	name, namespace string
	generation      int64
	spec            catalogv1.IdentityCatalogSpec
	// previous is the status of the last call.
	previous catalogv1.IdentityCatalogStatus
	// desired are the objects of K-ORC.
	desired []entry
	// domainIDs are the IDs of the directories' domains that exist.
	domainIDs map[string]keystonev1.DomainID
}

func derive(in function.Input[catalogv1.IdentityCatalog]) (*model, error) {
	x := &in.XR
	m := &model{name: x.Name, namespace: x.Namespace, generation: x.Generation, spec: x.Spec, previous: x.Status}
	m.desired = desiredEntries(&m.spec)
	m.domainIDs = m.findDomains(in.Observed)
	return m, nil
}

func (m *model) meta(name string) object.Meta {
	w := workload.Workload{Name: name, Namespace: m.namespace, App: name, Instance: m.namespace, Component: name}
	return object.Meta{Name: name, Namespace: m.namespace, Labels: w.Labels()}
}

// place returns the default target of objects. None of them holds data: the resources that they represent stay in Keystone.
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

package nova

import (
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// computeCatalogResource is the resource of the object that has all flavors and aggregates.
const computeCatalogResource = "compute-catalog"

// hasComputeCatalog says whether there are flavors or aggregates to be kept. Once there were, the object stays, with none of them: what is taken out
// of it is removed from Nova, and nothing is when it goes itself.
func (m *model) hasComputeCatalog() bool {
	_, observed := m.seen.Get(computeCatalogResource)
	return observed || len(m.spec.Flavors)+len(m.spec.Aggregates) > 0
}

// offers are the flavors and aggregates, in one object: a composite resource has no room for one of each.
func offers(m *model) ([]compose.Stage, error) {
	return service.SingleObjectComponent(computeCatalogResource, c5c3.ComputeCatalog(m.Meta(m.Name), openstackv1.ComputeCatalogSpec{
		CloudCredentialsRef: m.Cloud(), Flavors: m.spec.Flavors, Aggregates: m.spec.Aggregates,
	})), nil
}

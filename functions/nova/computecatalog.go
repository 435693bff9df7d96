package nova

import (
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// computeCatalogResource is the resource of the object with all flavors and aggregates.
const computeCatalogResource = "compute-catalog"

// hasComputeCatalog reports whether the spec sets or has set flavors or aggregates. The object stays once it exists, possibly with empty
// lists: removing an entry removes it from Nova, and deleting the object does not.
func (m *model) hasComputeCatalog() bool {
	_, observed := m.observed.Get(computeCatalogResource)
	return observed || len(m.spec.Flavors)+len(m.spec.Aggregates) > 0
}

// computeCatalog builds one object for all flavors and aggregates: a composite resource cannot reference one object for each.
func computeCatalog(m *model) ([]compose.Stage, error) {
	return service.SingleObjectComponent(computeCatalogResource, c5c3.ComputeCatalog(m.Meta(m.Name), openstackv1.ComputeCatalogSpec{
		CloudCredentialsRef: m.Cloud(), Flavors: m.spec.Flavors, Aggregates: m.spec.Aggregates,
	})), nil
}

// Package placement derives the composite resource of Placement from a claim.
package placement

import (
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
)

// Service is Placement, which tracks the resources of hypervisors.
type Service struct{ services.Defaults }

// Info returns the properties that do not depend on a claim.
func (Service) Info() services.Info {
	return services.Info{
		Name: placementv1.ServiceName, Kind: placementv1.GroupVersionKind, Phase: common.PhaseCoreServices,
		Needs:      []string{services.CatalogComponent},
		PublicPath: "/placement", Internal: placementv1.InternalURL,
	}
}

// Requested returns the settings of a claim.
func (Service) Requested(s *controlplanev1.Services) services.Requested {
	p := s.Placement
	if p == nil || !p.Enabled {
		return services.Requested{}
	}
	return services.Requested{Enabled: true, Basics: p.Service, Workload: p.Workload, UWSGI: p.UWSGI}
}

// Derive returns the model of the enabled service.
func (Service) Derive(m *services.Cloud, s *services.State) services.Model {
	return model{services.Common{Cloud: m, State: s}}
}

// model is the derived state of Placement.
type model struct{ services.Common }

// Object returns the composite resource of the service that tracks the resources of hypervisors.
func (x model) Object() (runtime.Object, error) {
	m, s := x.Cloud, x.State
	out := &placementv1.Placement{
		TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name),
		Spec: placementv1.PlacementSpec{
			ServiceSpec: m.ServiceSpec(s), Workload: s.Workload, Identity: m.IdentitySpec(), UWSGI: s.Processes(),
		},
	}
	return out, nil
}

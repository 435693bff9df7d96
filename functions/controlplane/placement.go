package controlplane

import (
	"k8s.io/apimachinery/pkg/runtime"

	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
)

// placement builds the composite resource of the service that tracks the resources of hypervisors.
func placement(m *model, s *services.State) runtime.Object {
	return &placementv1.Placement{
		TypeMeta: s.TypeMeta(), ObjectMeta: m.ObjectMeta(s.Name),
		Spec: placementv1.PlacementSpec{
			ServiceSpec: m.ServiceSpec(s), Workload: s.Workload, Identity: m.IdentitySpec(), UWSGI: s.Processes(),
		},
	}
}

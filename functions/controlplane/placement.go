package controlplane

import (
	"k8s.io/apimachinery/pkg/runtime"

	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
)

// placement builds the composite resource of the service that tracks the resources of hypervisors.
func placement(m *model, s *serviceState) runtime.Object {
	return &placementv1.Placement{
		TypeMeta: s.typeMeta(), ObjectMeta: m.ObjectMeta(s.name),
		Spec: placementv1.PlacementSpec{
			ServiceSpec: m.serviceSpec(s), Workload: s.workload, Identity: m.identitySpec(), UWSGI: s.processes(),
		},
	}
}

package placement

import (
	"encoding/json"
	"testing"

	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// TestOptionsCannotChangeComputedValues verifies that an option of a tenant, under any name, cannot change a value that pods are composed
// with.
func TestOptionsCannotChangeComputedValues(t *testing.T) {
	owners := servicetest.Owners[*service.Service]{
		Derive: func(spec []byte) (*service.Service, error) {
			in := function.Input[placementv1.Placement]{}
			in.XR.Name, in.XR.Namespace = placementv1.ServiceName, "cloud"
			if err := json.Unmarshal(spec, &in.XR.Spec); err != nil {
				return nil, err
			}
			return derive(in)
		},
	}
	owners.CheckEachOption(t, definition.App, "small", "medium")
}

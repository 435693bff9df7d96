package novacell

import (
	"encoding/json"
	"testing"

	novacellv1 "github.com/c5c3/crossplane-cobaltcore/apis/novacell/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
)

// TestOptionsCannotChangeComputedValues verifies that an option of a tenant, under any name, cannot change a value that pods are composed
// with.
func TestOptionsCannotChangeComputedValues(t *testing.T) {
	owners := servicetest.Owners[*model]{
		Derive: func(spec []byte) (*model, error) {
			in := function.Input[novacellv1.NovaCell]{}
			in.XR.Name, in.XR.Namespace = novacellv1.Name(compute.App, "cell1"), "cloud"
			if err := json.Unmarshal(spec, &in.XR.Spec); err != nil {
				return nil, err
			}
			function.SetDefaults(&in.XR)
			return derive(in)
		},
		Tunable: []string{"cache enabled", "scheduler max_attempts"},
	}
	owners.CheckEachOption(t, compute.App, "small", "medium")
}

package barbican

import (
	"encoding/json"
	"testing"

	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
)

// TestOptionsCannotChangeComputedValues verifies that an option of a tenant, under any name, cannot change a value that pods are composed
// with.
func TestOptionsCannotChangeComputedValues(t *testing.T) {
	owners := servicetest.Owners[*model]{
		Derive: func(spec []byte) (*model, error) {
			in := function.Input[barbicanv1.Barbican]{}
			in.XR.Name, in.XR.Namespace = barbicanv1.ServiceName, "cloud"
			if err := json.Unmarshal(spec, &in.XR.Spec); err != nil {
				return nil, err
			}
			function.SetDefaults(&in.XR)
			return derive(in)
		},
	}
	owners.CheckEachOption(t, definition.App, "small", "medium")
}

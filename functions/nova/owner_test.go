package nova

import (
	"encoding/json"
	"testing"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
)

// TestOptionsCannotChangeComputedValues verifies that an option of a tenant, under any name, cannot change a value that pods are composed
// with.
func TestOptionsCannotChangeComputedValues(t *testing.T) {
	owners := servicetest.Owners[*model]{
		Derive: func(spec []byte) (*model, error) {
			in := function.Input[novav1.Nova]{}
			in.XR.Name, in.XR.Namespace = novav1.ServiceName, "cloud"
			if err := json.Unmarshal(spec, &in.XR.Spec); err != nil {
				return nil, err
			}
			function.SetDefaults(&in.XR)
			return derive(in)
		},
		Tunable: []string{"DEFAULT allow_resize_to_same_host", "cache enabled", "filter_scheduler enabled_filters", "scheduler max_attempts"},
	}
	owners.CheckEachOption(t, definition.App, "small", "medium")
}

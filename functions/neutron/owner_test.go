package neutron

import (
	"encoding/json"
	"testing"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
)

// TestOptionsCannotChangeComputedValues verifies that an option of a tenant, under any name, cannot change a value that pods are composed
// with.
func TestOptionsCannotChangeComputedValues(t *testing.T) {
	owners := servicetest.Owners[*model]{
		Tunable: []string{
			"DEFAULT dhcp_agents_per_network", "DEFAULT l3_ha", "ovn fdb_age_threshold", "ovn mac_binding_age_threshold",
			"ovn_nb_global fdb_removal_limit", "ovn_nb_global mac_binding_removal_limit",
		},
		Derive: func(spec []byte) (*model, error) {
			in := function.Input[neutronv1.Neutron]{}
			in.XR.Name, in.XR.Namespace = neutronv1.ServiceName, "cloud"
			if err := json.Unmarshal(spec, &in.XR.Spec); err != nil {
				return nil, err
			}
			function.SetDefaults(&in.XR)
			return derive(in)
		},
	}
	owners.CheckEachOption(t, definition.App, "small", "medium")
	owners.CheckEachOption(t, definition.App, "agents")
}

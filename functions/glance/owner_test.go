package glance

import (
	"encoding/json"
	"testing"

	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// TestOptionsCannotChangeComputedValues verifies that an option of a tenant, under any name, cannot change a value that pods are composed
// with.
func TestOptionsCannotChangeComputedValues(t *testing.T) {
	groups := []registry.Group{{Name: "shared_", Template: "file"}, {Name: "rbd_1", Template: "rbd"}, {Name: "s3", Template: "s3"}, {Name: "swift", Template: "swift"}}
	owners := servicetest.Owners[*model]{
		Derive: func(spec []byte) (*model, error) {
			in := function.Input[glancev1.Glance]{}
			in.XR.Name, in.XR.Namespace = glancev1.ServiceName, "cloud"
			if err := json.Unmarshal(spec, &in.XR.Spec); err != nil {
				return nil, err
			}
			function.SetDefaults(&in.XR)
			return derive(in)
		},
		Groups: groups, Tunable: []string{"rbd_1 rados_connect_timeout"},
	}
	owners.CheckEachOption(t, definition.App, "medium")
}

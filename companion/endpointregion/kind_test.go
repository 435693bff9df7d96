package endpointregion

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestKind: what it is told of, and what it warns of.
func TestKind(t *testing.T) {
	controllertest.Kind(t, scheme, &kind, controllertest.Expectations{
		Warns: []string{"Available"},
		Metrics: []string{
			"companion_endpoint_region_condition",
			"companion_endpoint_region_writes_total",
		},
	})
}

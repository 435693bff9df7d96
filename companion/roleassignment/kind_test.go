package roleassignment

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestKind checks the watches and the warnings of the kind.
func TestKind(t *testing.T) {
	controllertest.Kind(t, scheme, &kind, controllertest.Expectations{
		Finalizes: true, Warns: []string{"Available"},
		Metrics: []string{
			"companion_role_assignment_assigned_total",
			"companion_role_assignment_condition",
		},
	})
}

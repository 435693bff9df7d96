package servicecheck

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestKind checks the watches and the warnings of the kind.
func TestKind(t *testing.T) {
	controllertest.Kind(t, scheme, kind(&collector{}), controllertest.Expectations{
		Warns: []string{"Ready", "RemovedNodesCleanedUp"},
		Metrics: []string{
			"companion_service_check_condition",
			"companion_service_check_processes_down",
			"companion_service_check_processes_up",
			"companion_service_check_removed_total",
		},
	})
}

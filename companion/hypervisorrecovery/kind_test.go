package hypervisorrecovery

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestKind checks the watches and the warnings of the kind.
func TestKind(t *testing.T) {
	controllertest.Kind(t, scheme, kind(&memory{}), controllertest.Expectations{
		Warns: []string{"Unblocked", "Observed", "Recovered", "Fenceable"},
		Metrics: []string{
			"companion_hypervisor_recovery_blocked", "companion_hypervisor_recovery_condition", "companion_hypervisor_recovery_failed_nodes",
			"companion_hypervisor_recovery_nodes", "companion_hypervisor_recovery_remaining_servers",
		},
	})
}

package nodemaintenance

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestKind checks the watches and the warnings of the kind.
func TestKind(t *testing.T) {
	controllertest.Kind(t, scheme, &kind, controllertest.Expectations{
		Finalizes: true,
		Warns:     []string{"Unblocked", "Planned"},
		Metrics: []string{
			"companion_node_maintenance_blocked", "companion_node_maintenance_condition", "companion_node_maintenance_servers",
		},
	})
}

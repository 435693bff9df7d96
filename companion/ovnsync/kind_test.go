package ovnsync

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestKind checks the watches and the warnings of the kind.
func TestKind(t *testing.T) {
	controllertest.Kind(t, scheme, &kind, controllertest.Expectations{
		Owns:    []string{"Job"},
		Warns:   []string{"Ready", "InSync"},
		Metrics: []string{"companion_ovn_sync_condition", "companion_ovn_sync_differences", "companion_ovn_sync_runs_total"},
	})
}

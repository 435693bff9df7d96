package cellmapping

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestKind checks the watches and the warnings of the kind.
func TestKind(t *testing.T) {
	controllertest.Kind(t, scheme, &kind, controllertest.Expectations{
		Owns:  []string{"Job"},
		Warns: []string{"Ready", "HostsMapped"},
		Metrics: []string{
			"companion_cell_mapping_condition",
			"companion_cell_mapping_hosts",
			"companion_cell_mapping_runs_total",
		},
	})
}

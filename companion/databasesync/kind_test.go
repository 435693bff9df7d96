package databasesync

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestKind checks the watches and the warnings of the kind.
func TestKind(t *testing.T) {
	controllertest.Kind(t, scheme, &kind, controllertest.Expectations{
		Annotated: true, Owns: []string{"Job"}, Consumers: []string{"Deployment", "StatefulSet", "DaemonSet"}, Warns: []string{"Ready"},
		Metrics: []string{
			"companion_database_sync_condition",
			"companion_database_sync_failures_total",
			"companion_database_sync_last_success_timestamp_seconds",
			"companion_database_sync_running",
		},
	})
}

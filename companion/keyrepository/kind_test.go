package keyrepository

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestKind checks the watches and the warnings of the kind.
func TestKind(t *testing.T) {
	controllertest.Kind(t, scheme, &kind, controllertest.Expectations{
		Annotated: true, Owns: []string{"Job"}, Consumers: []string{"Deployment", "StatefulSet", "DaemonSet"}, Warns: []string{"Ready"},
		Metrics: []string{
			"companion_key_repository_condition",
			"companion_key_repository_keys",
			"companion_key_repository_last_backup_timestamp_seconds",
			"companion_key_repository_last_rotation_timestamp_seconds",
			"companion_key_repository_next_rotation_timestamp_seconds",
			"companion_key_repository_required_keys",
			"companion_key_repository_rotations_total",
		},
	})
}

package credentialrotation

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestKind checks the watches and the warnings of the kind.
func TestKind(t *testing.T) {
	controllertest.Kind(t, scheme, &kind, controllertest.Expectations{
		Annotated: true, Consumers: []string{"RemoteConsumer", "SecretAggregate", "Deployment", "StatefulSet", "DaemonSet"},
		Warns: []string{"Ready"},
		Metrics: []string{
			"companion_credential_rotation_condition",
			"companion_credential_rotation_last_rotation_timestamp_seconds",
			"companion_credential_rotation_next_rotation_timestamp_seconds",
			"companion_credential_rotation_rotations_total",
		},
	})
}

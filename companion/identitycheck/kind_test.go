package identitycheck

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestKind checks the watches and the warnings of the kind.
func TestKind(t *testing.T) {
	controllertest.Kind(t, scheme, &kind, controllertest.Expectations{
		Warns: []string{"PublicReachable", "Reachable"},
		Metrics: []string{
			"companion_identity_check_condition",
			"companion_identity_check_duration_seconds",
			"companion_identity_check_failures_total",
			"companion_identity_check_last_token_timestamp_seconds",
		},
	})
}

package remoteconsumer

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

// TestKind checks the watches and the warnings of the kind.
func TestKind(t *testing.T) {
	controllertest.Kind(t, scheme, &kind, controllertest.Expectations{
		Consumers: []string{"CredentialRotation"},
		Warns:     []string{"Ready"},
		Metrics:   []string{"companion_remote_consumer_condition"},
	})
	if !kind.Names(nil, "CredentialRotation", "nova-credential") {
		t.Error("a rotation does not wake it")
	}
}

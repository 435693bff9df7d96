package credentialrotation

import (
	"context"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// Targets of a rotation.
const (
	applicationCredential = "ApplicationCredential"
	password              = "Password"
	queueUser             = "QueueUser"
)

// target defines how the credentials of one kind are created, found and revoked. The order of these steps is the same for all
// kinds (rules.go). A target lives for one pass.
type target interface {
	// keys returns the keys of the Secret for the ID and the secret of a credential. If the ID key is "", the ID is only in
	// the record.
	keys() (id, value string)
	// overlaps reports whether an old credential is valid until it is revoked. If not, setting a new one invalidates the old
	// one; then the first credential is not created but adopted from the Secret.
	overlaps() bool
	// staged returns the name of a new credential, built from a random string.
	staged(w *observation, random string) string
	// observe lists the credentials of the rotation (observation.credentials). It is not called if the Secret is foreign. A
	// failing service is not an error; it is reported in observation.errorMessage.
	observe(ctx context.Context, env *controller.Env, w *observation) error
	// generateCredential returns the next step to create the staged credential, or the ID of the created one.
	generateCredential(w *observation) (id string, s *controller.Decision)
	// keep returns the next step to apply the spec to the credential in use; nil if it is applied or cannot be changed.
	keep(w *observation) *controller.Decision
	// missingRoles returns which permissions the credential in use lacks; "" if it lacks none, as far as the controller knows.
	missingRoles(w *observation) (reason, why string)
	// revoke revokes a credential.
	revoke(w *observation, id string) *controller.Decision
	// title describes a credential within a sentence; isLost describes that the credential in use is missing.
	title(id string) string
	missingMessage(id string) string
}

// targets returns a new target for each kind of rotation.
var targets = map[string]func() target{
	applicationCredential: func() target { return &application{} },
	password:              func() target { return &userPassword{} },
	queueUser:             func() target { return &queue{} },
}

// credential is a valid credential, as far as the controller knows.
type credential struct {
	id, name string
	// revoking is set while it is being revoked.
	revoking bool
}

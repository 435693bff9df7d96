package credentialrotation

import (
	"context"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// What is rotated.
const (
	applicationCredential = "ApplicationCredential"
	password              = "Password"
	queueUser             = "QueueUser"
)

// target is what is rotated: how its credentials are made, found and revoked. When that is done is the same for all of them (rules.go). One
// target lives for one pass.
type target interface {
	// keys of the Secret that hold a credential's ID and what is secret. Without a key for it, the ID is ours alone.
	keys() (id, value string)
	// overlaps says that an old credential is valid until it is revoked. If not, making a new one ends it; then the first is not made, but
	// taken over from whoever has put it into the Secret.
	overlaps() bool
	// staged is the name of a new credential, of something random.
	staged(w *observation, random string) string
	// observe finds the credentials of the rotation (world.credentials), and is asked for nothing if the Secret is foreign. That nobody
	// answers is no error, but a problem of the world.
	observe(ctx context.Context, env *controller.Env, w *observation) error
	// generateCredential is the next step to the staged credential, or the ID of the one that is made.
	generateCredential(w *observation) (id string, s *controller.Decision)
	// keep is the next step for the credential in use to be able to do what the spec says. Nil: it is, or cannot be changed.
	keep(w *observation) *controller.Decision
	// missingRoles says what the credential in use cannot do yet: no words if it can do everything, as far as is known.
	missingRoles(w *observation) (reason, why string)
	// revoke revokes a credential.
	revoke(w *observation, id string) *controller.Decision
	// title is a credential in a sentence, and lost says that one is gone which was in use.
	title(id string) string
	isLost(id string) string
}

// targets make what looks after a rotation of each kind.
var targets = map[string]func() target{
	applicationCredential: func() target { return &application{} },
	password:              func() target { return &userPassword{} },
	queueUser:             func() target { return &queue{} },
}

// credential is one that is valid, as far as is known.
type credential struct {
	id, name string
	// revoking is set while it is being revoked.
	revoking bool
}

package credentialrotation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

const (
	// rotateAnnotation of a CredentialRotation replaces the credential at once. Its value is the ID of that credential (status.currentID):
	// an old annotation replaces nothing again.
	rotateAnnotation = "c5c3.io/rotate"

	// settle is how long a new credential is in the Secret before pods are restarted for it: a kubelet's view of it may be late.
	settle = 10 * time.Second
	// poll is how often it looks for what is not watched.
	poll = 30 * time.Second
)

// rules are asked in this order for the next step; the first that has one decides.
var rules = []func(*world) *controller.Step{
	refuse,
	rollConsumers,
	recordDistribution,
	mint,
	adopt,
	replaceBroken,
	revoke,
	condemn,
	rotate,
}

// next finds the next step. Workloads and Secrets are watched, Keystone and pods are not.
func next(w *world) controller.Step {
	s := controller.First(rules, w)
	s.Expected = s.Do != nil
	s.Status = func() { w.rotation.Status = report(w, s) }
	switch {
	case s.Do != nil: // It looks at once.
	case !s.At.IsZero():
		s.After = controller.Until(s.At, w.now)
	case s.Wait != "":
		s.After = poll
	default:
		s.After = controller.Longest
	}
	return s
}

func refuse(w *world) *controller.Step {
	name := w.rotation.Spec.SecretName
	switch {
	case w.state == foreign:
		return &controller.Step{Name: "NotOurs", Wait: fmt.Sprintf("Secret %s is not touched: %s", name, w.whose)}
	case w.rotation.Spec.Target == password && w.value() == "":
		return &controller.Step{Name: "PasswordMissing", Wait: fmt.Sprintf(
			"Secret %s has to hold the user's present password in its key %s: Keystone lets nobody read it", name, passwordKey)}
	}
	return nil
}

// rollConsumers restarts the pods of every consumer in the course of its roll-out: those that carry the annotation were started
// after the credential was written, which is the proof that they have it.
func rollConsumers(w *world) *controller.Step {
	if !w.usable() {
		return nil
	}
	for _, c := range w.consumers {
		if c.Template() == nil || c.Named(w.annotation(), w.record.ID) {
			continue
		}
		if from := w.record.Since.Add(settle); w.record.Previous != "" && from.After(w.now) {
			return &controller.Step{Name: "Settling", Wait: "gives kubelets time to see the new credential", At: from}
		}
		return &controller.Step{
			Name: "ConsumerRolled", Note: fmt.Sprintf("rolls %s for it to have credential %s", c, w.record.ID),
			Do: func(ctx context.Context, env *controller.Env) error {
				return c.Roll(ctx, env.Client, w.annotation(), w.record.ID)
			},
		}
	}
	return nil
}

// recordDistribution records that every consumer has the credential.
func recordDistribution(w *world) *controller.Step {
	if w.state != intact || w.record.Distributed != nil || w.waitsForConsumers() != "" {
		return nil
	}
	rec := w.record
	rec.Distributed = &w.now
	if w.rotation.Spec.Target == password {
		rec = rec.revoked() // Keystone forgot the old one when it took the new one.
	}
	return &controller.Step{
		Name: "CredentialDistributed", Do: writeRecord(w, rec),
		Note: fmt.Sprintf("every consumer has credential %s", w.record.ID),
	}
}

// mint makes the staged credential in Keystone, and puts it into use when it is there. Both can be done again.
func mint(w *world) *controller.Step {
	if w.record.Staged == "" || w.staged() == "" {
		return nil
	}
	switch {
	case w.lockedOut:
		// Logins that fail count against the user. An edit of the Secret wakes it.
		return &controller.Step{Name: "LockedOut", Wait: w.problem, At: w.now.Add(controller.Longest)}
	case w.user == nil:
		return &controller.Step{Name: "KeystoneAwaited", Wait: w.problem}
	}
	if w.rotation.Spec.Target == password {
		if !w.changed {
			return &controller.Step{Name: "PasswordChanged", Do: askKeystone(w, changePassword(w)), Note: "changed the password in Keystone"}
		}
		return &controller.Step{
			Name: "CredentialReplaced", Do: promote(w, w.record.Staged),
			Note: fmt.Sprintf("Secret %s holds the new password", w.secret.Name),
		}
	}
	if made, ok := w.find("", w.record.Staged); ok {
		return &controller.Step{
			Name: "CredentialReplaced", Do: promote(w, made.ID),
			Note: fmt.Sprintf("Secret %s holds application credential %s", w.secret.Name, made.ID),
		}
	}
	if !slices.Equal(w.record.StagedRoles, w.roles()) { // By another name: who is late may still make the one that was staged.
		return &controller.Step{Name: "CredentialStaged", Do: stage(w)}
	}
	if lacking := w.user.Lacks(w.record.StagedRoles); len(lacking) > 0 {
		return &controller.Step{Name: "RolesAwaited", Wait: fmt.Sprintf(
			"spec.roles: user %s does not have the role %s in its project yet: give it by a RoleAssignment",
			w.rotation.Spec.UserName, strings.Join(lacking, " or "))}
	}
	return &controller.Step{Name: "CredentialMade", Do: askKeystone(w, create(w)), Note: "made application credential " + w.record.Staged}
}

// adopt takes the password that someone has put into the Secret.
func adopt(w *world) *controller.Step {
	if w.rotation.Spec.Target != password || w.state == intact {
		return nil
	}
	return &controller.Step{
		Name: "PasswordAdopted", Do: adoptPassword(w),
		Note: fmt.Sprintf("took over the password in Secret %s", w.rotation.Spec.SecretName),
	}
}

// replaceBroken makes another application credential in the place of one that is missing, was edited or is revoked, suspended or
// not: without one, nothing works.
func replaceBroken(w *world) *controller.Step {
	if w.rotation.Spec.Target == password || w.usable() {
		return nil
	}
	if w.user == nil {
		return &controller.Step{Name: "KeystoneAwaited", Wait: w.problem}
	}
	s := &controller.Step{Name: "CredentialStaged", Do: stage(w)}
	switch {
	case w.gone():
		s.Warning, s.Note = true, fmt.Sprintf("Keystone has no application credential %s any more: another one takes its place. "+
			"Taking a role from a user revokes its application credentials in that project", w.record.ID)
	case w.state == edited, w.state == unrecorded:
		s.Warning, s.Note = true, fmt.Sprintf("Secret %s was edited: another application credential takes the place of what it holds",
			w.secret.Name)
	}
	return s
}

// revoke revokes what was condemned, one by one.
func revoke(w *world) *controller.Step {
	if w.user == nil {
		return nil
	}
	for _, id := range w.record.Condemned {
		if _, ok := w.find(id, ""); ok {
			return &controller.Step{
				Name: "CredentialRevoked", Do: askKeystone(w, deleteCredential(w, id)), Note: "revoked application credential " + id,
			}
		}
	}
	return nil
}

// condemn records what nobody uses any more: from then on it is revoked, whoever leads. That the Secret is still as it was when this was
// proven makes it certain that none of them has come into use.
func condemn(w *world) *controller.Step {
	if w.rotation.Spec.Target == password || !w.usable() || w.user == nil || w.record.Distributed == nil {
		return nil
	}
	strays := w.strays()
	switch {
	case len(strays) == 0 && w.record.Clean:
		return nil
	case len(strays) == 0:
		return &controller.Step{Name: "OthersRevoked", Do: writeRecord(w, w.record.revoked())}
	case w.waitsForConsumers() != "":
		return &controller.Step{Name: "RevocationWaits", Wait: w.waitsForConsumers()}
	case w.graceEnds().After(w.now):
		return &controller.Step{Name: "Grace", At: w.graceEnds()}
	}
	rec := w.record
	rec.Condemned, rec.Clean = strays, false
	return &controller.Step{Name: "CredentialsCondemned", Do: writeRecord(w, rec)}
}

// rotate stages a new credential when it is time, and the last rotation is over.
func rotate(w *world) *controller.Step {
	due := w.due()
	switch {
	case w.waitsForConsumers() != "":
		return &controller.Step{Name: "RotationWaits", Wait: w.waitsForConsumers()}
	case w.problem != "":
		return &controller.Step{Name: "KeystoneAwaited", Wait: w.problem}
	case w.rotation.Spec.Suspend:
		return &controller.Step{Name: "Suspended"}
	case due.After(w.now):
		return &controller.Step{Name: "Idle", At: due}
	}
	return &controller.Step{Name: "CredentialStaged", Do: stage(w)}
}

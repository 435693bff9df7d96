package credentialrotation

import (
	"context"
	"fmt"
	"time"
)

const (
	// rotateAnnotation of a CredentialRotation replaces the credential at once. Its value is the ID of that credential
	// (status.currentID): an old annotation replaces nothing anew.
	rotateAnnotation = "c5c3.io/rotate"

	// settle is how long a new credential is in the Secret before pods are restarted for it: a kubelet's view of it may be late.
	settle = 10 * time.Second
)

// A step is what a pass comes to: something to do, or something to wait for.
type step struct {
	// name of the step, for logs, and reason of the event.
	name string
	// do takes the step; nil waits.
	do action
	// keystone is set if it asks Keystone, whose refusal people have to hear of.
	keystone bool
	// note tells the event that follows the step, none if it is empty; warning makes it one.
	note    string
	warning bool
	// wait says for what, as a sentence, when there is nothing to do.
	wait string
	// at is when waiting ends by itself; zero: look again soon if there is something to wait for.
	at time.Time
}

// rules are asked in this order for the next step; the first that has one decides.
var rules = []func(*world) *step{
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

// next finds the next step.
func next(w *world) *step {
	for _, rule := range rules {
		if s := rule(w); s != nil {
			return s
		}
	}
	return &step{name: "Idle"}
}

func refuse(w *world) *step {
	name := w.rotation.Spec.SecretName
	switch {
	case w.state == foreign:
		return &step{name: "NotOurs", wait: fmt.Sprintf("Secret %s is not touched: %s", name, w.whose)}
	case w.rotation.Spec.Target == password && w.value() == "":
		return &step{name: "PasswordMissing", wait: fmt.Sprintf(
			"Secret %s has to hold the user's present password in its key %s: Keystone lets nobody read it", name, passwordKey)}
	}
	return nil
}

// rollConsumers restarts the pods of every consumer in the course of its roll-out: those that carry the annotation were started
// after the credential was written, which is the proof that they have it.
func rollConsumers(w *world) *step {
	if !w.usable() {
		return nil
	}
	for _, c := range w.consumers {
		if !c.Exists() || c.Named(w.annotation(), w.record.ID) {
			continue
		}
		if from := w.record.Since.Add(settle); w.record.Previous != "" && from.After(w.now) {
			return &step{name: "Settling", wait: "gives kubelets time to see the new credential", at: from}
		}
		return &step{
			name: "ConsumerRolled", note: fmt.Sprintf("rolls %s for it to have credential %s", c, w.record.ID),
			do: func(ctx context.Context, r *Reconciler) error {
				return c.Roll(ctx, r.Client, w.annotation(), w.record.ID)
			},
		}
	}
	return nil
}

// recordDistribution writes down that every consumer has the credential.
func recordDistribution(w *world) *step {
	if w.state != intact || w.record.Distributed != nil || w.waitsForConsumers() != "" {
		return nil
	}
	rec := w.record
	rec.Distributed = &w.now
	if w.rotation.Spec.Target == password {
		rec = rec.revoked() // Keystone forgot the old one when it took the new one.
	}
	return &step{
		name: "CredentialDistributed", do: writeRecord(w, rec),
		note: fmt.Sprintf("every consumer has credential %s", w.record.ID),
	}
}

// mint makes the staged credential in Keystone, and puts it into use when it is there. Both can be done again.
func mint(w *world) *step {
	if w.record.Staged == "" || w.staged() == "" {
		return nil
	}
	switch {
	case w.lockedOut:
		// Logins that fail count against the user. An edit of the Secret wakes it.
		return &step{name: "LockedOut", wait: w.problem, at: w.now.Add(longest)}
	case w.user == nil:
		return &step{name: "KeystoneAwaited", wait: w.problem}
	}
	if w.rotation.Spec.Target == password {
		if !w.changed {
			return &step{name: "PasswordChanged", keystone: true, do: changePassword(w), note: "changed the password in Keystone"}
		}
		return &step{
			name: "CredentialReplaced", do: promote(w, w.record.Staged),
			note: fmt.Sprintf("Secret %s holds the new password", w.secret.Name),
		}
	}
	made, ok := w.find("", w.record.Staged)
	if !ok {
		return &step{name: "CredentialMade", do: create(w), note: "made application credential " + w.record.Staged, keystone: true}
	}
	return &step{
		name: "CredentialReplaced", do: promote(w, made.ID),
		note: fmt.Sprintf("Secret %s holds application credential %s", w.secret.Name, made.ID),
	}
}

// adopt takes the password that somebody has put into the Secret.
func adopt(w *world) *step {
	if w.rotation.Spec.Target != password || w.state == intact {
		return nil
	}
	return &step{
		name: "PasswordAdopted", do: adoptPassword(w),
		note: fmt.Sprintf("took over the password in Secret %s", w.rotation.Spec.SecretName),
	}
}

// replaceBroken makes another application credential in the place of one that is missing, was edited or is revoked, suspended or
// not: without one, nothing works.
func replaceBroken(w *world) *step {
	if w.rotation.Spec.Target == password || w.usable() {
		return nil
	}
	if w.user == nil {
		return &step{name: "KeystoneAwaited", wait: w.problem}
	}
	s := &step{name: "CredentialStaged", do: stage(w)}
	switch {
	case w.gone():
		s.warning, s.note = true, fmt.Sprintf("Keystone has no application credential %s any more: another one takes its place. "+
			"Taking a role from a user revokes the application credentials that have it", w.record.ID)
	case w.state == edited, w.state == unrecorded:
		s.warning, s.note = true, fmt.Sprintf("Secret %s was edited: another application credential takes the place of what it holds",
			w.secret.Name)
	}
	return s
}

// revoke revokes what was condemned, one by one.
func revoke(w *world) *step {
	if w.user == nil {
		return nil
	}
	for _, id := range w.record.Condemned {
		if _, ok := w.find(id, ""); ok {
			return &step{name: "CredentialRevoked", do: deleteCredential(w, id), note: "revoked application credential " + id, keystone: true}
		}
	}
	return nil
}

// condemn writes down what nobody uses any more: from then on it is revoked, whoever leads. That the Secret is still as it was when
// this was proven makes it certain that none of them has come into use.
func condemn(w *world) *step {
	if w.rotation.Spec.Target == password || !w.usable() || w.user == nil || w.record.Distributed == nil {
		return nil
	}
	strays := w.strays()
	switch {
	case len(strays) == 0 && w.record.Clean:
		return nil
	case len(strays) == 0:
		return &step{name: "OthersRevoked", do: writeRecord(w, w.record.revoked())}
	case w.waitsForConsumers() != "":
		return &step{name: "RevocationWaits", wait: w.waitsForConsumers()}
	case w.graceEnds().After(w.now):
		return &step{name: "Grace", at: w.graceEnds()}
	}
	rec := w.record
	rec.Condemned, rec.Clean = strays, false
	return &step{name: "CredentialsCondemned", do: writeRecord(w, rec)}
}

// rotate stages a new credential when it is time, and the last rotation is over.
func rotate(w *world) *step {
	due := w.due()
	switch {
	case w.waitsForConsumers() != "":
		return &step{name: "RotationWaits", wait: w.waitsForConsumers()}
	case w.problem != "":
		return &step{name: "KeystoneAwaited", wait: w.problem}
	case w.rotation.Spec.Suspend:
		return &step{name: "Suspended"}
	case due.After(w.now):
		return &step{name: "Idle", at: due}
	}
	return &step{name: "CredentialStaged", do: stage(w)}
}

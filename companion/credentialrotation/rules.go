package credentialrotation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

const (
	// rotateAnnotation of a CredentialRotation replaces the credential at once. Its value is the ID of that credential (status.currentID):
	// an old annotation replaces nothing again.
	rotateAnnotation = "c5c3.io/rotate"

	// settle is how long a new credential is in the Secret before pods are restarted for it: a kubelet's view of it may be late.
	settle = 10 * time.Second
	// poll is how often it looks for what is not watched, and hurry how often if others are at it.
	poll          = 30 * time.Second
	retryInterval = 2 * time.Second
	// expectedDuration is how long they take if nothing is wrong. What takes longer may take days, and is no reason to ask every two seconds.
	expectedDuration = 2 * time.Minute
)

// rules are asked in this order for the next step; the first that has one decides.
var rules = []func(*observation) *controller.Decision{
	rejectSpec,
	keep,
	recordMissingConsumers,
	markConsumers,
	rollConsumers,
	recordDistribution,
	mint,
	adopt,
	replaceBroken,
	revoke,
	markForRevocation,
	rotate,
}

// next finds the next step. Workloads and Secrets are watched; Keystone, pods, and objects of queues, whose kinds need not be installed,
// are not.
func next(w *observation) controller.Decision {
	s := controller.First(rules, w)
	s.Expected = s.Action != nil
	s.Status = func() { w.rotation.Status = report(w, s) }
	switch {
	case s.Action != nil: // It looks at once.
	case !s.At.IsZero():
		s.RequeueAfter = controller.RequeueIn(s.At, w.now)
	case s.Wait != "":
		s.RequeueAfter = poll
	default:
		s.RequeueAfter = controller.ResyncInterval
	}
	if s.Action == nil && w.changePending {
		s.RequeueAfter = min(s.RequeueAfter, poll)
	}
	if s.Action == nil && w.changePending && w.recentlyChanged {
		s.RequeueAfter = min(s.RequeueAfter, retryInterval)
	}
	return s
}

func rejectSpec(w *observation) *controller.Decision {
	name := w.rotation.Spec.SecretName
	switch {
	case w.state == foreign:
		return &controller.Decision{Name: "NotOurs", Wait: fmt.Sprintf("Secret %s is not touched: %s", name, w.whose)}
	case !w.target.overlaps() && w.value() == "":
		_, key := w.target.keys()
		return &controller.Decision{Name: "PasswordMissing", Wait: fmt.Sprintf(
			"Secret %s has to hold the user's present password in its key %s: Keystone lets nobody read it", name, key)}
	}
	return nil
}

// keep lets the credential in use do what the spec says.
func keep(w *observation) *controller.Decision {
	if !w.hasValidCredential() {
		return nil
	}
	return w.target.keep(w)
}

// recordMissingConsumers records which consumers do not exist while the credential is there. This pass has read the Secret before it looked for
// them, and writes over the version that it read: what is made later reads this credential or a later one.
func recordMissingConsumers(w *observation) *controller.Decision {
	if !w.hasValidCredential() || w.maybeInUse() {
		return nil
	}
	var absent []string
	for _, c := range w.consumers {
		if c.Template() == nil && !slices.Contains(w.record.MissingConsumers, c.String()) {
			absent = append(absent, c.String())
		}
	}
	if len(absent) == 0 {
		return nil
	}
	return &controller.Decision{Name: "ConsumersAwaited", Action: writeRecord(w, w.record.withMissingConsumers(absent))}
}

// markConsumers notes on a consumer that it was made after the credential, so that a new one is not rolled to have what it has.
func markConsumers(w *observation) *controller.Decision {
	if !w.hasValidCredential() {
		return nil
	}
	for _, c := range w.consumers {
		if c.NeverAnnotated(w.annotation()) && !c.HasAnnotation(w.annotation(), w.record.ID) && slices.Contains(w.record.MissingConsumers, c.String()) {
			return &controller.Decision{Name: "ConsumerMarked", Action: func(ctx context.Context, env *controller.Env) error {
				return c.Mark(ctx, env.Client, w.annotation(), w.record.ID)
			}}
		}
	}
	return nil
}

// rollConsumers restarts the pods of every other consumer in the course of its roll-out: those that carry the annotation were started
// after the credential was written, which is the proof that they have it.
func rollConsumers(w *observation) *controller.Decision {
	if !w.hasValidCredential() {
		return nil
	}
	for _, c := range w.consumers {
		if c.Template() == nil || c.Named(w.annotation(), w.record.ID) || c.HasAnnotation(w.annotation(), w.record.ID) {
			continue
		}
		if w.maybeInUse() {
			return &controller.Decision{Name: "Settling", Wait: "gives kubelets time to see the new credential", At: w.record.Since.Add(settle)}
		}
		return &controller.Decision{
			Name: "ConsumerRolled", Note: fmt.Sprintf("rolls %s for it to have credential %s", c, w.record.ID),
			Action: func(ctx context.Context, env *controller.Env) error {
				return c.RestartWithAnnotation(ctx, env.Client, w.annotation(), w.record.ID)
			},
		}
	}
	return nil
}

// maybeInUse reports whether a kubelet may still see the credential before this one.
func (obs *observation) maybeInUse() bool {
	return obs.record.Previous != "" && obs.record.Since.Add(settle).After(obs.now)
}

// recordDistribution records that every consumer has the credential.
func recordDistribution(w *observation) *controller.Decision {
	if w.state != intact || w.record.Distributed != nil || w.consumersPendingReason() != "" {
		return nil
	}
	rec := w.record
	rec.Distributed = &w.now
	if !w.target.overlaps() {
		rec = rec.revoked() // The old one ended with the making of the new one.
	}
	s := &controller.Decision{
		Name: "CredentialDistributed", Action: writeRecord(w, rec),
		Note: fmt.Sprintf("every consumer has credential %s", w.record.ID),
	}
	if late := w.outdatedConsumers(); len(late) > 0 {
		s.Warning, s.Note = true, late[0].staleCredentials()
	}
	return s
}

// mint makes the staged credential, and puts it into use when it is there. Both can be done again.
func mint(w *observation) *controller.Decision {
	if w.record.Staged == "" || w.staged() == "" {
		return nil
	}
	id, s := w.target.generateCredential(w)
	if s != nil {
		return s
	}
	return &controller.Decision{
		Name: "CredentialReplaced", Action: promote(w, id),
		Note: fmt.Sprintf("Secret %s holds %s", w.secret.Name, w.target.title(id)),
	}
}

// adopt takes the password that someone has put into the Secret.
func adopt(w *observation) *controller.Decision {
	if w.target.overlaps() || w.state == intact {
		return nil
	}
	return &controller.Decision{
		Name: "PasswordAdopted", Action: adoptPassword(w),
		Note: fmt.Sprintf("took over the password in Secret %s", w.rotation.Spec.SecretName),
	}
}

// replaceBroken makes another credential in the place of one that is missing, was edited or is revoked, suspended or not: without one,
// nothing works.
func replaceBroken(w *observation) *controller.Decision {
	if !w.target.overlaps() || w.hasValidCredential() {
		return nil
	}
	if !w.credentialsListed {
		return &controller.Decision{Name: "KeystoneAwaited", Wait: w.errorMessage}
	}
	s := &controller.Decision{Name: "CredentialStaged", Action: stage(w)}
	switch {
	case w.credentialMissing():
		s.Warning, s.Note = true, w.target.isLost(w.record.ID)
	case w.state == edited, w.state == unrecorded:
		s.Warning, s.Note = true, fmt.Sprintf("Secret %s was edited: another credential takes the place of what it holds", w.secret.Name)
	}
	return s
}

// revoke revokes what was condemned, one by one.
func revoke(w *observation) *controller.Decision {
	if !w.credentialsListed {
		return nil
	}
	for _, id := range w.record.PendingRevocation {
		if _, ok := w.find(id, ""); ok {
			return w.target.revoke(w, id)
		}
	}
	return nil
}

// markForRevocation records what nobody uses any more: from then on it is revoked, whoever leads. That the Secret is still as it was when this was
// proven makes it certain that none of them has come into use.
func markForRevocation(w *observation) *controller.Decision {
	if !w.target.overlaps() || !w.hasValidCredential() || !w.credentialsListed || w.record.Distributed == nil {
		return nil
	}
	strays := w.orphanedCredentials()
	switch {
	case len(strays) == 0 && w.record.OthersRevoked:
		return nil
	case len(strays) == 0:
		return &controller.Decision{Name: "OthersRevoked", Action: writeRecord(w, w.record.revoked())}
	case w.consumersPendingReason() != "":
		return &controller.Decision{Name: "RevocationWaits", Wait: w.consumersPendingReason()}
	case w.graceEnd().After(w.now):
		return &controller.Decision{Name: "Grace", At: w.graceEnd()}
	}
	rec := w.record
	rec.PendingRevocation, rec.OthersRevoked = strays, false
	return &controller.Decision{Name: "CredentialsCondemned", Action: writeRecord(w, rec)}
}

// rotate stages a new credential when it is time, and the last rotation is over.
func rotate(w *observation) *controller.Decision {
	due := w.nextRotationTime()
	switch {
	case w.consumersPendingReason() != "":
		return &controller.Decision{Name: "RotationWaits", Wait: w.consumersPendingReason()}
	case w.errorMessage != "":
		return &controller.Decision{Name: "KeystoneAwaited", Wait: w.errorMessage}
	case w.rotation.Spec.Suspend:
		return &controller.Decision{Name: "Suspended"}
	case due.After(w.now):
		return &controller.Decision{Name: "Idle", At: due}
	}
	return &controller.Decision{Name: "CredentialStaged", Action: stage(w)}
}

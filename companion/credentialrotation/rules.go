package credentialrotation

import (
	"context"
	"fmt"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

const (
	// rotateAnnotation of a CredentialRotation triggers an immediate rotation. Its value is the ID of the current credential
	// (status.currentID), so that an old annotation does not trigger another rotation.
	rotateAnnotation = "c5c3.io/rotate"

	// restartDelay is the delay between writing a new credential and restarting pods: a kubelet may still serve the previous
	// content.
	restartDelay = 10 * time.Second
	// poll is the interval for resources that are not watched, retryInterval the interval while an operator is working.
	poll          = 30 * time.Second
	retryInterval = 2 * time.Second
	// expectedDuration is how long operators usually take. After that, an operation may take days, so polling every two
	// seconds is not useful.
	expectedDuration = 2 * time.Minute
)

// rules are evaluated in this order; the first that returns a step decides.
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

// next selects the next step. Workloads and Secrets are watched. Keystone, pods and the objects of queues, whose kinds may
// not be installed, are not.
func next(w *observation) controller.Decision {
	s := controller.First(rules, w)
	s.Expected = s.Action != nil
	s.Status = func() { w.rotation.Status = report(w, s) }
	switch {
	case s.Action != nil: // Requeued immediately.
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
		return &controller.Decision{Name: "SecretNotOwned", Wait: fmt.Sprintf("Secret %s is not modified: %s", name, w.secretOwner)}
	case !w.target.overlaps() && w.value() == "":
		_, key := w.target.keys()
		return &controller.Decision{Name: "PasswordMissing", Wait: fmt.Sprintf(
			"Secret %s must contain the current password of the user in key %s: it cannot be read from Keystone", name, key)}
	}
	return nil
}

// keep updates the permissions of the credential in use.
func keep(w *observation) *controller.Decision {
	if !w.hasValidCredential() {
		return nil
	}
	return w.target.keep(w)
}

// recordMissingConsumers records which consumers do not exist while the credential exists. The pass reads the Secret before
// it reads the consumers, and writes over the version that it read: a consumer that is created later reads this credential or
// a later one.
func recordMissingConsumers(w *observation) *controller.Decision {
	if !w.hasValidCredential() || w.maybeInUse() {
		return nil
	}
	absent := consumer.Missing(w.consumers, w.record.MissingConsumers)
	if len(absent) == 0 {
		return nil
	}
	return &controller.Decision{Name: "WaitingForConsumers", Action: writeRecord(w, w.record.withMissingConsumers(absent))}
}

// markConsumers annotates consumers that were created after the credential, so that they are not restarted for a credential
// that they already have.
func markConsumers(w *observation) *controller.Decision {
	if !w.hasValidCredential() {
		return nil
	}
	created, ok := consumer.FirstCreated(w.consumers, w.annotation(), w.record.ID, w.record.MissingConsumers)
	if !ok {
		return nil
	}
	return &controller.Decision{Name: "ConsumerAnnotated", Action: func(ctx context.Context, env *controller.Env) error {
		return created.Mark(ctx, env.Client, w.annotation(), w.record.ID)
	}}
}

// rollConsumers restarts the pods of the other consumers with a rollout: a pod with the annotation was started after the
// credential was written, which proves that it has the credential.
func rollConsumers(w *observation) *controller.Decision {
	if !w.hasValidCredential() {
		return nil
	}
	for _, c := range w.consumers {
		if c.Template() == nil || c.Named(w.annotation(), w.record.ID) || c.HasAnnotation(w.annotation(), w.record.ID) {
			continue
		}
		if w.maybeInUse() {
			return &controller.Decision{Name: "WaitingForKubelets", Wait: "waiting for kubelets to update the mounted Secret",
				At: w.record.Since.Add(restartDelay)}
		}
		return &controller.Decision{
			Name: "ConsumerRestarted", Note: fmt.Sprintf("restarted %s to distribute credential %s", c, w.record.ID),
			Action: func(ctx context.Context, env *controller.Env) error {
				return c.RestartWithAnnotation(ctx, env.Client, w.annotation(), w.record.ID)
			},
		}
	}
	return nil
}

// maybeInUse reports whether a kubelet may still serve the previous credential.
func (obs *observation) maybeInUse() bool {
	return obs.record.Previous != "" && obs.record.Since.Add(restartDelay).After(obs.now)
}

// recordDistribution records that every consumer has the credential.
func recordDistribution(w *observation) *controller.Decision {
	if w.state != intact || w.record.Distributed != nil || w.consumersPendingReason() != "" {
		return nil
	}
	rec := w.record
	rec.Distributed = &w.now
	if !w.target.overlaps() {
		rec = rec.revoked() // The old password became invalid when the new one was set.
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

// mint creates the staged credential and puts it into use once it exists. Both steps are idempotent.
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

// adopt adopts a password that was written into the Secret by a user.
func adopt(w *observation) *controller.Decision {
	if w.target.overlaps() || w.state == intact {
		return nil
	}
	return &controller.Decision{
		Name: "PasswordAdopted", Action: adoptPassword(w),
		Note: fmt.Sprintf("adopted the password in Secret %s", w.rotation.Spec.SecretName),
	}
}

// replaceBroken replaces a credential that is missing, modified or revoked, even if the rotation is suspended: without a
// valid credential, consumers cannot work.
func replaceBroken(w *observation) *controller.Decision {
	if !w.target.overlaps() || w.hasValidCredential() {
		return nil
	}
	if !w.credentialsListed {
		return &controller.Decision{Name: "WaitingForKeystone", Wait: w.errorMessage}
	}
	s := &controller.Decision{Name: "CredentialStaged", Action: stage(w)}
	switch {
	case w.credentialMissing():
		s.Warning, s.Note = true, w.target.missingMessage(w.record.ID)
	case w.state == edited, w.state == unrecorded:
		s.Warning, s.Note = true, fmt.Sprintf("Secret %s was modified: creating a new credential to replace its content", w.secret.Name)
	}
	return s
}

// revoke revokes the credentials in record.PendingRevocation one by one.
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

// markForRevocation records the unused credentials. From then on they are revoked by any leader. The write succeeds only if
// the Secret is unchanged since they were proven to be unused, so none of them can be in use.
func markForRevocation(w *observation) *controller.Decision {
	if !w.target.overlaps() || !w.hasValidCredential() || !w.credentialsListed || w.record.Distributed == nil {
		return nil
	}
	orphans := w.orphanedCredentials()
	switch {
	case len(orphans) == 0 && w.record.OtherCredentialsRevoked:
		return nil
	case len(orphans) == 0:
		return &controller.Decision{Name: "OtherCredentialsRevoked", Action: writeRecord(w, w.record.revoked())}
	case w.consumersPendingReason() != "":
		return &controller.Decision{Name: "RevocationPending", Wait: w.consumersPendingReason()}
	case w.graceEnd().After(w.now):
		return &controller.Decision{Name: "GracePeriod", At: w.graceEnd()}
	}
	rec := w.record
	rec.PendingRevocation, rec.OtherCredentialsRevoked = orphans, false
	return &controller.Decision{Name: "CredentialsPendingRevocation", Action: writeRecord(w, rec)}
}

// rotate stages a new credential when it is due and the last rotation is complete.
func rotate(w *observation) *controller.Decision {
	rotationTime := w.nextRotationTime()
	switch {
	case w.consumersPendingReason() != "":
		return &controller.Decision{Name: "RotationBlocked", Wait: w.consumersPendingReason()}
	case w.errorMessage != "":
		return &controller.Decision{Name: "WaitingForKeystone", Wait: w.errorMessage}
	case w.rotation.Spec.Suspend:
		return &controller.Decision{Name: "Suspended"}
	case rotationTime.After(w.now):
		return &controller.Decision{Name: "Idle", At: rotationTime}
	}
	return &controller.Decision{Name: "CredentialStaged", Action: stage(w)}
}

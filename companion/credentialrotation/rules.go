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
	poll  = 30 * time.Second
	hurry = 2 * time.Second
	// prompt is how long they take if nothing is wrong. What takes longer may take days, and is no reason to ask every two seconds.
	prompt = 2 * time.Minute
)

// rules are asked in this order for the next step; the first that has one decides.
var rules = []func(*world) *controller.Step{
	refuse,
	keep,
	awaitConsumers,
	markConsumers,
	rollConsumers,
	recordDistribution,
	mint,
	adopt,
	replaceBroken,
	revoke,
	condemn,
	rotate,
}

// next finds the next step. Workloads and Secrets are watched; Keystone, pods, and objects of queues, whose kinds need not be installed,
// are not.
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
	if s.Do == nil && w.unsettled {
		s.After = min(s.After, poll)
	}
	if s.Do == nil && w.unsettled && w.lately {
		s.After = min(s.After, hurry)
	}
	return s
}

func refuse(w *world) *controller.Step {
	name := w.rotation.Spec.SecretName
	switch {
	case w.state == foreign:
		return &controller.Step{Name: "NotOurs", Wait: fmt.Sprintf("Secret %s is not touched: %s", name, w.whose)}
	case !w.target.overlaps() && w.value() == "":
		_, key := w.target.keys()
		return &controller.Step{Name: "PasswordMissing", Wait: fmt.Sprintf(
			"Secret %s has to hold the user's present password in its key %s: Keystone lets nobody read it", name, key)}
	}
	return nil
}

// keep lets the credential in use do what the spec says.
func keep(w *world) *controller.Step {
	if !w.usable() {
		return nil
	}
	return w.target.keep(w)
}

// awaitConsumers records which consumers do not exist while the credential is there. This pass has read the Secret before it looked for
// them, and writes over the version that it read: what is made later reads this credential or a later one.
func awaitConsumers(w *world) *controller.Step {
	if !w.usable() || w.settles() {
		return nil
	}
	var absent []string
	for _, c := range w.consumers {
		if c.Template() == nil && !slices.Contains(w.record.Awaited, c.String()) {
			absent = append(absent, c.String())
		}
	}
	if len(absent) == 0 {
		return nil
	}
	return &controller.Step{Name: "ConsumersAwaited", Do: writeRecord(w, w.record.awaiting(absent))}
}

// markConsumers notes on a consumer that it was made after the credential, so that a new one is not rolled to have what it has.
func markConsumers(w *world) *controller.Step {
	if !w.usable() {
		return nil
	}
	for _, c := range w.consumers {
		if c.Unnamed(w.annotation()) && !c.Marked(w.annotation(), w.record.ID) && slices.Contains(w.record.Awaited, c.String()) {
			return &controller.Step{Name: "ConsumerMarked", Do: func(ctx context.Context, env *controller.Env) error {
				return c.Mark(ctx, env.Client, w.annotation(), w.record.ID)
			}}
		}
	}
	return nil
}

// rollConsumers restarts the pods of every other consumer in the course of its roll-out: those that carry the annotation were started
// after the credential was written, which is the proof that they have it.
func rollConsumers(w *world) *controller.Step {
	if !w.usable() {
		return nil
	}
	for _, c := range w.consumers {
		if c.Template() == nil || c.Named(w.annotation(), w.record.ID) || c.Marked(w.annotation(), w.record.ID) {
			continue
		}
		if w.settles() {
			return &controller.Step{Name: "Settling", Wait: "gives kubelets time to see the new credential", At: w.record.Since.Add(settle)}
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

// settles reports whether a kubelet may still see the credential before this one.
func (w *world) settles() bool {
	return w.record.Previous != "" && w.record.Since.Add(settle).After(w.now)
}

// recordDistribution records that every consumer has the credential.
func recordDistribution(w *world) *controller.Step {
	if w.state != intact || w.record.Distributed != nil || w.waitsForConsumers() != "" {
		return nil
	}
	rec := w.record
	rec.Distributed = &w.now
	if !w.target.overlaps() {
		rec = rec.revoked() // The old one ended with the making of the new one.
	}
	s := &controller.Step{
		Name: "CredentialDistributed", Do: writeRecord(w, rec),
		Note: fmt.Sprintf("every consumer has credential %s", w.record.ID),
	}
	if late := w.late(); len(late) > 0 {
		s.Warning, s.Note = true, late[0].leftBehind()
	}
	return s
}

// mint makes the staged credential, and puts it into use when it is there. Both can be done again.
func mint(w *world) *controller.Step {
	if w.record.Staged == "" || w.staged() == "" {
		return nil
	}
	id, s := w.target.mint(w)
	if s != nil {
		return s
	}
	return &controller.Step{
		Name: "CredentialReplaced", Do: promote(w, id),
		Note: fmt.Sprintf("Secret %s holds %s", w.secret.Name, w.target.title(id)),
	}
}

// adopt takes the password that someone has put into the Secret.
func adopt(w *world) *controller.Step {
	if w.target.overlaps() || w.state == intact {
		return nil
	}
	return &controller.Step{
		Name: "PasswordAdopted", Do: adoptPassword(w),
		Note: fmt.Sprintf("took over the password in Secret %s", w.rotation.Spec.SecretName),
	}
}

// replaceBroken makes another credential in the place of one that is missing, was edited or is revoked, suspended or not: without one,
// nothing works.
func replaceBroken(w *world) *controller.Step {
	if !w.target.overlaps() || w.usable() {
		return nil
	}
	if !w.known {
		return &controller.Step{Name: "KeystoneAwaited", Wait: w.problem}
	}
	s := &controller.Step{Name: "CredentialStaged", Do: stage(w)}
	switch {
	case w.gone():
		s.Warning, s.Note = true, w.target.lost(w.record.ID)
	case w.state == edited, w.state == unrecorded:
		s.Warning, s.Note = true, fmt.Sprintf("Secret %s was edited: another credential takes the place of what it holds", w.secret.Name)
	}
	return s
}

// revoke revokes what was condemned, one by one.
func revoke(w *world) *controller.Step {
	if !w.known {
		return nil
	}
	for _, id := range w.record.Condemned {
		if _, ok := w.find(id, ""); ok {
			return w.target.revoke(w, id)
		}
	}
	return nil
}

// condemn records what nobody uses any more: from then on it is revoked, whoever leads. That the Secret is still as it was when this was
// proven makes it certain that none of them has come into use.
func condemn(w *world) *controller.Step {
	if !w.target.overlaps() || !w.usable() || !w.known || w.record.Distributed == nil {
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

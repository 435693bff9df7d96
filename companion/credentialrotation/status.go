package credentialrotation

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// Conditions of a CredentialRotation.
const (
	// conditionReady: the Secret holds a credential, and as far as is known it works.
	conditionReady = "Ready"
	// conditionDistributed: every consumer has it.
	conditionDistributed = "Distributed"
	// conditionRevoked: no earlier one is valid.
	conditionRevoked = "Revoked"
)

// report is the status that follows from the world and its next step.
func report(w *world, s controller.Step) c5c3v1.CredentialRotationStatus {
	status := *w.rotation.Status.DeepCopy()
	status.ObservedGeneration = w.rotation.Generation
	status.Phase = w.phase()
	status.CurrentID, status.PreviousID = w.record.ID, w.record.Previous
	status.LastRotation, status.NextRotation = nil, nil
	if w.record.ID != "" {
		status.LastRotation = &metav1.Time{Time: w.record.Since}
		if !w.rotation.Spec.Suspend {
			status.NextRotation = &metav1.Time{Time: w.due()}
		}
	}
	set := func(name string, c condition.State) {
		condition.Set(&status.Conditions, name, w.rotation.Generation, w.now, c)
	}
	set(conditionDistributed, judgeDistributed(w))
	set(conditionRevoked, judgeRevoked(w, s))
	set(conditionReady, judgeReady(w, s))
	return status
}

func (w *world) phase() string {
	switch {
	case w.record.Staged != "":
		return "Minting"
	case w.record.ID == "":
		return "Idle"
	case w.record.Distributed == nil:
		return "Distributing"
	case len(w.record.Condemned) > 0:
		return "Revoking"
	case !w.record.Clean:
		return "Grace"
	}
	return "Idle"
}

func judgeReady(w *world, s controller.Step) condition.State {
	lacking, what := w.target.lacks(w)
	switch {
	case w.usable() && lacking != "": // Whatever else is waited for: who uses it cannot do all that it has to.
		return condition.False(lacking, what)
	case w.usable() && s.Wait != "" && !w.rotation.Spec.Suspend && !w.due().After(w.now):
		return condition.True("RotationWaits", fmt.Sprintf("credential %s is in use; the rotation that was due at %s waits: %s",
			w.record.ID, w.due().Format(time.RFC3339), s.Wait))
	case w.usable() && w.problem != "":
		return condition.True("KeystoneAwaited", fmt.Sprintf(
			"credential %s is in use, but could not be replaced now: %s", w.record.ID, w.problem))
	case w.usable():
		return condition.True("CredentialInUse", fmt.Sprintf("credential %s is in use", w.record.ID))
	case s.Do == nil && s.Wait != "":
		return condition.False(s.Name, s.Wait)
	}
	return condition.False("InProgress", "a credential is being made or taken over")
}

func judgeDistributed(w *world) condition.State {
	if !w.usable() {
		return condition.False("NoCredential", "there is no credential in order")
	}
	if why := w.waitsForConsumers(); why != "" {
		return condition.False("Waiting", why)
	}
	if late := w.late(); len(late) > 0 {
		return condition.False("LeftBehind", late[0].leftBehind())
	}
	return condition.True("EveryConsumer", fmt.Sprintf("every consumer has credential %s", w.record.ID))
}

func judgeRevoked(w *world, s controller.Step) condition.State {
	strays := w.strays()
	switch {
	case w.record.ID == "":
		return condition.False("NoCredential", "there is no credential in order")
	case w.record.Clean && len(strays) == 0:
		return condition.True("OnlyOne", fmt.Sprintf("no other credential than %s is valid", w.record.ID))
	case w.record.Distributed == nil:
		return condition.False("Distributing", "the one before is revoked when every consumer has the new one")
	case s.Name == "Grace":
		verb := map[bool]string{true: "is", false: "are"}[len(strays) == 1]
		return condition.False("Grace", fmt.Sprintf("%s %s kept until %s", strings.Join(strays, ", "), verb, s.At.Format(time.RFC3339)))
	case s.Wait != "":
		return condition.False("Waiting", s.Wait)
	}
	return condition.False("Revoking", "earlier ones are being revoked")
}

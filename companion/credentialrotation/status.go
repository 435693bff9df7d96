package credentialrotation

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/event"
)

// Conditions of a CredentialRotation.
const (
	// conditionReady: the Secret holds a credential, and as far as is known it works.
	conditionReady = "Ready"
	// conditionDistributed: every consumer has it.
	conditionDistributed = "Distributed"
	// conditionRevoked: no earlier one is valid.
	conditionRevoked = "Revoked"

	// messageLimit is the longest message that the API takes in a condition, in bytes.
	messageLimit = 32768
)

// report is the status that follows from the world and its next step.
func report(w *world, s *step) c5c3v1.CredentialRotationStatus {
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
	for _, c := range []struct {
		name  string
		judge func(*world, *step) (bool, string, string)
	}{
		{conditionDistributed, judgeDistributed},
		{conditionRevoked, judgeRevoked},
		{conditionReady, judgeReady},
	} {
		ok, reason, message := c.judge(w, s)
		condition := metav1.Condition{
			Type: c.name, Status: metav1.ConditionFalse, Reason: reason, Message: event.Cut(message, messageLimit),
			ObservedGeneration: w.rotation.Generation, LastTransitionTime: metav1.Time{Time: w.now},
		}
		if ok {
			condition.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&status.Conditions, condition)
	}
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

func judgeReady(w *world, s *step) (ok bool, reason, message string) {
	switch {
	case w.usable() && s.wait != "" && !w.rotation.Spec.Suspend && !w.due().After(w.now):
		return true, "RotationWaits", fmt.Sprintf("credential %s is in use; the rotation that was due at %s waits: %s",
			w.record.ID, w.due().Format(time.RFC3339), s.wait)
	case w.usable() && w.problem != "":
		return true, "KeystoneAwaited", fmt.Sprintf("credential %s is in use, but could not be replaced now: %s", w.record.ID, w.problem)
	case w.usable():
		return true, "CredentialInUse", fmt.Sprintf("credential %s is in use", w.record.ID)
	case s.do == nil && s.wait != "":
		return false, s.name, s.wait
	}
	return false, "InProgress", "a credential is being made or taken over"
}

func judgeDistributed(w *world, _ *step) (ok bool, reason, message string) {
	if !w.usable() {
		return false, "NoCredential", "there is no credential in order"
	}
	if why := w.waitsForConsumers(); why != "" {
		return false, "Waiting", why
	}
	return true, "EveryConsumer", fmt.Sprintf("every consumer has credential %s", w.record.ID)
}

func judgeRevoked(w *world, s *step) (ok bool, reason, message string) {
	strays := w.strays()
	switch {
	case w.record.ID == "":
		return false, "NoCredential", "there is no credential in order"
	case w.record.Clean && len(strays) == 0:
		return true, "OnlyOne", fmt.Sprintf("no other credential than %s is valid", w.record.ID)
	case w.record.Distributed == nil:
		return false, "Distributing", "the one before is revoked when every consumer has the new one"
	case s.name == "Grace":
		return false, "Grace", fmt.Sprintf("%s %s until %s", strings.Join(strays, ", "), isKept(len(strays)), s.at.Format(time.RFC3339))
	case s.wait != "":
		return false, "Waiting", s.wait
	}
	return false, "Revoking", "earlier ones are being revoked"
}

func isKept(n int) string {
	if n == 1 {
		return "is kept"
	}
	return "are kept"
}

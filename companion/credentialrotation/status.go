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
	// conditionReady: the Secret contains a credential that is valid as far as the controller knows.
	conditionReady = "Ready"
	// conditionDistributed: every consumer has the credential.
	conditionDistributed = "Distributed"
	// conditionRevoked: no earlier credential is valid.
	conditionRevoked = "Revoked"
)

// report returns the status for the observation and its next step.
func report(w *observation, s controller.Decision) c5c3v1.CredentialRotationStatus {
	status := *w.rotation.Status.DeepCopy()
	status.ObservedGeneration = w.rotation.Generation
	status.Phase = w.phase()
	status.CurrentID, status.PreviousID = w.record.ID, w.record.Previous
	status.LastRotation, status.NextRotation = nil, nil
	if w.record.ID != "" {
		status.LastRotation = &metav1.Time{Time: w.record.Since}
		if !w.rotation.Spec.Suspend {
			status.NextRotation = &metav1.Time{Time: w.nextRotationTime()}
		}
	}
	set := func(name string, c condition.State) {
		condition.Set(&status.Conditions, name, w.rotation.Generation, w.now, c)
	}
	set(conditionDistributed, distributedCondition(w))
	set(conditionRevoked, revokedCondition(w, s))
	set(conditionReady, readyCondition(w, s))
	return status
}

func (obs *observation) phase() string {
	switch {
	case obs.record.Staged != "":
		return "CreatingCredential"
	case obs.record.ID == "":
		return "Idle"
	case obs.record.Distributed == nil:
		return "Distributing"
	case len(obs.record.PendingRevocation) > 0:
		return "Revoking"
	case !obs.record.OtherCredentialsRevoked:
		return "GracePeriod"
	}
	return "Idle"
}

func readyCondition(w *observation, s controller.Decision) condition.State {
	lacking, detail := w.target.missingRoles(w)
	switch {
	case w.hasValidCredential() && lacking != "": // Has precedence: consumers lack permissions.
		return condition.False(lacking, detail)
	case w.hasValidCredential() && s.Wait != "" && !w.rotation.Spec.Suspend && !w.nextRotationTime().After(w.now):
		return condition.True("RotationBlocked", fmt.Sprintf("credential %s is in use; the rotation due at %s is waiting: %s",
			w.record.ID, w.nextRotationTime().Format(time.RFC3339), s.Wait))
	case w.hasValidCredential() && w.errorMessage != "":
		return condition.True("WaitingForKeystone", fmt.Sprintf(
			"credential %s is in use, but cannot be replaced now: %s", w.record.ID, w.errorMessage))
	case w.hasValidCredential():
		return condition.True("CredentialInUse", fmt.Sprintf("credential %s is in use", w.record.ID))
	case s.Action == nil && s.Wait != "":
		return condition.False(s.Name, s.Wait)
	}
	return condition.False("InProgress", "a credential is being created or adopted")
}

func distributedCondition(w *observation) condition.State {
	if !w.hasValidCredential() {
		return condition.False("NoCredential", "no valid credential exists")
	}
	if why := w.consumersPendingReason(); why != "" {
		return condition.False("Waiting", why)
	}
	if late := w.outdatedConsumers(); len(late) > 0 {
		return condition.False("ConsumersOutOfDate", late[0].staleCredentials())
	}
	return condition.True("DistributedToConsumers", fmt.Sprintf("every consumer has credential %s", w.record.ID))
}

func revokedCondition(w *observation, s controller.Decision) condition.State {
	orphans := w.orphanedCredentials()
	switch {
	case w.record.ID == "":
		return condition.False("NoCredential", "no valid credential exists")
	case w.record.OtherCredentialsRevoked && len(orphans) == 0:
		return condition.True("OtherCredentialsRevoked", fmt.Sprintf("no other credential than %s is valid", w.record.ID))
	case w.record.Distributed == nil:
		return condition.False("Distributing", "the previous credential is revoked when every consumer has the new one")
	case s.Name == "GracePeriod":
		verb := map[bool]string{true: "is", false: "are"}[len(orphans) == 1]
		return condition.False("GracePeriod", fmt.Sprintf("%s %s kept until %s", strings.Join(orphans, ", "), verb, s.At.Format(time.RFC3339)))
	case s.Wait != "":
		return condition.False("Waiting", s.Wait)
	}
	return condition.False("Revoking", "earlier credentials are being revoked")
}

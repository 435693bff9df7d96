package keyrepository

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// Conditions of a KeyRepository.
const (
	// conditionReady: the keys exist as they were written, and the spec can be fulfilled.
	conditionReady = "Ready"
	// conditionDistributed: every pod of every consumer was started after the keys were written.
	conditionDistributed = "Distributed"
	// conditionMigrated: all stored data is encrypted with the primary key (Credential keys with spec.migrate only).
	conditionMigrated = "Migrated"
	// conditionBackedUp: the store has these keys (with spec.backup only).
	conditionBackedUp = "BackedUp"
)

// report returns the status for the observation and its next step.
func report(w *observation, s controller.Decision) openstackv1.KeyRepositoryStatus {
	status := *w.repo.Status.DeepCopy()
	status.ObservedGeneration = w.repo.Generation
	status.NeededKeys = int32(min(w.neededKeys.Keys, 1<<30)) //nolint:gosec // bounded in the line itself
	status.NextRotation = nil
	if w.state == intact {
		status.Keys = nil
		for _, index := range w.set.Indexes() {
			status.Keys = append(status.Keys, int32(index)) //nolint:gosec // keys.Parse reads 31 bits
		}
		status.Primary = int32(w.set.Primary()) //nolint:gosec // the same
		status.ContentHash = w.record.Hash
		status.LastRotation = &metav1.Time{Time: w.record.Rotated}
		if at := w.nextRotation(); !at.IsZero() {
			status.NextRotation = &metav1.Time{Time: at}
		}
		if w.repo.Spec.Backup != nil {
			if at, ok, _ := w.backup.backedUp(w.backupID()); ok && !at.IsZero() {
				status.LastBackup = &metav1.Time{Time: at}
			}
		}
	}
	for _, c := range []struct {
		name    string
		applies bool
		state   condition.State
	}{
		{conditionDistributed, true, w.distributionCondition(w.waitsFor(), "AllPodsRestarted",
			"every pod was started after the keys with primary %d were written")},
		{conditionMigrated, w.migrates(), w.distributionCondition(w.migrationPendingReason(), "Migrated",
			"all stored data is encrypted with key %d")},
		{conditionBackedUp, w.repo.Spec.Backup != nil, w.distributionCondition(w.backupPendingReason(), "Pushed",
			w.store()+" has the keys with primary %d")},
		{conditionReady, true, readinessCondition(w, s)},
	} {
		if c.applies {
			condition.Set(&status.Conditions, c.name, w.repo.Generation, w.now, c.state)
		} else {
			meta.RemoveStatusCondition(&status.Conditions, c.name)
		}
	}
	return status
}

// nextRotation returns when the keys will rotate if only time delays them; the zero time if they will not.
func (obs *observation) nextRotation() time.Time {
	if obs.specError != nil || obs.repo.Spec.Suspend {
		return time.Time{}
	}
	at := obs.nextRotationTime()
	if free, ok := obs.record.NeededUntil.Free(obs.set, obs.limit); ok && free.After(at) {
		at = free
	}
	return at
}

func readinessCondition(w *observation, s controller.Decision) condition.State {
	switch {
	case w.specError != nil:
		return condition.False("InvalidSpec", w.specError.Error())
	case w.state != intact && s.Action == nil:
		return condition.False(s.Name, s.Wait)
	case w.state != intact:
		return condition.False("InProgress", "the keys are being created, restored or adopted")
	case s.Wait != "" && !w.repo.Spec.Suspend && !w.nextRotationTime().After(w.now):
		return condition.True("RotationBlocked", fmt.Sprintf("keys are valid; the rotation due at %s is waiting: %s",
			w.nextRotationTime().Format(time.RFC3339), s.Wait))
	}
	return condition.True("KeysReady", fmt.Sprintf("keys %v exist: 0 is staged, %d is primary", w.set.Indexes(), w.set.Primary()))
}

// distributionCondition returns True if the keys are intact and waitsFor is empty. The message contains a verb for the
// primary key.
func (obs *observation) distributionCondition(waitsFor, reason, message string) condition.State {
	if obs.state != intact {
		return condition.False("NoKeys", "no valid keys exist")
	}
	if waitsFor != "" {
		return condition.False("Waiting", waitsFor)
	}
	return condition.True(reason, fmt.Sprintf(message, obs.set.Primary()))
}

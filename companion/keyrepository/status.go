package keyrepository

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

// Conditions of a KeyRepository.
const (
	// conditionReady: the keys are there, as they were written, and the spec can be kept.
	conditionReady = "Ready"
	// conditionDistributed: every pod of every consumer was started after the keys were written.
	conditionDistributed = "Distributed"
	// conditionMigrated: everything stored is encrypted with the primary key (Credential keys with spec.migrate only).
	conditionMigrated = "Migrated"
	// conditionBackedUp: the store has these keys (with spec.backup only).
	conditionBackedUp = "BackedUp"
)

// report is the status that follows from the world and its next step.
func report(w *world, s *step) openstackv1.KeyRepositoryStatus {
	status := *w.repo.Status.DeepCopy()
	status.ObservedGeneration = w.repo.Generation
	status.NeededKeys = int32(min(w.need.Keys, 1<<30)) //nolint:gosec // bounded in the line itself
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
		name  string
		apply bool
		judge func(*world, *step) (bool, string, string)
	}{
		{conditionDistributed, true, judgeDistributed},
		{conditionMigrated, w.migrates(), judgeMigrated},
		{conditionBackedUp, w.repo.Spec.Backup != nil, judgeBackedUp},
		{conditionReady, true, judgeReady},
	} {
		if !c.apply {
			meta.RemoveStatusCondition(&status.Conditions, c.name)
			continue
		}
		ok, reason, message := c.judge(w, s)
		condition := metav1.Condition{
			Type: c.name, Status: metav1.ConditionFalse, Reason: reason, Message: message,
			ObservedGeneration: w.repo.Generation, LastTransitionTime: metav1.Time{Time: w.now},
		}
		if ok {
			condition.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	return status
}

// nextRotation is when the keys will rotate if nothing but time holds them back; the zero time if they will not.
func (w *world) nextRotation() time.Time {
	if w.refusal != nil || w.repo.Spec.Suspend {
		return time.Time{}
	}
	at := w.due()
	if free, ok := w.record.NeededUntil.Free(w.set, w.limit); ok && free.After(at) {
		at = free
	}
	return at
}

func judgeReady(w *world, s *step) (ok bool, reason, message string) {
	switch {
	case w.refusal != nil:
		return false, "Refused", w.refusal.Error()
	case w.state != intact && s.do == nil:
		return false, s.name, s.wait
	case w.state != intact:
		return false, "InProgress", "the keys are being made, restored or taken over"
	case s.wait != "" && !w.repo.Spec.Suspend && !w.due().After(w.now):
		return true, "RotationWaits", fmt.Sprintf("the keys are there; the rotation that was due at %s waits: %s",
			w.due().Format(time.RFC3339), s.wait)
	}
	return true, "KeysReady", fmt.Sprintf("there are keys %v: 0 is staged, %d is primary", w.set.Indexes(), w.set.Primary())
}

func judgeDistributed(w *world, _ *step) (ok bool, reason, message string) {
	if w.state != intact {
		return false, "NoKeys", "there are no keys in order"
	}
	if why := w.waitsFor(); why != "" {
		return false, "Waiting", why
	}
	return true, "EveryPod", fmt.Sprintf("every pod was started after the keys with primary %d were written", w.set.Primary())
}

func judgeMigrated(w *world, _ *step) (ok bool, reason, message string) {
	if w.state != intact {
		return false, "NoKeys", "there are no keys in order"
	}
	if why := w.waitsForMigration(); why != "" {
		return false, "Waiting", why
	}
	return true, "Migrated", fmt.Sprintf("everything stored is encrypted with key %d", w.set.Primary())
}

func judgeBackedUp(w *world, _ *step) (ok bool, reason, message string) {
	if w.state != intact {
		return false, "NoKeys", "there are no keys in order"
	}
	if why := w.waitsForBackup(); why != "" {
		return false, "Waiting", why
	}
	return true, "Pushed", fmt.Sprintf("store %s has the keys with primary %d", w.repo.Spec.Backup.SecretStoreRef.Name, w.set.Primary())
}

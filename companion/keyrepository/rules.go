package keyrepository

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
)

const (
	// regenerateAnnotation of a KeyRepository allows new keys in the place of lost ones. Its value is the hash of those
	// (status.contentHash), or the KeyRepository's UID where there were none: an old annotation allows nothing again.
	regenerateAnnotation = "openstack.c5c3.io/regenerate"
	// acceptAnnotation takes keys that someone has put into the Secret. Its value is their hash.
	acceptAnnotation = "openstack.c5c3.io/accept"

	// retryMigration is how long a failed migration rests.
	retryMigration = time.Hour
	// storeResponseTime is how long a store mostly takes to answer: whoever looks before that waits for the next poll.
	storeResponseTime = time.Second
	// storeNoResponse is said of what says nothing.
	storeNoResponse = "it has not answered"
)

// rules are asked in this order for the next step; the first that has one decides. What ends in waiting stands last.
var rules = []func(*observation) *controller.Decision{
	createKeys,
	repairKeys,
	adoptKeys,
	clearRestore,
	pushKeys,
	clearPushes,
	recordMissingConsumers,
	markConsumers,
	rollPods,
	recordDistribution,
	migrateKeys,
	rotateKeys,
}

// next finds the next step.
func next(w *observation) controller.Decision {
	s := controller.First(rules, w)
	s.Expected = s.Action != nil
	s.Status = func() { w.repo.Status = report(w, s) }
	if s.Action == nil {
		s.RequeueAfter = w.requeueAfter(s)
	}
	return s
}

// requeueAfter is the time until the next pass when there is nothing to do.
func (obs *observation) requeueAfter(s controller.Decision) time.Duration {
	switch {
	case !s.At.IsZero():
		return controller.RequeueIn(s.At, obs.now)
	case s.Wait != "" || obs.state != intact || obs.waitsFor() != "" || obs.migrationPendingReason() != "" || obs.backupPendingReason() != "":
		return controller.Poll
	}
	return controller.ResyncInterval
}

// createKeys makes keys where there are none: from the backup, if there is one, and new ones only if it is certain that none
// exist, or that nothing is lost without them.
func createKeys(w *observation) *controller.Decision {
	switch {
	case w.state != missing:
		return nil
	case w.refusal != nil:
		return &controller.Decision{Name: "Refused", Wait: w.refusal.Error()}
	case w.allowsRegenerate():
		return generate(w)
	case w.repo.Spec.Backup != nil:
		if s := restore(w); s != nil {
			return s
		}
	}
	switch {
	case w.lost == "":
		return generate(w)
	case w.repo.Spec.Type == openstackv1.KeyTypeFernet:
		// Tokens are void with or without new keys, and without any, no pod can start.
		return generate(w)
	}
	return &controller.Decision{Name: "SecretMissing", Wait: fmt.Sprintf(
		"Secret %s is gone, and what is encrypted with its keys cannot be read without them. Put it back. If it is lost for good, give this "+
			"KeyRepository the annotation %s: %q, and all stored credentials are lost", w.repo.Spec.SecretName, regenerateAnnotation, w.regenerateAnnotationValue())}
}

// regenerateAnnotationValue is the value of the annotation that allows new keys.
func (obs *observation) regenerateAnnotationValue() string {
	if obs.lost != "" {
		return obs.lost
	}
	return string(obs.repo.UID)
}

func (obs *observation) allowsRegenerate() bool {
	return obs.repo.Annotations[regenerateAnnotation] == obs.regenerateAnnotationValue()
}

func generate(w *observation) *controller.Decision {
	s := &controller.Decision{Name: "KeysCreated", Note: "created the keys in Secret " + string(w.repo.Spec.SecretName), Action: generateKeys(w)}
	if w.lost != "" {
		s.Name, s.Warning = "KeysRegenerated", true
		s.Note = fmt.Sprintf("Secret %s was gone: new keys took the place of %s. Whatever those encrypted is void",
			w.repo.Spec.SecretName, w.lost)
	}
	return s
}

// restore asks the store, and returns nil if it answers that it has nothing to restore.
func restore(w *observation) *controller.Decision {
	switch {
	case w.backup.missing != nil:
		return &controller.Decision{Name: "StoreUnknown", Wait: w.backup.missing.Error()}
	case w.backup.restore == nil:
		return &controller.Decision{Name: "AskStore", Action: create(w.externalSecret()), RequeueAfter: storeResponseTime}
	}
	switch w.backup.answer() {
	case storeEntryMissing:
		return nil
	case storeEntryFound:
		copied := filterKeys(w.backup.restored)
		if w.state == edited && keys.Hash(copied) == keys.Hash(w.secret.Data) {
			return nil // The edit was faster than the backup: there is nothing to restore.
		}
		set, err := keys.Parse(copied)
		if err != nil {
			return &controller.Decision{Name: "BackupInvalid", Wait: fmt.Sprintf("cannot restore the keys from %s: %s. Correct the entry",
				w.repo.Spec.Backup.RemoteKey, sentence(err))}
		}
		return &controller.Decision{
			Name: "KeysRestored", Action: writeKeys(w, set, found(set, w.now, w.neededKeys.Lifetime)), Warning: w.lost != "",
			Note: fmt.Sprintf("restored the keys in Secret %s from the backup: primary %d", w.repo.Spec.SecretName, set.Primary()),
		}
	case unknown:
	}
	_, _, message := readyCondition(w.backup.restore)
	return &controller.Decision{Name: "StoreUnknown", Wait: fmt.Sprintf(
		"waits for store %s to report whether it has keys (entry %s): %s. If it never will and there are none, give this KeyRepository "+
			"the annotation %s: %q", w.repo.Spec.Backup.SecretStoreRef.Name, w.repo.Spec.Backup.RemoteKey, cmp.Or(message, storeNoResponse),
		regenerateAnnotation, w.regenerateAnnotationValue())}
}

// repairKeys restores a Secret that someone has edited, if there is a backup, and touches it in no other case.
func repairKeys(w *observation) *controller.Decision {
	if w.state != edited {
		return nil
	}
	if w.repo.Spec.Backup != nil {
		if s := restore(w); s != nil {
			return s
		}
	}
	wait := fmt.Sprintf("Secret %s was edited: %s. Undo that", w.repo.Spec.SecretName, sentence(w.keysError))
	if _, err := keys.Parse(w.secret.Data); err == nil {
		wait += fmt.Sprintf("; or, if these are the right keys, give this KeyRepository the annotation %s: %q",
			acceptAnnotation, keys.Hash(w.secret.Data))
	}
	return &controller.Decision{Name: "SecretEdited", Wait: wait}
}

// adoptKeys takes keys that were there before this controller, or that someone has allowed.
func adoptKeys(w *observation) *controller.Decision {
	if w.state != unrecorded {
		return nil
	}
	return &controller.Decision{
		Name: "KeysAdopted", Action: writeKeys(w, w.set, found(w.set, w.now, w.neededKeys.Lifetime)),
		Note: fmt.Sprintf("took over the keys in Secret %s: primary %d", w.repo.Spec.SecretName, w.set.Primary()),
	}
}

// clearRestore removes the copy that a restore has left, and lets the next one ask again.
func clearRestore(w *observation) *controller.Decision {
	if w.backup.restore == nil {
		return nil
	}
	return &controller.Decision{Name: "ClearRestore", Action: controller.Delete(w.backup.restore, metav1.DeletePropagationBackground)}
}

func pushKeys(w *observation) *controller.Decision {
	if w.repo.Spec.Backup == nil || w.backup.missing != nil || w.backup.has(w.pushName()) {
		return nil
	}
	return &controller.Decision{Name: "PushKeys", Action: create(w.pushSecret())}
}

func clearPushes(w *observation) *controller.Decision {
	if w.repo.Spec.Backup == nil {
		return nil
	}
	for _, old := range w.backup.stale(w.pushName()) {
		return &controller.Decision{Name: "ClearPush", Action: controller.Delete(old, metav1.DeletePropagationBackground)}
	}
	return nil
}

// recordMissingConsumers records which consumers do not exist while the keys are there. This pass has read the Secret before it looked for them,
// and writes over the version that it read: what is made later mounts these keys or later ones.
func recordMissingConsumers(w *observation) *controller.Decision {
	var absent []string
	for _, c := range w.consumers {
		if c.Template() == nil && !slices.Contains(w.record.MissingConsumers, c.String()) {
			absent = append(absent, c.String())
		}
	}
	if len(absent) == 0 {
		return nil
	}
	return &controller.Decision{Name: "ConsumersAwaited", Action: writeKeys(w, w.set, w.record.withMissingConsumers(absent))}
}

// markConsumers notes on a consumer that it was made after the keys, so that a new one is not rolled to have what it has.
func markConsumers(w *observation) *controller.Decision {
	for _, c := range w.consumers {
		if c.NeverAnnotated(w.annotation()) && !c.HasAnnotation(w.annotation(), w.record.Hash) && slices.Contains(w.record.MissingConsumers, c.String()) {
			return &controller.Decision{Name: "ConsumerMarked", Action: func(ctx context.Context, env *controller.Env) error {
				return c.Mark(ctx, env.Client, w.annotation(), w.record.Hash)
			}}
		}
	}
	return nil
}

// rollPods restarts the pods of every other consumer in the course of their roll-out: those that carry the annotation were started
// after the keys were written, which is the proof that they have them.
func rollPods(w *observation) *controller.Decision {
	for _, c := range w.consumers {
		if c.Template() != nil && !c.Named(w.annotation(), w.record.Hash) && !c.HasAnnotation(w.annotation(), w.record.Hash) {
			return &controller.Decision{
				Name: "PodsRolled", Note: fmt.Sprintf("rolls %s for it to have the keys with primary %d", c, w.set.Primary()),
				Action: func(ctx context.Context, env *controller.Env) error {
					return c.RestartWithAnnotation(ctx, env.Client, w.annotation(), w.record.Hash)
				},
			}
		}
	}
	return nil
}

// recordDistribution records that every pod has the keys: from then on nothing else encrypts.
func recordDistribution(w *observation) *controller.Decision {
	if w.record.Distributed != nil || w.podsPendingReason() != "" {
		return nil
	}
	return &controller.Decision{
		Name: "KeysDistributed", Action: writeKeys(w, w.set, w.record.distributed(w.set, w.now, w.neededKeys.Lifetime)),
		Note: fmt.Sprintf("every pod has the keys with primary %d", w.set.Primary()),
	}
}

// migrateKeys encrypts what is stored with the new primary, when every pod can read it.
func migrateKeys(w *observation) *controller.Decision {
	if !w.migrates() || w.record.Migrated || w.waitsFor() != "" || len(w.consumers) == 0 {
		return nil
	}
	if w.job == nil {
		return &controller.Decision{Name: "MigrationStarted", Action: create(migrationJob(w, w.consumers[0])), Note: "runs Job " + w.jobName()}
	}
	switch end := condition.FinishedCondition(w.job); end.Type {
	case batchv1.JobComplete:
		return &controller.Decision{
			Name: "KeysMigrated", Action: writeKeys(w, w.set, w.record.migrated()),
			Note: fmt.Sprintf("everything stored is encrypted with key %d", w.set.Primary()),
		}
	case batchv1.JobFailed:
		if !end.LastTransitionTime.Add(retryMigration).After(w.now) {
			return &controller.Decision{
				Name: "MigrationRetried", Note: "removes the failed Job " + w.jobName() + " to run it again", Warning: true,
				Action: controller.Delete(w.job, metav1.DeletePropagationBackground),
			}
		}
	default:
	}
	return nil
}

// waitsFor says why it is not proven, or not yet recorded, that every pod has the keys.
func (obs *observation) waitsFor() string {
	if why := obs.podsPendingReason(); why != "" {
		return why
	}
	if obs.record.Distributed == nil {
		return "the proof that every pod has the keys is not yet recorded"
	}
	return ""
}

// migrationPendingReason says why what is stored may still need another key than the primary.
func (obs *observation) migrationPendingReason() string {
	switch {
	case !obs.migrates() || obs.record.Migrated:
		return ""
	case obs.job == nil:
		return "what is stored has to be encrypted with the primary key"
	}
	if end := condition.FinishedCondition(obs.job); end.Type == batchv1.JobFailed {
		return fmt.Sprintf("Job %s failed: %s. It runs again an hour later, or when it is deleted", obs.job.Name, cmp.Or(end.Message, storeNoResponse))
	}
	return "Job " + obs.job.Name + " encrypts what is stored with the primary key"
}

// backupPendingReason says why these keys are not in the store.
func (obs *observation) backupPendingReason() string {
	if obs.repo.Spec.Backup == nil {
		return ""
	}
	if obs.backup.missing != nil {
		return obs.backup.missing.Error()
	}
	if _, ok, problem := obs.backup.backedUp(obs.backupID()); !ok {
		return fmt.Sprintf("%s does not have the keys yet: %s", obs.store(), cmp.Or(problem, storeNoResponse))
	}
	return ""
}

// nextRotationTime is when the keys rotate next, if nothing holds them back.
func (obs *observation) nextRotationTime() time.Time { return obs.schedule.Next(obs.record.Rotated) }

// rotateKeys rotates when it is time, and only if nothing that is in use is lost: that is what it waits for.
func rotateKeys(w *observation) *controller.Decision {
	switch {
	case w.refusal != nil:
		return &controller.Decision{Name: "Refused", Wait: w.refusal.Error()}
	case w.repo.Spec.Suspend:
		return &controller.Decision{Name: "Suspended"}
	}
	for _, why := range []string{w.waitsFor(), w.migrationPendingReason(), w.backupPendingReason()} {
		if why != "" {
			return &controller.Decision{Name: "RotationWaits", Wait: why}
		}
	}
	if due := w.nextRotationTime(); due.After(w.now) {
		return &controller.Decision{Name: "Idle", At: due}
	}
	free, ok := w.record.NeededUntil.Free(w.set, w.limit)
	switch {
	case !ok:
		return &controller.Decision{Name: "RotationWaits", Wait: fmt.Sprintf(
			"of the keys %v that would go, one may still encrypt", w.set.Purged(w.limit))}
	case free.After(w.now):
		return &controller.Decision{Name: "RotationWaits", At: free, Wait: fmt.Sprintf(
			"keys %v would go, but decrypt tokens until %s", w.set.Purged(w.limit), free.Format(time.RFC3339))}
	}
	return &controller.Decision{
		Name: "KeysRotated", Action: rotate(w),
		Note: fmt.Sprintf("rotated the keys: %d is primary now", w.set.Primary()+1),
	}
}

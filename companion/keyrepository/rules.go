package keyrepository

import (
	"cmp"
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
)

const (
	// regenerateAnnotation of a KeyRepository allows new keys to replace lost ones. Its value is the hash of the lost keys
	// (status.contentHash), or the UID of the KeyRepository if no keys existed, so that an old annotation does not allow
	// another replacement.
	regenerateAnnotation = "openstack.c5c3.io/regenerate"
	// acceptAnnotation accepts modified keys in the Secret. Its value is their hash.
	acceptAnnotation = "openstack.c5c3.io/accept"

	// retryMigration is the delay before a failed migration is retried.
	retryMigration = time.Hour
	// storeResponseTime is the usual response time of a store; a pass before that waits for the next poll.
	storeResponseTime = time.Second
	// storeNoResponse is the message if External Secrets reports none.
	storeNoResponse = "no response yet"
)

// rules are evaluated in this order; the first that returns a step decides. Rules that may wait are last.
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

// next selects the next step.
func next(w *observation) controller.Decision {
	s := controller.First(rules, w)
	s.Expected = s.Action != nil
	s.Status = func() { w.repo.Status = report(w, s) }
	if s.Action == nil {
		s.RequeueAfter = w.requeueAfter(s)
	}
	return s
}

// requeueAfter returns the time until the next pass if there is no action.
func (obs *observation) requeueAfter(s controller.Decision) time.Duration {
	switch {
	case !s.At.IsZero():
		return controller.RequeueIn(s.At, obs.now)
	case s.Wait != "" || obs.state != intact || obs.waitsFor() != "" || obs.migrationPendingReason() != "" || obs.backupPendingReason() != "":
		return controller.Poll
	}
	return controller.ResyncInterval
}

// createKeys creates missing keys: from the backup, if there is one, and new keys only if it is certain that none exist, or
// that nothing is lost without them.
func createKeys(w *observation) *controller.Decision {
	switch {
	case w.state != missing:
		return nil
	case w.specError != nil:
		return &controller.Decision{Name: "InvalidSpec", Wait: w.specError.Error()}
	case w.allowsRegenerate():
		return generate(w)
	case w.repo.Spec.Backup != nil:
		if s := restore(w); s != nil {
			return s
		}
	}
	switch {
	case w.previousHash == "":
		return generate(w)
	case w.repo.Spec.Type == openstackv1.KeyTypeFernet:
		// Existing tokens are invalid with or without new keys, and no pod can start without keys.
		return generate(w)
	}
	return &controller.Decision{Name: "SecretMissing", Wait: fmt.Sprintf(
		"Secret %s is missing, and data encrypted with its keys cannot be read. Restore it. If it is lost, set on this "+
			"KeyRepository the annotation %s: %q; all stored credentials are lost then", w.repo.Spec.SecretName, regenerateAnnotation,
		w.regenerateAnnotationValue())}
}

// regenerateAnnotationValue returns the value of the annotation that allows new keys.
func (obs *observation) regenerateAnnotationValue() string {
	if obs.previousHash != "" {
		return obs.previousHash
	}
	return string(obs.repo.UID)
}

func (obs *observation) allowsRegenerate() bool {
	return obs.repo.Annotations[regenerateAnnotation] == obs.regenerateAnnotationValue()
}

func generate(w *observation) *controller.Decision {
	s := &controller.Decision{Name: "KeysCreated", Note: "created the keys in Secret " + string(w.repo.Spec.SecretName),
		Action: generateKeys(w)}
	if w.previousHash != "" {
		s.Name, s.Warning = "KeysRegenerated", true
		s.Note = fmt.Sprintf("Secret %s was missing: new keys replaced %s. Data encrypted with the old keys is lost",
			w.repo.Spec.SecretName, w.previousHash)
	}
	return s
}

// restore restores the keys from the store. It returns nil if the store has no entry.
func restore(w *observation) *controller.Decision {
	switch {
	case w.backup.missing != nil:
		return &controller.Decision{Name: "SecretStoreUnavailable", Wait: w.backup.missing.Error()}
	case w.backup.restore == nil:
		return &controller.Decision{Name: "ReadSecretStore", Action: create(w.externalSecret()), RequeueAfter: storeResponseTime}
	}
	switch w.backup.answer() {
	case storeEntryMissing:
		return nil
	case storeEntryFound:
		copied := filterKeys(w.backup.restored)
		if w.state == edited && keys.Hash(copied) == keys.Hash(w.secret.Data) {
			return nil // The Secret was modified before the backup: nothing to restore.
		}
		set, err := keys.Parse(copied)
		if err != nil {
			return &controller.Decision{Name: "BackupInvalid", Wait: fmt.Sprintf("cannot restore the keys from %s: %s. Correct the entry",
				w.repo.Spec.Backup.RemoteKey, sentence(err))}
		}
		return &controller.Decision{
			Name: "KeysRestored", Action: writeKeys(w, set, found(set, w.now, w.neededKeys.Lifetime)), Warning: w.previousHash != "",
			Note: fmt.Sprintf("restored the keys in Secret %s from the backup: primary %d", w.repo.Spec.SecretName, set.Primary()),
		}
	case unknown:
	}
	_, _, message := readyCondition(w.backup.restore)
	return &controller.Decision{Name: "SecretStoreUnavailable", Wait: fmt.Sprintf(
		"waiting for store %s to report entry %s: %s. If the store will never respond and has no keys, set on this KeyRepository "+
			"the annotation %s: %q", w.repo.Spec.Backup.SecretStoreRef.Name, w.repo.Spec.Backup.RemoteKey, cmp.Or(message, storeNoResponse),
		regenerateAnnotation, w.regenerateAnnotationValue())}
}

// repairKeys restores a modified Secret from the backup. Without a backup, the Secret is not changed.
func repairKeys(w *observation) *controller.Decision {
	if w.state != edited {
		return nil
	}
	if w.repo.Spec.Backup != nil {
		if s := restore(w); s != nil {
			return s
		}
	}
	wait := fmt.Sprintf("Secret %s was modified: %s. Revert the change", w.repo.Spec.SecretName, sentence(w.keysError))
	if _, err := keys.Parse(w.secret.Data); err == nil {
		wait += fmt.Sprintf("; or, if these keys are correct, set on this KeyRepository the annotation %s: %q",
			acceptAnnotation, keys.Hash(w.secret.Data))
	}
	return &controller.Decision{Name: "SecretEdited", Wait: wait}
}

// adoptKeys adopts keys that existed before this controller, or that a user accepted.
func adoptKeys(w *observation) *controller.Decision {
	if w.state != unrecorded {
		return nil
	}
	return &controller.Decision{
		Name: "KeysAdopted", Action: writeKeys(w, w.set, found(w.set, w.now, w.neededKeys.Lifetime)),
		Note: fmt.Sprintf("adopted the keys in Secret %s: primary %d", w.repo.Spec.SecretName, w.set.Primary()),
	}
}

// clearRestore deletes the copy of a finished restore, so that the next restore requests the keys again.
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

// recordMissingConsumers records which consumers do not exist while the keys exist. The pass reads the Secret before it reads
// the consumers, and writes over the version that it read: a consumer that is created later mounts these keys or later ones.
func recordMissingConsumers(w *observation) *controller.Decision {
	absent := consumer.Missing(w.consumers, w.record.MissingConsumers)
	if len(absent) == 0 {
		return nil
	}
	return &controller.Decision{Name: "WaitingForConsumers", Action: writeKeys(w, w.set, w.record.withMissingConsumers(absent))}
}

// markConsumers annotates consumers that were created after the keys, so that they are not restarted for keys that they
// already have.
func markConsumers(w *observation) *controller.Decision {
	created, ok := consumer.FirstCreated(w.consumers, w.annotation(), w.record.Hash, w.record.MissingConsumers)
	if !ok {
		return nil
	}
	return &controller.Decision{Name: "ConsumerAnnotated", Action: func(ctx context.Context, env *controller.Env) error {
		return created.Mark(ctx, env.Client, w.annotation(), w.record.Hash)
	}}
}

// rollPods restarts the pods of the other consumers with a rollout: a pod with the annotation was started after the keys were
// written, which proves that it has them.
func rollPods(w *observation) *controller.Decision {
	for _, c := range w.consumers {
		if c.Template() != nil && !c.Named(w.annotation(), w.record.Hash) && !c.HasAnnotation(w.annotation(), w.record.Hash) {
			return &controller.Decision{
				Name: "PodsRestarted", Note: fmt.Sprintf("restarted %s to distribute the keys with primary %d", c, w.set.Primary()),
				Action: func(ctx context.Context, env *controller.Env) error {
					return c.RestartWithAnnotation(ctx, env.Client, w.annotation(), w.record.Hash)
				},
			}
		}
	}
	return nil
}

// recordDistribution records that all pods have the keys: from then on only the primary key encrypts.
func recordDistribution(w *observation) *controller.Decision {
	if w.record.Distributed != nil || w.podsPendingReason() != "" {
		return nil
	}
	return &controller.Decision{
		Name: "KeysDistributed", Action: writeKeys(w, w.set, w.record.distributed(w.set, w.now, w.neededKeys.Lifetime)),
		Note: fmt.Sprintf("every pod has the keys with primary %d", w.set.Primary()),
	}
}

// migrateKeys re-encrypts stored data with the new primary key once all pods can decrypt it.
func migrateKeys(w *observation) *controller.Decision {
	if !w.migrates() || w.record.Migrated || w.waitsFor() != "" || len(w.consumers) == 0 {
		return nil
	}
	if w.job == nil {
		return &controller.Decision{Name: "MigrationStarted", Action: create(migrationJob(w, w.consumers[0])), Note: "started Job " + w.jobName()}
	}
	switch end := condition.FinishedCondition(w.job); end.Type {
	case batchv1.JobComplete:
		return &controller.Decision{
			Name: "KeysMigrated", Action: writeKeys(w, w.set, w.record.migrated()),
			Note: fmt.Sprintf("all stored data is encrypted with key %d", w.set.Primary()),
		}
	case batchv1.JobFailed:
		if !end.LastTransitionTime.Add(retryMigration).After(w.now) {
			return &controller.Decision{
				Name: "MigrationRetried", Note: "deleted the failed Job " + w.jobName() + " to run it again", Warning: true,
				Action: controller.Delete(w.job, metav1.DeletePropagationBackground),
			}
		}
	default:
	}
	return nil
}

// waitsFor returns why it is not proven, or not yet recorded, that all pods have the keys.
func (obs *observation) waitsFor() string {
	if why := obs.podsPendingReason(); why != "" {
		return why
	}
	if obs.record.Distributed == nil {
		return "the proof that every pod has the keys is not yet recorded"
	}
	return ""
}

// migrationPendingReason returns why stored data may still require another key than the primary.
func (obs *observation) migrationPendingReason() string {
	switch {
	case !obs.migrates() || obs.record.Migrated:
		return ""
	case obs.job == nil:
		return "stored data must be encrypted with the primary key"
	}
	if end := condition.FinishedCondition(obs.job); end.Type == batchv1.JobFailed {
		return fmt.Sprintf("Job %s failed: %s. It is retried after an hour, or when it is deleted", obs.job.Name, cmp.Or(end.Message,
			storeNoResponse))
	}
	return "Job " + obs.job.Name + " is encrypting stored data with the primary key"
}

// backupPendingReason returns why these keys are not in the store.
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

// nextRotationTime returns when the keys are due for rotation.
func (obs *observation) nextRotationTime() time.Time { return obs.schedule.Next(obs.record.Rotated) }

// rotateKeys rotates the keys when they are due, and only if no key that is in use is removed; otherwise it waits.
func rotateKeys(w *observation) *controller.Decision {
	switch {
	case w.specError != nil:
		return &controller.Decision{Name: "InvalidSpec", Wait: w.specError.Error()}
	case w.repo.Spec.Suspend:
		return &controller.Decision{Name: "Suspended"}
	}
	for _, why := range []string{w.waitsFor(), w.migrationPendingReason(), w.backupPendingReason()} {
		if why != "" {
			return &controller.Decision{Name: "RotationBlocked", Wait: why}
		}
	}
	if rotationTime := w.nextRotationTime(); rotationTime.After(w.now) {
		return &controller.Decision{Name: "Idle", At: rotationTime}
	}
	free, ok := w.record.NeededUntil.Free(w.set, w.limit)
	switch {
	case !ok:
		return &controller.Decision{Name: "RotationBlocked", Wait: fmt.Sprintf(
			"a key in %v would be removed but may still encrypt", w.set.Purged(w.limit))}
	case free.After(w.now):
		return &controller.Decision{Name: "RotationBlocked", At: free, Wait: fmt.Sprintf(
			"keys %v would be removed but decrypt tokens until %s", w.set.Purged(w.limit), free.Format(time.RFC3339))}
	}
	return &controller.Decision{
		Name: "KeysRotated", Action: rotate(w),
		Note: fmt.Sprintf("rotated the keys: %d is primary now", w.set.Primary()+1),
	}
}

package keyrepository

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/jsonannotation"
	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/rotation"
	"github.com/c5c3/crossplane-cobaltcore/internal/schedule"
)

// managedBy is the value of the label app.kubernetes.io/managed-by of objects created by this controller.
const managedBy = "cobaltcore-companion"

// podAnnotationPrefix, followed by the name of a Secret, is the annotation of a pod template that identifies the keys in the
// Secret. A changed annotation starts a rollout, and a pod with the annotation was started after the keys were written.
const podAnnotationPrefix = "keys.openstack.c5c3.io/"

// state of the Secret with the keys.
type state string

const (
	// missing: the Secret does not exist.
	missing state = "Missing"
	// unrecorded: the Secret has valid keys and no record, and no change by others is known, or a user accepted it.
	unrecorded state = "Unrecorded"
	// edited: the content differs from the written content.
	edited state = "Edited"
	// intact: the content is as written.
	intact state = "Intact"
)

// observation is the state that was read in one pass, from which all decisions are made.
type observation struct {
	repo *openstackv1.KeyRepository
	now  time.Time

	// schedule, neededKeys and limit are derived from the spec; refusal is the error if that fails.
	schedule   schedule.Schedule
	neededKeys rotation.KeyRequirement
	limit      int
	specError  error

	// secret is nil if it does not exist; record is set if the Secret is intact, set if it is intact or unrecorded.
	secret *corev1.Secret
	state  state
	set    keys.Set
	record record
	// keysError is the reason why a Secret is classified as edited.
	keysError error
	// previousHash is the hash of the previously known keys; "" if none are known.
	previousHash string

	consumers []consumer.Workload
	backup    backup
	// job is the migration to these keys; nil if it does not exist.
	job *batchv1.Job
}

// observe reads the state live, without a cache, because passes are rare and decisions cannot be reverted. The Secret is read
// before the consumers: a consumer that does not exist then is created after the Secret was written (recordMissingConsumers).
func observe(ctx context.Context, env *controller.Env, repo *openstackv1.KeyRepository) (*observation, error) {
	w := &observation{repo: repo, now: env.Clock.Now()}
	w.derive()
	secret, err := apireader.Get(ctx, env.Reader, "Secret", w.key(string(repo.Spec.SecretName)), &corev1.Secret{})
	if err != nil {
		return nil, err
	}
	for _, ref := range repo.Spec.Consumers {
		c, err := consumer.Observe(ctx, env.Reader, ref.Kind, w.key(string(ref.Name)))
		if err != nil {
			return nil, err
		}
		w.consumers = append(w.consumers, c)
	}
	if repo.Spec.Backup != nil {
		if w.backup, err = observeBackup(ctx, env.Reader, w); err != nil {
			return nil, err
		}
	}
	w.classifySecret(secret)
	if w.state == intact && w.migrates() {
		w.job, err = apireader.Get(ctx, env.Reader, "Job", w.key(w.jobName()), &batchv1.Job{})
	}
	return w, err
}

// derive evaluates the spec.
func (obs *observation) derive() {
	spec := obs.repo.Spec
	obs.schedule, obs.specError = schedule.Parse(string(spec.RotationSchedule))
	if obs.specError != nil {
		return
	}
	switch {
	case spec.Type == openstackv1.KeyTypeCredential:
		obs.neededKeys = rotation.NeededCredentialKeys()
	case spec.Token == nil:
		obs.specError = fmt.Errorf("keys of type %s require spec.token: the lifetime of tokens defines how long a key must be retained",
			spec.Type)
		return
	default:
		obs.neededKeys = rotation.NeededKeys(
			time.Duration(spec.Token.ExpirationSeconds)*time.Second,
			time.Duration(spec.Token.AllowExpiredWindowSeconds)*time.Second, obs.schedule)
	}
	obs.limit = obs.neededKeys.Keys
	if n := spec.MaxActiveKeys; n != nil {
		obs.limit = int(*n)
	}
	switch {
	case obs.limit < obs.neededKeys.Keys:
		obs.specError = fmt.Errorf("spec.maxActiveKeys %d is too small and would invalidate tokens that are still accepted: %s. "+
			"Increase it, or rotate less often", obs.limit, obs.neededKeys.Reason)
	case obs.limit > rotation.MaxKeys:
		obs.specError = fmt.Errorf("spec.rotationSchedule needs more than %d keys: %s. Rotate less often, or reduce the lifetime of tokens",
			rotation.MaxKeys, obs.neededKeys.Reason)
	}
}

// classifySecret determines the state of the Secret.
func (obs *observation) classifySecret(secret *corev1.Secret) {
	obs.secret, obs.previousHash = secret, obs.earlier()
	if secret == nil {
		obs.state = missing
		return
	}
	hash := keys.Hash(secret.Data)
	set, invalid := keys.Parse(secret.Data)
	rec, unreadable := jsonannotation.Read[record](secret, recordAnnotation)
	obs.state = edited
	switch {
	case invalid != nil:
		obs.keysError = invalid
	case rec != nil && rec.Hash == hash:
		obs.state, obs.set, obs.record = intact, set, *rec
	case rec == nil && obs.previousHash == hash, rec == nil && unreadable == nil && obs.previousHash == "",
		obs.repo.Annotations[acceptAnnotation] == hash:
		obs.state, obs.set = unrecorded, set
	case unreadable != nil:
		obs.keysError = unreadable
	default:
		written := obs.previousHash
		if rec != nil {
			written = rec.Hash
		}
		obs.keysError = fmt.Errorf("its keys (%s) are valid, but differ from the written keys (%s)", hash, written)
	}
}

// earlier returns the hash of the previous keys from the status or, if that is new, from the annotation of the pods.
func (obs *observation) earlier() string {
	if h := obs.repo.Status.ContentHash; h != "" {
		return h
	}
	for _, c := range obs.consumers {
		if h := c.Earlier(obs.annotation()); h != "" {
			return h
		}
	}
	return ""
}

// podsPendingReason returns why not every pod of every consumer is proven to have the keys; "" if all have them.
func (obs *observation) podsPendingReason() string {
	for _, c := range obs.consumers {
		if why := c.AnnotationPendingReason(obs.annotation(), obs.record.Hash, "earlier keys"); why != "" {
			return why
		}
	}
	return ""
}

func (obs *observation) migrates() bool {
	return obs.repo.Spec.Type == openstackv1.KeyTypeCredential && obs.repo.Spec.Migrate != nil
}

func (obs *observation) annotation() string { return podAnnotation(string(obs.repo.Spec.SecretName)) }

func podAnnotation(secretName string) string {
	return consumer.Annotation(podAnnotationPrefix, secretName)
}

func (obs *observation) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: obs.repo.Namespace, Name: name}
}

// owners returns the owner reference for all objects of the repository except the Secret.
func (obs *observation) owners() []metav1.OwnerReference {
	isController := true
	return []metav1.OwnerReference{{
		APIVersion: openstackv1.GroupVersion.String(), Kind: "KeyRepository",
		Name: obs.repo.Name, UID: obs.repo.UID, Controller: &isController,
	}}
}

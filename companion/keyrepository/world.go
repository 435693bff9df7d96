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
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/rotation"
)

// managedBy is the value of the label app.kubernetes.io/managed-by of what this controller makes.
const managedBy = "cobaltcore-companion"

// podAnnotationPrefix and the name of a Secret make the annotation of a pod template that names the keys in it. A changed
// annotation rolls the pods, and a pod that carries it was started after the keys were written.
const podAnnotationPrefix = "keys.openstack.c5c3.io/"

// state of the Secret with the keys.
type state string

const (
	// missing: there is no Secret.
	missing state = "Missing"
	// unrecorded: there is one without a record, with keys in order, which nobody is known to have changed or someone may change.
	unrecorded state = "Unrecorded"
	// edited: it does not hold what was written into it.
	edited state = "Edited"
	// intact: it does.
	intact state = "Intact"
)

// observation is everything that a decision depends on, as it was read in one pass.
type observation struct {
	repo *openstackv1.KeyRepository
	now  time.Time

	// schedule, need and limit follow from the spec; refusal says why they cannot.
	schedule   rotation.Schedule
	neededKeys rotation.KeyRequirement
	limit      int
	refusal    error

	// secret is nil if it is missing; set and record are there if it is intact, set also if it is unrecorded.
	secret *corev1.Secret
	state  state
	set    keys.Set
	record record
	// keysError says what is wrong with an edited Secret.
	keysError error
	// lost is the hash of keys that were there before, if any were.
	lost string

	consumers []consumer.Workload
	backup    backup
	// job of the migration to these keys, if it exists.
	job *batchv1.Job
}

// observe reads the world. Nothing comes from a cache: a pass is rare, and what it decides cannot be taken back. The Secret is read
// first: a consumer that does not exist then is made after it was written (awaitConsumers).
func observe(ctx context.Context, env *controller.Env, repo *openstackv1.KeyRepository) (*observation, error) {
	w := &observation{repo: repo, now: env.Clock.Now()}
	w.derive()
	secret, err := live.Get(ctx, env.Reader, "Secret", w.key(string(repo.Spec.SecretName)), &corev1.Secret{})
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
		w.job, err = live.Get(ctx, env.Reader, "Job", w.key(w.jobName()), &batchv1.Job{})
	}
	return w, err
}

// derive reads the spec.
func (obs *observation) derive() {
	spec := obs.repo.Spec
	obs.schedule, obs.refusal = rotation.ParseSchedule(string(spec.RotationSchedule))
	if obs.refusal != nil {
		return
	}
	switch {
	case spec.Type == openstackv1.KeyTypeCredential:
		obs.neededKeys = rotation.NeededCredentialKeys()
	case spec.Token == nil:
		obs.refusal = fmt.Errorf("keys of type %s need spec.token: the lifetime of tokens says how long a key has to be kept", spec.Type)
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
		obs.refusal = fmt.Errorf("spec.maxActiveKeys %d is too small and would void tokens that are still accepted: %s. "+
			"Raise it, or rotate less often", obs.limit, obs.neededKeys.Reason)
	case obs.limit > rotation.MaxKeys:
		obs.refusal = fmt.Errorf("spec.rotationSchedule needs more than %d keys: %s. Rotate less often, or let tokens expire earlier",
			rotation.MaxKeys, obs.neededKeys.Reason)
	}
}

// classifySecret finds the state of the Secret.
func (obs *observation) classifySecret(secret *corev1.Secret) {
	obs.secret, obs.lost = secret, obs.earlier()
	if secret == nil {
		obs.state = missing
		return
	}
	hash := keys.Hash(secret.Data)
	set, invalid := keys.Parse(secret.Data)
	rec, unreadable := live.ReadRecord[record](secret, recordAnnotation)
	obs.state = edited
	switch {
	case invalid != nil:
		obs.keysError = invalid
	case rec != nil && rec.Hash == hash:
		obs.state, obs.set, obs.record = intact, set, *rec
	case rec == nil && obs.lost == hash, rec == nil && unreadable == nil && obs.lost == "", obs.repo.Annotations[acceptAnnotation] == hash:
		obs.state, obs.set = unrecorded, set
	case unreadable != nil:
		obs.keysError = unreadable
	default:
		written := obs.lost
		if rec != nil {
			written = rec.Hash
		}
		obs.keysError = fmt.Errorf("its keys (%s) are in order, but not those that were written (%s)", hash, written)
	}
}

// earlier is the hash of the keys that were there, by the status or, where that is new, by what the pods were started with.
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

// podsPendingReason says why it is not proven that every pod of every consumer has the keys: no words if it is.
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

// owners of what goes with the repository, which the Secret does not.
func (obs *observation) owners() []metav1.OwnerReference {
	isController := true
	return []metav1.OwnerReference{{
		APIVersion: openstackv1.GroupVersion.String(), Kind: "KeyRepository",
		Name: obs.repo.Name, UID: obs.repo.UID, Controller: &isController,
	}}
}

package credentialrotation

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
)

const (
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "cobaltcore-companion"

	// podAnnotationPrefix and the name of a Secret make the annotation of the pods that were started after a credential was written.
	// Its value is the credential's ID.
	podAnnotationPrefix = "credentials.c5c3.io/"

	day = 24 * time.Hour
)

// state of the Secret.
type state string

const (
	// missing: there is no Secret.
	missing state = "Missing"
	// foreign: it is not of this rotation.
	foreign state = "Foreign"
	// unrecorded: it is, or may be taken, but has no record that can be read.
	unrecorded state = "Unrecorded"
	// empty: there is a record and no credential yet.
	empty state = "Empty"
	// edited: it does not hold what was written into it.
	edited state = "Edited"
	// intact: it does.
	intact state = "Intact"
)

// observation is everything that a decision depends on, as it was read in one pass. It holds secrets: it is never printed.
type observation struct {
	rotation *c5c3v1.CredentialRotation
	now      time.Time

	secret *corev1.Secret
	state  state
	record record
	whose  string // whose a foreign Secret is

	consumers         []consumer.Workload
	copies            []secretCopy
	externalConsumers []externalConsumer

	target target
	// credentialsListed: the credentials of this rotation that are valid are these. Otherwise a problem says why nobody knows, if anybody was asked.
	credentialsListed bool
	credentials       []credential
	errorMessage      string
	// changePending: others are about to do what was asked of them. Lately: that was a moment ago.
	changePending, recentlyChanged bool
}

// observe reads the world. Nothing comes from a cache: what a pass decides cannot be taken back.
func observe(ctx context.Context, env *controller.Env, rotation *c5c3v1.CredentialRotation) (*observation, error) {
	w, reader := &observation{
		rotation: rotation, target: targets[rotation.Spec.Target](),
		now: env.Clock.Now().UTC().Truncate(time.Second), // As times in a status are.
	}, env.Reader
	secret, err := live.Get(ctx, env.Reader, "Secret", w.key(string(rotation.Spec.SecretName)), &corev1.Secret{})
	if err != nil {
		return nil, err
	}
	w.classifySecret(secret)
	// After the Secret: a consumer that is not there yet is made later than what is in it (awaitConsumers).
	for _, ref := range rotation.Spec.Consumers {
		if ref.Kind == aggregateKind {
			c, err := observeCopy(ctx, reader, w.key(string(ref.Name)))
			if err != nil {
				return nil, err
			}
			w.copies = append(w.copies, c)
			continue
		}
		c, err := consumer.Observe(ctx, reader, ref.Kind, w.key(string(ref.Name)))
		if err != nil {
			return nil, err
		}
		w.consumers = append(w.consumers, c)
	}
	if w.externalConsumers, err = observeExternalConsumers(ctx, reader, w.key(string(rotation.Spec.SecretName))); err != nil {
		return nil, err
	}
	if w.state == foreign {
		return w, nil
	}
	return w, w.target.observe(ctx, env, w)
}

// classifySecret finds the state of the Secret.
func (obs *observation) classifySecret(secret *corev1.Secret) {
	obs.secret, obs.record = secret, record{Rotation: obs.rotation.Name}
	if secret == nil {
		obs.state = missing
		return
	}
	rec, unreadable := live.ReadRecord[record](secret, recordAnnotation)
	switch {
	case rec != nil && rec.Rotation != obs.rotation.Name:
		obs.state, obs.whose = foreign, "it is that of CredentialRotation "+rec.Rotation
		return
	case rec == nil && unreadable == nil && obs.target.overlaps() && secret.Labels[managedByLabel] != managedBy:
		obs.state, obs.whose = foreign, "it was not made by this CredentialRotation. Delete it, or name another Secret"
		return
	case rec == nil:
		obs.state = unrecorded
		return
	}
	obs.record = *rec
	idKey, _ := obs.target.keys()
	switch {
	case rec.ID == "":
		obs.state = empty
	case rec.Digest != digest(rec.ID, obs.value()), idKey != "" && text(secret, idKey) != rec.ID:
		obs.state = edited
	default:
		obs.state = intact
	}
}

// find a credential by its ID or name.
func (obs *observation) find(id, name string) (credential, bool) {
	for _, c := range obs.credentials {
		if id != "" && c.id == id || name != "" && c.name == name {
			return c, true
		}
	}
	return credential{}, false
}

// orphanedCredentials are the credentials that are neither in use nor being made.
func (obs *observation) orphanedCredentials() []string {
	var out []string
	for _, c := range obs.credentials {
		if c.id != obs.record.ID && c.name != obs.record.Staged {
			out = append(out, c.id)
		}
	}
	return out
}

// credentialMissing reports that there is no such credential any more as the one in use: someone revoked it, or deleted what it hung on.
func (obs *observation) credentialMissing() bool {
	if obs.state != intact || !obs.credentialsListed {
		return false
	}
	c, ok := obs.find(obs.record.ID, "")
	return !ok || c.revoking
}

// hasValidCredential reports that there is a credential that works, as far as is known.
func (obs *observation) hasValidCredential() bool {
	return obs.state == intact && !obs.credentialMissing()
}

// consumersPendingReason says why it is not proven that every consumer has the credential: no words if it is.
func (obs *observation) consumersPendingReason() string {
	for _, c := range obs.consumers {
		if why := c.AnnotationPendingReason(obs.annotation(), obs.record.ID, "an earlier credential"); why != "" {
			return why
		}
	}
	for _, c := range obs.copies {
		if why := c.copyPendingReason(obs.record.ID); why != "" {
			return why
		}
	}
	if late := obs.outdatedConsumers(); len(late) > 0 && obs.failureThreshold().After(obs.now) {
		return late[0].copyPendingReason()
	}
	return ""
}

// roles are those that an application credential is to be made with, sorted.
func (obs *observation) roles() []string {
	return slices.Sorted(slices.Values(obs.rotation.Spec.Roles))
}

// nextRotationTime is when the credential is replaced, if nothing holds that back.
func (obs *observation) nextRotationTime() time.Time {
	if obs.state == intact && !slices.Equal(obs.record.Roles, obs.roles()) {
		return obs.record.Since
	}
	return obs.expiryTime()
}

// expiryTime is when the credential is replaced because of its age, or because somebody says so.
func (obs *observation) expiryTime() time.Time {
	if id := obs.rotation.Annotations[rotateAnnotation]; id != "" && id == obs.record.ID {
		return obs.record.Since
	}
	spec := obs.rotation.Spec
	return obs.record.Since.Add(time.Duration(spec.IntervalDays-ptr.Deref(spec.PreRotationDays, 0)) * day)
}

// graceEnd is when what is no longer used may be revoked.
func (obs *observation) graceEnd() time.Time {
	if obs.record.Distributed == nil {
		return time.Time{}
	}
	return obs.record.Distributed.Add(time.Duration(ptr.Deref(obs.rotation.Spec.GracePeriodDays, 0)) * day)
}

func (obs *observation) annotation() string {
	return consumer.Annotation(podAnnotationPrefix, string(obs.rotation.Spec.SecretName))
}

func (obs *observation) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: obs.rotation.Namespace, Name: name}
}

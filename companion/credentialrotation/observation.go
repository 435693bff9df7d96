package credentialrotation

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/jsonannotation"
)

const (
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "cobaltcore-companion"

	// podAnnotationPrefix, followed by the name of a Secret, is the annotation of pods that were started after a credential
	// was written. Its value is the credential's ID.
	podAnnotationPrefix = "credentials.c5c3.io/"

	day = 24 * time.Hour
)

// state of the Secret.
type state string

const (
	// missing: the Secret does not exist.
	missing state = "Missing"
	// foreign: the Secret does not belong to this rotation.
	foreign state = "Foreign"
	// unrecorded: the Secret belongs to this rotation, or can be adopted, but has no readable record.
	unrecorded state = "Unrecorded"
	// empty: the record exists, but no credential yet.
	empty state = "Empty"
	// edited: the content differs from the written content.
	edited state = "Edited"
	// intact: the content is as written.
	intact state = "Intact"
)

// observation is the state that was read in one pass, from which all decisions are made. It contains secrets: do not print
// it.
type observation struct {
	rotation *c5c3v1.CredentialRotation
	now      time.Time

	secret      *corev1.Secret
	state       state
	record      record
	secretOwner string // owner of a foreign Secret

	consumers         []consumer.Workload
	copies            []secretCopy
	externalConsumers []externalConsumer

	target target
	// credentialsListed is set if credentials lists all valid credentials of this rotation. Otherwise errorMessage contains
	// the reason, if a service was called.
	credentialsListed bool
	credentials       []credential
	errorMessage      string
	// changePending is set while an operator processes a change; recentlyChanged, if the change is recent.
	changePending, recentlyChanged bool
}

// observe reads the state live, without a cache, because decisions cannot be reverted.
func observe(ctx context.Context, env *controller.Env, rotation *c5c3v1.CredentialRotation) (*observation, error) {
	w, reader := &observation{
		rotation: rotation, target: targets[rotation.Spec.Target](),
		now: env.Clock.Now().UTC().Truncate(time.Second), // The precision of times in a status.
	}, env.Reader
	secret, err := apireader.Get(ctx, env.Reader, "Secret", w.key(string(rotation.Spec.SecretName)), &corev1.Secret{})
	if err != nil {
		return nil, err
	}
	w.classifySecret(secret)
	// After the Secret: a consumer that does not exist yet is created after the content of the Secret
	// (recordMissingConsumers).
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

// classifySecret determines the state of the Secret.
func (obs *observation) classifySecret(secret *corev1.Secret) {
	obs.secret, obs.record = secret, record{Rotation: obs.rotation.Name}
	if secret == nil {
		obs.state = missing
		return
	}
	rec, unreadable := jsonannotation.Read[record](secret, recordAnnotation)
	switch {
	case rec != nil && rec.Rotation != obs.rotation.Name:
		obs.state, obs.secretOwner = foreign, "it belongs to CredentialRotation "+rec.Rotation
		return
	case rec == nil && unreadable == nil && obs.target.overlaps() && secret.Labels[managedByLabel] != managedBy:
		obs.state, obs.secretOwner = foreign, "it was not created by this CredentialRotation. Delete it, or set another secretName"
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

// find returns the credential with the ID or name.
func (obs *observation) find(id, name string) (credential, bool) {
	for _, c := range obs.credentials {
		if id != "" && c.id == id || name != "" && c.name == name {
			return c, true
		}
	}
	return credential{}, false
}

// orphanedCredentials returns the IDs of credentials that are neither in use nor being created.
func (obs *observation) orphanedCredentials() []string {
	var out []string
	for _, c := range obs.credentials {
		if c.id != obs.record.ID && c.name != obs.record.Staged {
			out = append(out, c.id)
		}
	}
	return out
}

// credentialMissing reports whether the credential in use no longer exists: it was revoked, or an object that it depends on
// was deleted.
func (obs *observation) credentialMissing() bool {
	if obs.state != intact || !obs.credentialsListed {
		return false
	}
	c, ok := obs.find(obs.record.ID, "")
	return !ok || c.revoking
}

// hasValidCredential reports whether a credential exists that is valid, as far as the controller knows.
func (obs *observation) hasValidCredential() bool {
	return obs.state == intact && !obs.credentialMissing()
}

// consumersPendingReason returns why not every consumer is proven to have the credential; "" if all have it.
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

// roles returns the sorted roles of the next application credential.
func (obs *observation) roles() []string {
	return slices.Sorted(slices.Values(obs.rotation.Spec.Roles))
}

// nextRotationTime returns when the credential is due for replacement.
func (obs *observation) nextRotationTime() time.Time {
	if obs.state == intact && !slices.Equal(obs.record.Roles, obs.roles()) {
		return obs.record.Since
	}
	return obs.expiryTime()
}

// expiryTime returns when the credential is replaced because of its age or because of rotateAnnotation.
func (obs *observation) expiryTime() time.Time {
	if id := obs.rotation.Annotations[rotateAnnotation]; id != "" && id == obs.record.ID {
		return obs.record.Since
	}
	spec := obs.rotation.Spec
	return obs.record.Since.Add(time.Duration(spec.IntervalDays-ptr.Deref(spec.PreRotationDays, 0)) * day)
}

// graceEnd returns when unused credentials may be revoked.
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

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

// world is everything that a decision depends on, as it was read in one pass. It holds secrets: it is never printed.
type world struct {
	rotation *c5c3v1.CredentialRotation
	now      time.Time

	secret *corev1.Secret
	state  state
	record record
	whose  string // whose a foreign Secret is

	consumers []consumer.Workload
	copies    []secretCopy
	elsewhere []elsewhere

	target target
	// known: the credentials of this rotation that are valid are these. Otherwise a problem says why nobody knows, if anybody was asked.
	known       bool
	credentials []credential
	problem     string
	// unsettled: others are about to do what was asked of them. Lately: that was a moment ago.
	unsettled, lately bool
}

// observe reads the world. Nothing comes from a cache: what a pass decides cannot be taken back.
func observe(ctx context.Context, env *controller.Env, rotation *c5c3v1.CredentialRotation) (*world, error) {
	w, reader := &world{
		rotation: rotation, target: targets[rotation.Spec.Target](),
		now: env.Clock.Now().UTC().Truncate(time.Second), // As times in a status are.
	}, env.Reader
	secret, err := live.Get(ctx, env.Reader, "Secret", w.key(string(rotation.Spec.SecretName)), &corev1.Secret{})
	if err != nil {
		return nil, err
	}
	w.judge(secret)
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
	if w.elsewhere, err = observeElsewhere(ctx, reader, w.key(string(rotation.Spec.SecretName))); err != nil {
		return nil, err
	}
	if w.state == foreign {
		return w, nil
	}
	return w, w.target.observe(ctx, env, w)
}

// judge finds the state of the Secret.
func (w *world) judge(secret *corev1.Secret) {
	w.secret, w.record = secret, record{Rotation: w.rotation.Name}
	if secret == nil {
		w.state = missing
		return
	}
	rec, unreadable := live.ReadRecord[record](secret, recordAnnotation)
	switch {
	case rec != nil && rec.Rotation != w.rotation.Name:
		w.state, w.whose = foreign, "it is that of CredentialRotation "+rec.Rotation
		return
	case rec == nil && unreadable == nil && w.target.overlaps() && secret.Labels[managedByLabel] != managedBy:
		w.state, w.whose = foreign, "it was not made by this CredentialRotation. Delete it, or name another Secret"
		return
	case rec == nil:
		w.state = unrecorded
		return
	}
	w.record = *rec
	idKey, _ := w.target.keys()
	switch {
	case rec.ID == "":
		w.state = empty
	case rec.Digest != digest(rec.ID, w.value()), idKey != "" && text(secret, idKey) != rec.ID:
		w.state = edited
	default:
		w.state = intact
	}
}

// find a credential by its ID or name.
func (w *world) find(id, name string) (credential, bool) {
	for _, c := range w.credentials {
		if id != "" && c.id == id || name != "" && c.name == name {
			return c, true
		}
	}
	return credential{}, false
}

// strays are the credentials that are neither in use nor being made.
func (w *world) strays() []string {
	var out []string
	for _, c := range w.credentials {
		if c.id != w.record.ID && c.name != w.record.Staged {
			out = append(out, c.id)
		}
	}
	return out
}

// gone reports that there is no such credential any more as the one in use: someone revoked it, or deleted what it hung on.
func (w *world) gone() bool {
	if w.state != intact || !w.known {
		return false
	}
	c, ok := w.find(w.record.ID, "")
	return !ok || c.leaving
}

// usable reports that there is a credential that works, as far as is known.
func (w *world) usable() bool { return w.state == intact && !w.gone() }

// waitsForConsumers says why it is not proven that every consumer has the credential: no words if it is.
func (w *world) waitsForConsumers() string {
	for _, c := range w.consumers {
		if why := c.WaitsFor(w.annotation(), w.record.ID, "an earlier credential"); why != "" {
			return why
		}
	}
	for _, c := range w.copies {
		if why := c.waitsFor(w.record.ID); why != "" {
			return why
		}
	}
	if late := w.late(); len(late) > 0 && w.patience().After(w.now) {
		return late[0].waitsFor()
	}
	return ""
}

// roles are those that an application credential is to be made with, sorted.
func (w *world) roles() []string { return slices.Sorted(slices.Values(w.rotation.Spec.Roles)) }

// due is when the credential is replaced, if nothing holds that back.
func (w *world) due() time.Time {
	if w.state == intact && !slices.Equal(w.record.Roles, w.roles()) {
		return w.record.Since
	}
	return w.ends()
}

// ends is when the credential is replaced because of its age, or because somebody says so.
func (w *world) ends() time.Time {
	if id := w.rotation.Annotations[rotateAnnotation]; id != "" && id == w.record.ID {
		return w.record.Since
	}
	spec := w.rotation.Spec
	return w.record.Since.Add(time.Duration(spec.IntervalDays-ptr.Deref(spec.PreRotationDays, 0)) * day)
}

// graceEnds is when what is no longer used may be revoked.
func (w *world) graceEnds() time.Time {
	if w.record.Distributed == nil {
		return time.Time{}
	}
	return w.record.Distributed.Add(time.Duration(ptr.Deref(w.rotation.Spec.GracePeriodDays, 0)) * day)
}

func (w *world) annotation() string {
	return consumer.Annotation(podAnnotationPrefix, string(w.rotation.Spec.SecretName))
}

func (w *world) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: w.rotation.Namespace, Name: name}
}

package credentialrotation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
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

	// user is logged in; problem says why nobody is. It is locked out if no password is left that Keystone accepts.
	user      *identity.User
	problem   string
	lockedOut bool
	// credentials are the application credentials of this rotation that Keystone has.
	credentials []identity.ApplicationCredential
	// changed is set when Keystone accepts the staged password.
	changed bool
}

// observe reads the world. Nothing comes from a cache: what a pass decides cannot be taken back.
func observe(ctx context.Context, env *controller.Env, rotation *c5c3v1.CredentialRotation) (*world, error) {
	w, reader := &world{rotation: rotation, now: env.Clock.Now().UTC().Truncate(time.Second)}, env.Reader // As times in a status are.
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
	secret, err := live.Get(ctx, env.Reader, "Secret", w.key(string(rotation.Spec.SecretName)), &corev1.Secret{})
	if err != nil {
		return nil, err
	}
	w.judge(secret)
	if w.state == foreign {
		return w, nil
	}
	cloud, problem, err := identity.FindCloud(ctx, env.Reader, rotation.Namespace, rotation.Spec.CloudCredentialsRef)
	if w.problem = problem; err != nil || problem != "" {
		return w, err
	}
	w.ask(ctx, env.Transport, cloud)
	return w, nil
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
	case rec == nil && unreadable == nil && w.rotation.Spec.Target != password && secret.Labels[managedByLabel] != managedBy:
		w.state, w.whose = foreign, "it was not made by this CredentialRotation. Delete it, or name another Secret"
		return
	case rec == nil:
		w.state = unrecorded
		return
	}
	w.record = *rec
	switch {
	case rec.ID == "":
		w.state = empty
	case rec.Digest != digest(rec.ID, w.value()), w.rotation.Spec.Target == applicationCredential && text(secret, idKey) != rec.ID:
		w.state = edited
	default:
		w.state = intact
	}
}

// ask asks Keystone for what has to be known. That it does not answer is no error: it is waited for.
func (w *world) ask(ctx context.Context, keystone identity.Transport, cloud identity.Cloud) {
	ref := w.rotation.Spec.CloudCredentialsRef
	switch {
	case w.rotation.Spec.Target == password:
		w.askForPassword(ctx, keystone, cloud)
	case cloud.Username != w.rotation.Spec.UserName:
		w.problem = fmt.Sprintf("spec.cloudCredentialsRef: cloud %s is of user %q, and only user %s itself can make its application "+
			"credentials", ref.CloudName, cloud.Username, w.rotation.Spec.UserName)
	case cloud.ProjectName == "" && cloud.ProjectID == "":
		w.problem = fmt.Sprintf("spec.cloudCredentialsRef: cloud %s needs a project, which application credentials are for", ref.CloudName)
	default:
		w.askForCredentials(ctx, keystone, cloud)
	}
}

func (w *world) askForCredentials(ctx context.Context, keystone identity.Transport, cloud identity.Cloud) {
	user, err := keystone.Login(ctx, cloud)
	var all []identity.ApplicationCredential
	if err == nil {
		all, err = user.ApplicationCredentials(ctx)
	}
	if err != nil {
		w.problem = err.Error()
		return
	}
	w.user = user
	for _, c := range all {
		if strings.HasPrefix(c.Name, w.prefix()) {
			w.credentials = append(w.credentials, c)
		}
	}
}

// askForPassword finds out which password Keystone knows, while one is staged. At no other time, since a login that fails counts
// against the user.
func (w *world) askForPassword(ctx context.Context, keystone identity.Transport, cloud identity.Cloud) {
	if w.record.Staged == "" || w.staged() == "" {
		return
	}
	cloud.Username = w.rotation.Spec.UserName
	cloud.ProjectName, cloud.ProjectID, cloud.DomainName, cloud.DomainID, cloud.ApplicationCredentialID = "", "", "", "", ""
	for _, changed := range []bool{false, true} {
		cloud.Password = w.value()
		if changed {
			cloud.Password = w.staged()
		}
		user, err := keystone.Login(ctx, cloud)
		if err == nil {
			w.user, w.changed, w.problem = user, changed, ""
			return
		}
		w.problem = err.Error()
		if !identity.IsRefused(err) {
			return
		}
	}
	w.lockedOut = true
	w.problem = fmt.Sprintf("Keystone accepts neither the password in Secret %s nor the one that was to come: "+
		"put the right one into its key %s", w.secret.Name, passwordKey)
}

// prefix of the names of this rotation's application credentials. Names are unique for a user, and kept when the rotation is made
// again.
func (w *world) prefix() string {
	const readable, digits = 63, 10
	name := w.rotation.Name
	return name[:min(len(name), readable)] + "-" + names.Hash(digits, w.rotation.Namespace, name) + "-"
}

// find an application credential by its ID or name.
func (w *world) find(id, name string) (identity.ApplicationCredential, bool) {
	for _, c := range w.credentials {
		if id != "" && c.ID == id || name != "" && c.Name == name {
			return c, true
		}
	}
	return identity.ApplicationCredential{}, false
}

// strays are the application credentials that are neither in use nor being made.
func (w *world) strays() []string {
	var out []string
	for _, c := range w.credentials {
		if c.ID != w.record.ID && c.Name != w.record.Staged {
			out = append(out, c.ID)
		}
	}
	return out
}

// gone reports that Keystone no longer has the application credential in use: someone revoked it, or took a role of it from the user.
func (w *world) gone() bool {
	if w.rotation.Spec.Target == password || w.state != intact || w.user == nil {
		return false
	}
	_, ok := w.find(w.record.ID, "")
	return !ok
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
	for i, r := range w.rotation.Spec.RemoteConsumers {
		if r.ObservedID != w.record.ID {
			return fmt.Sprintf("%s in another cluster is not yet known to have the credential (spec.remoteConsumers[%d].observedID)", r.Name, i)
		}
	}
	return ""
}

// roles are those that an application credential is to be made with, sorted.
func (w *world) roles() []string { return slices.Sorted(slices.Values(w.rotation.Spec.Roles)) }

// due is when the credential is replaced, if nothing holds that back.
func (w *world) due() time.Time {
	if id := w.rotation.Annotations[rotateAnnotation]; id != "" && id == w.record.ID {
		return w.record.Since
	}
	if w.state == intact && !slices.Equal(w.record.Roles, w.roles()) {
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

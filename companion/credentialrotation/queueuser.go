package credentialrotation

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
)

// Labels of the objects of a rotation: the name of the rotation, and the name of the queue user.
const (
	rotationLabel  = "c5c3.io/credential-rotation"
	queueUserLabel = "c5c3.io/queue-user"
)

// suppliedAnnotation of a User is the name of the Secret that was created for it.
const suppliedAnnotation = "c5c3.io/supplied-secret"

// queue is a user of message queues. RabbitMQ's messaging topology operator creates it from objects: on each queue a User,
// which owns the Secret with its password, and Permissions. They are deleted with the User. The Secret is not read: it exists
// if the User has suppliedAnnotation, which is set after the Secret is created.
//
// A new User of the same name conflicts with leftovers of the previous one: when the Permission of that one is deleted, the
// operator revokes the permission of the RabbitMQ user with the name. So a user that is missing on all queues is replaced by
// one with another name. If it is missing on one of several queues, its User is re-created with the same name. Then the
// objects of the previous User are treated as being deleted: Kubernetes garbage-collects them, and only after that the
// Permissions are created again. The Secret has a different name for each User.
type queue struct {
	// users and permissions of the rotation by object name.
	users, permissions map[string]*unstructured.Unstructured
	// vhosts of the user, no matter who created them.
	vhosts map[virtualHost]*unstructured.Unstructured
}

// virtualHost is a virtual host of a broker.
type virtualHost struct {
	broker common.Broker
	name   string
}

// defaultVhost exists in every RabbitMQ, without a Vhost object.
const defaultVhost = "/"

func (*queue) keys() (id, value string) { return "username", "password" }

func (*queue) overlaps() bool { return true }

// staged returns the name of the RabbitMQ user. It is also an object name and the value of a label, which has at most 63
// characters.
func (*queue) staged(w *observation, random string) string {
	const letters = 63
	name := strings.ReplaceAll(w.rotation.Name, ".", "-")
	return strings.TrimRight(name[:min(len(name), letters-1-len(random))], "-") + "-" + random
}

func (q *queue) observe(ctx context.Context, env *controller.Env, w *observation) error {
	var err error
	own := client.MatchingLabels{rotationLabel: rotationLabelValue(w)}
	if q.users, err = q.list(ctx, env.Reader, w, "User", own); err != nil {
		return err
	}
	if q.permissions, err = q.list(ctx, env.Reader, w, "Permission", own); err != nil {
		return err
	}
	if q.vhosts, err = q.virtualHosts(ctx, env.Reader, w); err != nil {
		return err
	}
	w.credentialsListed = true
	for _, name := range slices.Sorted(maps.Keys(q.users)) {
		u := q.users[name]
		id, leaving := u.GetLabels()[queueUserLabel], u.GetDeletionTimestamp() != nil
		i := slices.IndexFunc(w.credentials, func(c credential) bool { return c.id == id })
		if i < 0 {
			i, w.credentials = len(w.credentials), append(w.credentials, credential{id: id, name: id, revoking: true})
		}
		w.credentials[i].revoking = w.credentials[i].revoking && leaving // On every queue.
		w.changePending = w.changePending || leaving
	}
	for _, id := range []string{w.record.ID, w.record.Staged} {
		w.changePending = w.changePending || id != "" && q.operatorPendingMessage(w, id) != ""
	}
	w.recentlyChanged = q.recentlyModified(w)
	return nil
}

// recentlyModified reports whether an object was created or deleted less than expectedDuration ago.
func (q *queue) recentlyModified(w *observation) bool {
	all := slices.AppendSeq(slices.Collect(maps.Values(q.users)), maps.Values(q.permissions))
	return slices.ContainsFunc(slices.AppendSeq(all, maps.Values(q.vhosts)), func(o *unstructured.Unstructured) bool {
		at := o.GetCreationTimestamp().Time
		if removed := o.GetDeletionTimestamp(); removed != nil {
			at = removed.Time
		}
		return w.now.Sub(at).Abs() < expectedDuration
	})
}

// virtualHosts returns the Vhost objects for the virtual hosts of the spec.
func (q *queue) virtualHosts(ctx context.Context, reader client.Reader, w *observation) (map[virtualHost]*unstructured.Unstructured,
	error) {
	objects, err := q.list(ctx, reader, w, "Vhost")
	if err != nil {
		return nil, err
	}
	out := map[virtualHost]*unstructured.Unstructured{}
	for _, o := range objects {
		name, _, _ := unstructured.NestedString(o.Object, "spec", "name")
		broker := rabbitmq.BrokerOf(o)
		if slices.Contains(w.rotation.Spec.Queue.Permissions, c5c3v1.QueuePermission{Broker: broker, Vhost: name}) {
			out[virtualHost{broker, name}] = o
		}
	}
	return out, nil
}

func (*queue) list(
	ctx context.Context, reader client.Reader, w *observation, kind string, options ...client.ListOption,
) (map[string]*unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: rabbitmq.Group, Version: rabbitmq.Version, Kind: kind + "List"})
	err := reader.List(ctx, list, append(options, client.InNamespace(w.rotation.Namespace))...)
	if err != nil {
		return nil, fmt.Errorf("cannot list the %ss of RabbitMQ's messaging topology operator: %w", kind, err)
	}
	out := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		out[list.Items[i].GetName()] = &list.Items[i]
	}
	return out, nil
}

// rotationLabelValue returns the name of the rotation, or a hash of it if it is too long for a label.
func rotationLabelValue(w *observation) string {
	const letters, digits = 63, 20
	if name := w.rotation.Name; len(name) <= letters {
		return name
	}
	return names.Hash(digits, w.rotation.Name)
}

// queueUserSpec contains the desired objects on one queue: a user and its permissions.
type queueUserSpec struct {
	user        *unstructured.Unstructured
	permissions []*unstructured.Unstructured
}

// queueUserSpecs returns the desired objects of a user for each queue, in the order of the spec.
func (*queue) queueUserSpecs(w *observation, id string) []queueUserSpec {
	var brokers []common.Broker
	permissions := map[common.Broker][]*unstructured.Unstructured{}
	users := map[common.Broker]*unstructured.Unstructured{}
	for _, p := range w.rotation.Spec.Queue.Permissions {
		broker := p.Broker
		a := rabbitmq.Account{Meta: metaOf(w, id, id+"-"+broker.Name()), Vhost: p.Vhost, Login: id, Broker: broker}
		a.Secret = a.Meta.Name
		if users[broker] == nil {
			brokers, users[broker] = append(brokers, broker), a.User()
			users[broker].SetOwnerReferences(owners(w, broker))
		}
		const digits = 8
		a.Meta.Name += "-" + names.Hash(digits, p.Vhost)
		permissions[broker] = append(permissions[broker], a.Permission())
	}
	out := make([]queueUserSpec, len(brokers))
	for i, b := range brokers {
		out[i] = queueUserSpec{users[b], permissions[b]}
	}
	return out
}

func metaOf(w *observation, id, name string) object.Meta {
	return object.Meta{Name: name, Namespace: w.rotation.Namespace, Labels: map[string]string{
		"app.kubernetes.io/part-of": "openstack", managedByLabel: managedBy, rotationLabel: rotationLabelValue(w), queueUserLabel: id,
	}}
}

// owners returns the owner reference of a User: the rotation, if the deletion policy is Delete. On an external broker,
// foreground deletion of the rotation waits for the User: the connection Secret is deleted with the namespace, and without it
// the operator would never remove the finalizer of the User.
func owners(w *observation, broker common.Broker) []metav1.OwnerReference {
	if w.rotation.Spec.Queue.DeletionPolicy != common.DeletionPolicyDelete {
		return nil
	}
	own := metav1.OwnerReference{
		APIVersion: "c5c3.io/v1alpha1", Kind: "CredentialRotation", Name: w.rotation.Name, UID: w.rotation.UID,
	}
	if broker.ConnectionSecretRef.Name != "" {
		own.BlockOwnerDeletion = new(true)
	}
	return []metav1.OwnerReference{own}
}

// ensure returns the next step to make the objects of a user match the spec; nil if they do.
func (q *queue) ensure(w *observation, id, password string) *controller.Decision {
	desired := map[string]bool{}
	for _, o := range q.queueUserSpecs(w, id) {
		user := q.users[o.user.GetName()]
		desired[o.user.GetName()] = true
		for _, p := range o.permissions { // Also permissions of a User that is being deleted; they are deleted with it.
			desired[p.GetName()] = true
		}
		switch {
		case user == nil:
			return &controller.Decision{
				Name: "QueueUserCreated", Action: createUser(o.user),
				Note: fmt.Sprintf("created User %s for %s", o.user.GetName(), q.title(id)),
			}
		case user.GetDeletionTimestamp() != nil:
			continue
		case !equality.Semantic.DeepEqual(user.GetOwnerReferences(), o.user.GetOwnerReferences()):
			own := user.DeepCopy()
			own.SetOwnerReferences(o.user.GetOwnerReferences())
			return &controller.Decision{Name: "QueueUserOwnerSet", Action: func(ctx context.Context, env *controller.Env) error {
				return env.Client.Update(ctx, own)
			}}
		case user.GetAnnotations()[suppliedAnnotation] == "":
			return q.createUserSecret(w, id, password, user)
		}
		for _, p := range o.permissions {
			// A permission owned by an earlier User must be deleted first.
			if q.permissions[p.GetName()] == nil && q.vhostMissingReason(p) == "" {
				return q.createPermission(id, user, p)
			}
		}
	}
	for _, all := range []map[string]*unstructured.Unstructured{q.permissions, q.users} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			o := all[name]
			if o.GetLabels()[queueUserLabel] == id && !desired[name] && o.GetDeletionTimestamp() == nil {
				return &controller.Decision{
					Name: "QueueUserRestricted", Action: controller.Delete(o, metav1.DeletePropagationBackground),
					Note: fmt.Sprintf("deleted %s %s, which is no longer in spec.queue.permissions", o.GetKind(), name),
				}
			}
		}
	}
	return nil
}

// vhostMissingReason returns why the virtual host of a Permission does not exist yet; "" if it exists. The operator retries
// with an increasing delay, so a Permission that is created too early becomes ready minutes late.
func (q *queue) vhostMissingReason(permission *unstructured.Unstructured) string {
	host := hostOf(permission)
	if host.name == defaultVhost {
		return ""
	}
	if why := unready(q.vhosts[host]); why != "" {
		return fmt.Sprintf("RabbitMQ's messaging topology operator has not created virtual host %s in %s yet: its Vhost %s",
			host.name, host.broker, why)
	}
	return ""
}

// hostOf returns the virtual host of a Permission.
func hostOf(permission *unstructured.Unstructured) virtualHost {
	vhost, _, _ := unstructured.NestedString(permission.Object, "spec", "vhost")
	return virtualHost{rabbitmq.BrokerOf(permission), vhost}
}

// createUser creates a User whose Secret has a name that was never used by another User: the Secret of an earlier User may
// still exist and be about to be garbage-collected, which cannot be observed, because these Secrets are not read.
func createUser(user *unstructured.Unstructured) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		const random = 4
		end, err := env.RandomText(random, hex.EncodeToString)
		if err != nil {
			return err
		}
		own := user.DeepCopy()
		if err := unstructured.SetNestedField(own.Object, user.GetName()+"-"+end, secretOfUser...); err != nil {
			return err
		}
		return createAll(own)(ctx, env)
	}
}

// secretOfUser is the path of the Secret name in a User.
var secretOfUser = []string{"spec", "importCredentialsSecret", "name"}

// owned reports whether the User owns the object. An object owned by an earlier User of the same name is about to be
// garbage-collected.
func owned(o, user *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(by metav1.OwnerReference) bool { return by.UID == user.GetUID() })
}

// createUserSecret creates the Secret that a User references, and records that on the User, because these Secrets are not
// read.
func (q *queue) createUserSecret(w *observation, id, password string, user *unstructured.Unstructured) *controller.Decision {
	name, _, _ := unstructured.NestedString(user.Object, secretOfUser...)
	meta := metaOf(w, id, name)
	for label, value := range rabbitmq.Watched() {
		meta.Labels[label] = fmt.Sprint(value)
	}
	idKey, valueKey := q.keys()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, Labels: meta.Labels, OwnerReferences: ownedBy(user)},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{idKey: []byte(id), valueKey: []byte(password)},
	}
	supplied := user.DeepCopy()
	annotations := maps.Clone(user.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[suppliedAnnotation] = name
	supplied.SetAnnotations(annotations)
	return &controller.Decision{Name: "QueueUserSecretCreated", Action: func(ctx context.Context, env *controller.Env) error {
		if err := createAll(secret)(ctx, env); err != nil {
			return err
		}
		return env.Client.Update(ctx, supplied)
	}}
}

// createPermission makes a Permission.
func (q *queue) createPermission(id string, user, permission *unstructured.Unstructured) *controller.Decision {
	permission.SetOwnerReferences(ownedBy(user))
	return &controller.Decision{
		Name: "QueueUserPermissionCreated", Action: createAll(permission),
		Note: fmt.Sprintf("granted %s access to virtual host %s", q.title(id), hostOf(permission).name),
	}
}

func ownedBy(user *unstructured.Unstructured) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: user.GetAPIVersion(), Kind: user.GetKind(), Name: user.GetName(), UID: user.GetUID(),
	}}
}

// createAll creates objects in order. An existing object has the desired content, because only this controller creates
// objects with these names, and leftovers of an earlier User have been observed to be deleted or have another name.
func createAll(objects ...client.Object) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		for _, o := range objects {
			if err := env.Client.Create(ctx, o); client.IgnoreAlreadyExists(err) != nil {
				return fmt.Errorf("cannot create %s: %w", o.GetName(), err)
			}
		}
		return nil
	}
}

// operatorPendingMessage describes which object of a user the operator has not processed yet; "" if none exists.
func (q *queue) operatorPendingMessage(w *observation, id string) string {
	for _, o := range q.queueUserSpecs(w, id) {
		broker := rabbitmq.BrokerOf(o.user)
		user := q.users[o.user.GetName()]
		if why := unready(user); why != "" {
			return fmt.Sprintf("RabbitMQ's messaging topology operator has not created user %s in %s yet: User %s %s",
				id, broker, o.user.GetName(), why)
		}
		for _, p := range o.permissions {
			is := q.permissions[p.GetName()]
			if why := q.vhostMissingReason(p); is == nil && why != "" {
				return why
			}
			why := unready(is)
			if is != nil && !owned(is, user) {
				why = "is being deleted with an earlier User"
			}
			if why != "" {
				return fmt.Sprintf("RabbitMQ's messaging topology operator has not granted user %s access to virtual host %s of %s yet: "+
					"Permission %s %s", id, hostOf(p).name, broker, p.GetName(), why)
			}
		}
	}
	return ""
}

// unready returns why an object of the operator is not applied to the queue; "" if it is.
func unready(u *unstructured.Unstructured) string {
	if u == nil {
		return "does not exist"
	}
	if u.GetDeletionTimestamp() != nil {
		return "is being deleted"
	}
	observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		switch {
		case condition["type"] != "Ready":
		case condition["status"] == "True" && observed >= u.GetGeneration():
			return ""
		default:
			return fmt.Sprintf("is not ready: %v", condition["message"])
		}
	}
	return "is not ready"
}

// generateCredential replaces a user in use only after the next one has all permissions. The first user replaces none and is
// returned before it is ready: creating a virtual host or a queue may require its Secret.
func (q *queue) generateCredential(w *observation) (string, *controller.Decision) {
	id := w.record.Staged
	if s := q.ensure(w, id, w.staged()); s != nil {
		return "", s
	}
	others := slices.ContainsFunc(w.credentials, func(c credential) bool { return c.id != id })
	if others || w.record.ID != "" {
		if why := q.operatorPendingMessage(w, id); why != "" {
			return "", &controller.Decision{Name: "WaitingForQueue", Wait: why}
		}
	}
	return id, nil
}

func (q *queue) keep(w *observation) *controller.Decision { return q.ensure(w, w.record.ID, w.value()) }

func (q *queue) missingRoles(w *observation) (reason, why string) {
	if !w.hasValidCredential() {
		return "", ""
	}
	if why = q.operatorPendingMessage(w, w.record.ID); why != "" {
		return "WaitingForQueue", why
	}
	return "", ""
}

func (q *queue) revoke(_ *observation, id string) *controller.Decision {
	for _, name := range slices.Sorted(maps.Keys(q.users)) {
		u := q.users[name]
		if u.GetLabels()[queueUserLabel] == id && u.GetDeletionTimestamp() == nil {
			return &controller.Decision{
				Name: "CredentialRevoked", Action: controller.Delete(u, metav1.DeletePropagationBackground),
				Note: fmt.Sprintf("revoked %s by deleting User %s", q.title(id), name),
			}
		}
	}
	return &controller.Decision{
		Name: "RevocationPending", Wait: fmt.Sprintf("RabbitMQ's messaging topology operator has not deleted user %s yet", id),
	}
}

func (*queue) title(id string) string { return "queue user " + id }

func (q *queue) missingMessage(id string) string {
	return fmt.Sprintf("the User of %s was deleted and is replaced", q.title(id))
}

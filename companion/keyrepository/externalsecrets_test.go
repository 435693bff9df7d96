package keyrepository

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
)

// pushFinalizer is the finalizer of a PushSecret whose copy has to be deleted from the store.
const pushFinalizer = "pushsecret.externalsecrets.io/finalizer"

// externalSecrets simulates External Secrets and Kubernetes' garbage collector. As in the real one, neither kind watches the
// copied objects, an interval of 0 copies once, policies define what may be replaced and deleted, and no status has a
// generation.
func (c *cluster) externalSecrets() {
	ctx := context.Background()
	pushes := &unstructured.UnstructuredList{}
	pushes.SetGroupVersionKind(pushSecretKind)
	c.Must(c.API.List(ctx, pushes))
	for i := range pushes.Items {
		c.push(&pushes.Items[i])
	}
	queried := &unstructured.UnstructuredList{}
	queried.SetGroupVersionKind(externalSecretKind)
	c.Must(c.API.List(ctx, queried))
	for i := range queried.Items {
		c.fetch(&queried.Items[i])
	}
	copies := &corev1.SecretList{}
	c.Must(c.API.List(ctx, copies))
	for _, s := range copies.Items {
		owner := metav1.GetControllerOf(&s)
		if owner != nil && !slices.ContainsFunc(queried.Items, func(e unstructured.Unstructured) bool { return e.GetUID() == owner.UID }) {
			c.Must(c.API.Delete(ctx, &s))
		}
	}
}

// push copies a Secret to the store.
func (c *cluster) push(p *unstructured.Unstructured) {
	data, _, _ := unstructured.NestedSlice(p.Object, "spec", "data")
	forgets := field(p, "deletionPolicy") == "Delete"
	if p.GetDeletionTimestamp() != nil {
		for _, d := range data {
			if property, _, _ := unstructured.NestedString(d.(map[string]any), "match", "remoteRef", "property"); property == "" {
				return // "requires property in RemoteRef to delete secret value": it is never deleted.
			}
			delete(c.store, remoteKey(d))
		}
		controllerutil.RemoveFinalizer(p, pushFinalizer)
		c.Must(c.API.Update(context.Background(), p))
		return
	}
	if forgets && controllerutil.AddFinalizer(p, pushFinalizer) {
		c.Must(c.API.Update(context.Background(), p))
	}
	if !c.refreshes(p) {
		return
	}
	source := &corev1.Secret{}
	if c.storeDown || c.API.Get(context.Background(), key(field(p, "selector", "secret", "name")), source) != nil {
		c.answer(p, "False", "Errored")
		return
	}
	for _, d := range data {
		if _, exists := c.store[remoteKey(d)]; !exists || field(p, "updatePolicy") != "IfNotExists" {
			c.store[remoteKey(d)] = maps.Clone(source.Data)
		}
	}
	c.answer(p, "True", "Synced")
}

// fetch copies an entry of the store into a Secret.
func (c *cluster) fetch(e *unstructured.Unstructured) {
	ctx := context.Background()
	copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: field(e, "target", "name"), Namespace: namespace}}
	exists := c.API.Get(ctx, client.ObjectKeyFromObject(copied), copied) == nil
	_, reason, _ := readyCondition(e)
	if !c.refreshes(e) && (exists || reason == "SecretDeleted") {
		return
	}
	from, _, _ := unstructured.NestedSlice(e.Object, "spec", "dataFrom")
	entry, _, _ := unstructured.NestedString(from[0].(map[string]any), "extract", "key")
	data, found := c.store[entry]
	owned := field(e, "target", "creationPolicy") == "Owner"
	switch forgets := field(e, "target", "deletionPolicy") == "Delete"; {
	case c.storeDown, !found && forgets && !owned:
		c.answer(e, "False", "SecretSyncedError")
	case !found && forgets:
		c.Must(client.IgnoreNotFound(c.API.Delete(ctx, copied)))
		c.answer(e, "True", "SecretDeleted")
	case !found: // The copy is retained.
		c.answer(e, "True", "SecretSynced")
	default:
		copied.Data = maps.Clone(data)
		if owned {
			copied.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(e, externalSecretKind)}
		}
		if exists {
			c.Must(c.API.Update(ctx, copied))
		} else {
			c.Must(c.API.Create(ctx, copied))
		}
		c.answer(e, "True", "SecretSynced")
	}
}

// refreshes reports whether an object is due: immediately when it is new or has failed, otherwise after its interval, if it
// has one.
func (c *cluster) refreshes(o *unstructured.Unstructured) bool {
	text, _, _ := unstructured.NestedString(o.Object, "status", "refreshTime")
	last, err := time.Parse(time.RFC3339, text)
	if status, _, _ := readyCondition(o); status != "True" || err != nil {
		return true
	}
	interval, err := time.ParseDuration(field(o, "refreshInterval"))
	c.Must(err)
	return interval > 0 && c.Clock.Now().Sub(last) >= interval
}

func (c *cluster) answer(o *unstructured.Unstructured, status, reason string) {
	previous, had, _ := readyCondition(o)
	if previous == status && had == reason && status != "True" {
		return
	}
	now := c.Clock.Now().Format(time.RFC3339)
	if status != "True" { // The time of the last success is retained.
		now, _, _ = unstructured.NestedString(o.Object, "status", "refreshTime")
	}
	o.Object["status"] = map[string]any{
		"refreshTime": now,
		"conditions":  []any{map[string]any{"type": "Ready", "status": status, "reason": reason, "message": "synthetic message"}},
	}
	c.Must(c.API.Update(context.Background(), o))
}

// field returns a string in a spec.
func field(o *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, append([]string{"spec"}, path...)...)
	return text
}

func remoteKey(data any) string {
	key, _, _ := unstructured.NestedString(data.(map[string]any), "match", "remoteRef", "remoteKey")
	return key
}

// pushes returns the names of the existing PushSecrets.
func (c *cluster) pushes() []string {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(pushSecretKind)
	c.Must(c.API.List(context.Background(), list))
	var out []string
	for _, p := range list.Items {
		out = append(out, p.GetName())
	}
	return out
}

// TestStoreContainsCurrentKeys: after some days and rotations, one PushSecret is left, the store contains the current keys, and still does
// when the PushSecret is deleted.
func TestStoreContainsCurrentKeys(t *testing.T) {
	c, r := start(t, withBackup(fernet()))
	for range 20 {
		c.Clock.SetTime(c.Clock.Now().Add(24 * time.Hour))
		c.run(r)
	}
	if got := c.pushes(); len(got) != 1 {
		t.Errorf("orders %v", got)
	}
	if got := keys.Hash(c.store["prod/keys"]); got != c.set().Hash() {
		t.Errorf("the store holds %s, the Secret %s", got, c.set().Hash())
	}
	for _, name := range c.pushes() {
		removed := &unstructured.Unstructured{}
		removed.SetGroupVersionKind(pushSecretKind)
		removed.SetNamespace(namespace)
		removed.SetName(name)
		c.Must(c.API.Delete(context.Background(), removed))
	}
	c.tick()
	if len(c.pushes()) != 0 || c.store["prod/keys"] == nil {
		t.Errorf("orders %v, an entry: %v", c.pushes(), c.store["prod/keys"] != nil)
	}
}

// TestRestoresRemovedEntryWithinDay: an entry that was removed from the store is restored within a day.
func TestRestoresRemovedEntryWithinDay(t *testing.T) {
	c, r := start(t, withBackup(fernet()))
	c.Clock.SetTime(c.Clock.Now().Add(time.Minute))
	clear(c.store)
	c.run(r)
	if c.tick(); c.store["prod/keys"] != nil {
		t.Fatal("today's PushSecret was executed twice")
	}
	c.Clock.SetTime(c.Clock.Now().Add(24 * time.Hour))
	c.run(r)
	if c.tick(); c.store["prod/keys"] == nil {
		t.Error("it is not")
	}
}

// TestEditIsNotPushed: a modified Secret does not replace the backup from which it is restored.
func TestEditIsNotPushed(t *testing.T) {
	c, r := start(t, withBackup(fernet()))
	good := maps.Clone(c.store["prod/keys"])
	s := c.secret()
	s.Data = map[string][]byte{"0": []byte("x")}
	c.Must(c.API.Update(context.Background(), s))
	for range 3 {
		c.Clock.SetTime(c.Clock.Now().Add(time.Hour))
		c.tick()
	}
	if !maps.EqualFunc(good, c.store["prod/keys"], slices.Equal) {
		t.Error("the store holds the edit")
	}
	c.run(r)
	if !maps.EqualFunc(good, c.secret().Data, slices.Equal) {
		t.Error("the edit is not undone")
	}
}

package operators

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/fake"
)

// Store fakes the store of External Secrets: entries by name, as long as the fakes run. The fakes of several clusters
// may share one.
type Store struct {
	mu      sync.Mutex
	entries map[string]map[string]any // base64, as in a Secret
}

// deleteEntries is the deletionPolicy with which pushed entries are deleted together with the PushSecret.
const deleteEntries = "Delete"

// defaultRefresh is the default in the CRD.
const defaultRefresh = time.Hour

// Reasons of the condition Ready that External Secrets sets.
const (
	secretSynced  = "SecretSynced"
	secretDeleted = "SecretDeleted" // there is no such entry, and deletionPolicy is Delete
)

// push writes the entries of a PushSecret into the store when they are due, and with updatePolicy IfNotExists only
// missing ones. It returns the time after which to check again; zero: when something changes.
func (o *Operators) push(ctx context.Context, u *unstructured.Unstructured) (next time.Duration, err error) {
	interval := defaultRefresh
	if s := text(u, "spec", "refreshInterval"); s != "" {
		if interval, err = time.ParseDuration(s); err != nil {
			return 0, err
		}
	}
	if wait, elapsed := refresh(u, interval, time.Now()); !elapsed {
		return wait, nil
	}
	name := text(u, "spec", "selector", "secret", "name")
	secret, err := o.client.Resource(secrets).Namespace(u.GetNamespace()).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return 0, fmt.Errorf("cannot push: %w", err)
	}
	data, _, _ := unstructured.NestedMap(secret.Object, "data")
	all, _, _ := unstructured.NestedSlice(u.Object, "spec", "data")
	for _, one := range all {
		m, _ := one.(map[string]any)
		of := &unstructured.Unstructured{Object: m}
		entry, property := remote(of)
		if text(u, "spec", "updatePolicy") == "IfNotExists" && o.store.has(entry, property) {
			continue
		}
		if key := text(of, "match", "secretKey"); key != "" {
			o.store.put(entry, property, data[key])
		} else {
			o.store.fill(entry, data)
		}
	}
	if text(u, "spec", "deletionPolicy") == deleteEntries {
		o.drop(u, fake.PushedProperties(u.Object))
	}
	unstructured.RemoveNestedField(u.Object, "status", "refreshTime") // it is rewritten
	return interval, nil
}

// refresh reports whether a PushSecret is to be pushed: for the first time, because it has changed, or because its
// interval has elapsed; and if not, when it will be. Without an interval it is not pushed again: shouldRefresh in
// https://github.com/external-secrets/external-secrets/blob/main/pkg/controllers/pushsecret/pushsecret_controller.go.
func refresh(u *unstructured.Unstructured, interval time.Duration, now time.Time) (wait time.Duration, elapsed bool) {
	last, err := time.Parse(time.RFC3339, text(u, "status", "refreshTime"))
	switch {
	case text(u, "status", "syncedResourceVersion") != fake.Version(u.Object):
		return 0, true
	case interval == 0:
		return 0, false
	case err != nil:
		return 0, true
	}
	wait = last.Add(interval).Sub(now)
	return wait, wait <= 0
}

// finalize keeps a PushSecret until its entries are deleted, if its policy is Delete, and reports whether nothing
// remains to be done.
func (o *Operators) finalize(ctx context.Context, i item, u *unstructured.Unstructured) (bool, error) {
	const finalizer = "pushsecret.externalsecrets.io/finalizer"
	deletes, deleting := text(u, "spec", "deletionPolicy") == deleteEntries, u.GetDeletionTimestamp() != nil
	has := slices.Contains(u.GetFinalizers(), finalizer)
	switch {
	case has == (deletes && !deleting):
		return false, nil
	case has:
		if deletes {
			o.drop(u, nil)
		}
		u.SetFinalizers(slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == finalizer }))
	default:
		u.SetFinalizers(append(u.GetFinalizers(), finalizer))
	}
	_, err := o.client.Resource(i.resource).Namespace(i.namespace).Update(ctx, u, metav1.UpdateOptions{})
	return true, ignoreNotFound(err)
}

// drop deletes the entries of a PushSecret from the store, except some.
func (o *Operators) drop(u *unstructured.Unstructured, keep map[string]any) {
	stores, _, _ := unstructured.NestedMap(u.Object, "status", "syncedPushSecrets")
	for name, pushed := range stores {
		retained, _ := keep[name].(map[string]any)
		entries, _ := pushed.(map[string]any)
		for entry, data := range entries {
			if _, ok := retained[entry]; !ok {
				m, _ := data.(map[string]any)
				o.store.remove(remote(&unstructured.Unstructured{Object: m}))
			}
		}
	}
}

// remote returns the entry and the property of one of the data of a PushSecret.
func remote(of *unstructured.Unstructured) (entry, property string) {
	return text(of, "match", "remoteRef", "remoteKey"), text(of, "match", "remoteRef", "property")
}

// fill creates an entry from a whole Secret.
func (s *Store) fill(entry string, data map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		s.entries = map[string]map[string]any{}
	}
	s.entries[entry] = maps.Clone(data)
}

// put sets a property of an entry.
func (s *Store) put(entry, property string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		s.entries = map[string]map[string]any{}
	}
	if s.entries[entry] == nil {
		s.entries[entry] = map[string]any{}
	}
	s.entries[entry][property] = value
}

// remove deletes a property of an entry, and an empty entry, or a whole entry if no property is named.
func (s *Store) remove(entry, property string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.entries[entry], property)
	if property == "" || len(s.entries[entry]) == 0 {
		delete(s.entries, entry)
	}
}

// has reports whether an entry exists, and its property if one is named.
func (s *Store) has(entry, property string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.entries[entry]
	if _, has := data[property]; property != "" {
		return has
	}
	return ok
}

// entryOf returns the entry that an ExternalSecret reads as a whole, or an empty string.
func entryOf(u *unstructured.Unstructured) string {
	from, _, _ := unstructured.NestedSlice(u.Object, "spec", "dataFrom")
	for _, f := range from {
		m, _ := f.(map[string]any)
		if key := text(&unstructured.Unstructured{Object: m}, "extract", "key"); key != "" {
			return key
		}
	}
	return ""
}

// pull creates the Secret of an ExternalSecret that reads an entry of the store, and returns the resulting reason.
func (o *Operators) pull(ctx context.Context, u *unstructured.Unstructured, entry string) (reason string, err error) {
	o.store.mu.Lock()
	data := maps.Clone(o.store.entries[entry])
	o.store.mu.Unlock()
	if data == nil && text(u, "spec", "target", "deletionPolicy") == "Delete" {
		return secretDeleted, nil
	} else if data == nil {
		return "", fmt.Errorf("the store has no entry %s", entry)
	}
	s := ofExternalSecret(u)
	return secretSynced, o.create(ctx, u, s.name, data, s.owned)
}

// Entries returns the names of all entries, sorted.
func (s *Store) Entries() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.entries))
}

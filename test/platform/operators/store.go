package operators

import (
	"context"
	"fmt"
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// store plays what External Secrets keeps secrets in: entries by their names, as long as the players play.
type store struct {
	mu      sync.Mutex
	entries map[string]map[string]any // base64, as in a Secret
}

// Reasons of the condition Ready with which External Secrets tells what it did.
const (
	secretSynced  = "SecretSynced"
	secretDeleted = "SecretDeleted" // there is no such entry, and deletionPolicy is Delete
)

// push writes what a PushSecret names into the store; where it has no interval, once, and where it says so, only what is not there.
func (o *Operators) push(ctx context.Context, u *unstructured.Unstructured) error {
	if text(u, "spec", "refreshInterval") == "0s" && text(u, "status", "refreshTime") != "" {
		return nil
	}
	name := text(u, "spec", "selector", "secret", "name")
	secret, err := o.client.Resource(secrets).Namespace(u.GetNamespace()).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("cannot push: %w", err)
	}
	data, _, _ := unstructured.NestedMap(secret.Object, "data")
	all, _, _ := unstructured.NestedSlice(u.Object, "spec", "data")
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	if o.store.entries == nil {
		o.store.entries = map[string]map[string]any{}
	}
	for _, one := range all {
		m, _ := one.(map[string]any)
		of := &unstructured.Unstructured{Object: m}
		entry, property := text(of, "match", "remoteRef", "remoteKey"), text(of, "match", "remoteRef", "property")
		key := text(of, "match", "secretKey")
		if text(u, "spec", "updatePolicy") == "IfNotExists" && o.store.has(entry, property) {
			continue
		}
		if key == "" {
			o.store.entries[entry] = maps.Clone(data)
			continue
		}
		if o.store.entries[entry] == nil {
			o.store.entries[entry] = map[string]any{}
		}
		o.store.entries[entry][property] = data[key]
	}
	return nil
}

// has tells whether there is an entry, and its property where one is named.
func (s *store) has(entry, property string) bool {
	data, ok := s.entries[entry]
	if _, has := data[property]; property != "" {
		return has
	}
	return ok
}

// entryOf is the entry of the store that an ExternalSecret reads as a whole, or nothing.
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

// pull makes the Secret of an ExternalSecret that reads an entry of the store, and tells what became of it.
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

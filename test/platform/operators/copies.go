package operators

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/fake"
)

var secretStores = schema.GroupVersionResource{Group: "external-secrets.io", Version: "v1", Resource: "secretstores"}

// errUnreadable is the message of External Secrets in the condition for an unreadable source. The reason is in an
// event.
var errUnreadable = errors.New("could not get secret data from provider")

// reader returns the base64 data of an entry of a store.
type reader func(ctx context.Context, entry string) (map[string]any, error)

// copied creates the Secret of an ExternalSecret that lists keys, and keeps it up to date.
func (o *Operators) copied(ctx context.Context, u *unstructured.Unstructured) error {
	s := ofExternalSecret(u)
	is, err := o.client.Resource(secrets).Namespace(u.GetNamespace()).Get(ctx, s.name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	existing := err == nil
	if existing && text(u, "spec", "refreshPolicy") == "CreatedOnce" {
		return nil
	}
	read, err := o.reader(ctx, u)
	if err != nil {
		return err
	}
	data := map[string]any{}
	all, _, _ := unstructured.NestedSlice(u.Object, "spec", "data")
	for _, one := range all {
		m, _ := one.(map[string]any)
		of := &unstructured.Unstructured{Object: m}
		entry, property := text(of, "remoteRef", "key"), text(of, "remoteRef", "property")
		values, err := read(ctx, entry)
		if err == nil && values[property] == nil {
			err = fmt.Errorf("property %s does not exist in data of secret %q", property, entry)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errUnreadable, err)
		}
		data[text(of, "secretKey")] = values[property]
	}
	if data, err = filled(u, data); err != nil {
		return err
	}
	if !existing {
		return o.createOf(ctx, u, s.name, text(u, "spec", "target", "template", "type"), data, s.owned)
	}
	if equality.Semantic.DeepEqual(is.Object["data"], data) {
		return nil
	}
	is.Object["data"] = data
	_, err = o.client.Resource(secrets).Namespace(u.GetNamespace()).Update(ctx, is, metav1.UpdateOptions{})
	return err
}

// reader returns the reader of an ExternalSecret's store: of another namespace with the permissions of the store's
// account, which the API server checks; or of pushed entries.
func (o *Operators) reader(ctx context.Context, u *unstructured.Unstructured) (reader, error) {
	if text(u, "spec", "secretStoreRef", "kind") != "SecretStore" {
		return o.pushed, nil
	}
	name := text(u, "spec", "secretStoreRef", "name")
	store, err := o.client.Resource(secretStores).Namespace(u.GetNamespace()).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	namespace := text(store, "spec", "provider", "kubernetes", "remoteNamespace")
	if namespace == "" {
		return o.pushed, nil
	}
	config := rest.CopyConfig(o.config)
	config.Impersonate.UserName = fmt.Sprintf("system:serviceaccount:%s:%s", u.GetNamespace(),
		text(store, "spec", "provider", "kubernetes", "auth", "serviceAccount", "name"))
	config.Impersonate.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + u.GetNamespace(), "system:authenticated"}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, name string) (map[string]any, error) {
		s, err := client.Resource(secrets).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		data, _, err := unstructured.NestedMap(s.Object, "data")
		return data, err
	}, nil
}

// pushed returns an entry that was pushed.
func (o *Operators) pushed(_ context.Context, entry string) (map[string]any, error) {
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	data, ok := o.store.entries[entry]
	if !ok {
		return nil, fmt.Errorf("the store has no entry %s", entry)
	}
	return maps.Clone(data), nil
}

// filled fills the templates of an ExternalSecret, or returns the data if it has none.
func filled(u *unstructured.Unstructured, data map[string]any) (map[string]any, error) {
	values := map[string]string{}
	for name, value := range data {
		encoded, _ := value.(string)
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, err
		}
		values[name] = string(decoded)
	}
	texts, err := fake.Templated(u.Object, values)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for key, text := range texts {
		out[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return out, nil
}

// reportUnreadable sets the condition of an ExternalSecret with an unreadable source, as External Secrets does.
func (o *Operators) reportUnreadable(ctx context.Context, i item, u *unstructured.Unstructured) error {
	u = u.DeepCopy()
	before, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range before {
		if m, ok := c.(map[string]any); ok && m["type"] == "Ready" && m["message"] == errUnreadable.Error() {
			return nil
		}
	}
	if err := unstructured.SetNestedSlice(u.Object, []any{map[string]any{
		"type": "Ready", "status": "False", "reason": "SecretSyncedError", "message": errUnreadable.Error(), "lastTransitionTime": now(),
	}}, "status", "conditions"); err != nil {
		return err
	}
	_, err := o.client.Resource(i.resource).Namespace(i.namespace).UpdateStatus(ctx, u, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}

// reads reports whether an ExternalSecret lists its keys.
func reads(u *unstructured.Unstructured) bool {
	data, _, _ := unstructured.NestedSlice(u.Object, "spec", "data")
	return u.GetKind() == "ExternalSecret" && len(data) > 0
}

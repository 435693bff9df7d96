package operators

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// K-ORC guards the Secret that an object logs in with: a finalizer for each kind of object keeps it until no object of the kind names it.
// https://github.com/k-orc/openstack-resource-controller, internal/util/dependency/deletion_guard.go

// guardOf returns the finalizer of a kind, which its objects also have.
func guardOf(kind string) string { return korcGroup + "/" + lower(kind) }

// guard adds a finalizer to the Secret of an object.
func (o *Operators) guard(ctx context.Context, u *unstructured.Unstructured, finalizer string) error {
	client := o.client.Resource(secrets).Namespace(u.GetNamespace())
	secret, err := client.Get(ctx, text(u, "spec", "cloudCredentialsRef", "secretName"), metav1.GetOptions{})
	if err != nil || slices.Contains(secret.GetFinalizers(), finalizer) || secret.GetDeletionTimestamp() != nil {
		return ignoreNotFound(err)
	}
	secret.SetFinalizers(append(secret.GetFinalizers(), finalizer))
	_, err = client.Update(ctx, secret, metav1.UpdateOptions{})
	return err
}

// isGuarded reports whether a Secret is deleted and only kept by K-ORC's finalizers.
func isGuarded(secret *unstructured.Unstructured) bool {
	return secret.GetDeletionTimestamp() != nil && slices.ContainsFunc(secret.GetFinalizers(), func(f string) bool {
		return strings.HasPrefix(f, korcGroup+"/")
	})
}

// unguard removes the finalizers of a deleted Secret, kind by kind.
func (o *Operators) unguard(ctx context.Context, i item, secret *unstructured.Unstructured) error {
	if !isGuarded(secret) {
		return nil
	}
	var remaining []string
	for _, f := range secret.GetFinalizers() {
		used, err := o.isUsed(secret, f)
		if err != nil {
			return err
		}
		if used {
			remaining = append(remaining, f)
		}
	}
	if len(remaining) == len(secret.GetFinalizers()) {
		return nil
	}
	secret.SetFinalizers(remaining)
	_, err := o.client.Resource(secrets).Namespace(i.namespace).Update(ctx, secret, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}

// isUsed reports whether a finalizer of a Secret has to stay: another owner's always, and K-ORC's as long as an object
// of the kind names the Secret, or K-ORC is paused.
func (o *Operators) isUsed(secret *unstructured.Unstructured, finalizer string) (bool, error) {
	const pause = time.Second
	for resource, kind := range o.kinds {
		if kind.Group != korcGroup || guardOf(kind.Kind) != finalizer {
			continue
		}
		if o.isHeld(kind, secret.GetNamespace()) {
			o.queue.AddAfter(item{resource: secrets, namespace: secret.GetNamespace(), name: secret.GetName()}, pause)
			return true, nil
		}
		all, err := o.caches[resource].ByNamespace(secret.GetNamespace()).List(labels.Everything())
		return slices.ContainsFunc(asObjects(all), func(u *unstructured.Unstructured) bool {
			return text(u, "spec", "cloudCredentialsRef", "secretName") == secret.GetName()
		}), err
	}
	return true, nil
}

// unguardAll checks the deleted Secrets of a namespace again, because an object of K-ORC was deleted.
func (o *Operators) unguardAll(namespace string) error {
	all, err := o.caches[secrets].ByNamespace(namespace).List(labels.Everything())
	for _, s := range asObjects(all) {
		if isGuarded(s) {
			o.queue.Add(item{resource: secrets, namespace: namespace, name: s.GetName()})
		}
	}
	return err
}

// Package korctest builds objects of K-ORC, for tests of controllers that read them.
package korctest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/korc"
)

// Object returns an object of K-ORC. The ID is its ID in Keystone; "" if K-ORC has not created it there yet.
func Object(kind, namespace, name, id string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(korc.Version.WithKind(kind))
	u.SetNamespace(namespace)
	u.SetName(name)
	if id != "" {
		u.Object["status"] = map[string]any{"id": id}
	}
	return u
}

// AddToScheme returns a function that adds kinds of K-ORC to a scheme, without Go types.
func AddToScheme(kinds ...string) func(*runtime.Scheme) error {
	return func(s *runtime.Scheme) error {
		for _, kind := range kinds {
			s.AddKnownTypeWithName(korc.Version.WithKind(kind), &unstructured.Unstructured{})
		}
		return nil
	}
}

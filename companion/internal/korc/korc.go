// Package korc finds out what K-ORC's objects are in Keystone.
package korc

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Version of K-ORC's API.
var Version = schema.GroupVersion{Group: "openstack.k-orc.cloud", Version: "v1alpha1"}

// ID of an object in Keystone. What it waits for is said instead, if it is not there yet; an error is the API server's.
func ID(ctx context.Context, reader client.Reader, kind, namespace, name string) (id, waiting string, err error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(Version.WithKind(kind))
	err = reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, u)
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return "", fmt.Sprintf("K-ORC's %s %s does not exist", kind, name), nil
	case err != nil:
		return "", "", fmt.Errorf("cannot read %s %s: %w", kind, name, err)
	case u.GetDeletionTimestamp() != nil:
		return "", fmt.Sprintf("K-ORC's %s %s is being deleted", kind, name), nil
	}
	id, _, _ = unstructured.NestedString(u.Object, "status", "id")
	if id == "" {
		return "", fmt.Sprintf("K-ORC has not found or made %s %s in Keystone yet", kind, name), nil
	}
	return id, "", nil
}

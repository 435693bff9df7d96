// Package korc looks up the Keystone IDs of K-ORC's objects.
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

// Version is the version of K-ORC's API.
var Version = schema.GroupVersion{Group: "openstack.k-orc.cloud", Version: "v1alpha1"}

// ID returns the Keystone ID of an object. If it does not exist yet, waiting is the reason; an error is from the API server.
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
		return "", fmt.Sprintf("K-ORC has not found or created %s %s in Keystone yet", kind, name), nil
	}
	return id, "", nil
}

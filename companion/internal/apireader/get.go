// Package apireader reads objects from the API server, without the cache of the manager.
package apireader

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Get reads an object into o and returns it; nil if it does not exist. The kind is for the error message.
func Get[T client.Object](ctx context.Context, reader client.Reader, kind string, key client.ObjectKey, o T) (T, error) {
	var none T
	switch err := reader.Get(ctx, key, o); {
	case apierrors.IsNotFound(err):
		return none, nil
	case err != nil:
		return none, fmt.Errorf("cannot read %s %s: %w", kind, key.Name, err)
	}
	return o, nil
}

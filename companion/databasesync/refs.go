package databasesync

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rights "github.com/c5c3/crossplane-cobaltcore/internal/companion"
)

// missing gives the references that do not exist. Only metadata is read.
func missing(ctx context.Context, reader client.Reader, namespace string, refs []rights.Reference) ([]string, error) {
	var out []string
	for _, r := range refs {
		o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: r.Kind}}
		switch err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: r.Name}, o); {
		case apierrors.IsNotFound(err):
			out = append(out, r.Kind+" "+r.Name)
		case err != nil:
			return nil, fmt.Errorf("cannot look for %s %s: %w", r.Kind, r.Name, err)
		}
	}
	return out, nil
}

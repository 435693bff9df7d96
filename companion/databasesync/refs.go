package databasesync

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
	rights "github.com/c5c3/crossplane-cobaltcore/internal/companion"
)

// missing gives the references that do not exist. Only metadata is read.
func missing(ctx context.Context, reader client.Reader, namespace string, refs []rights.Reference) ([]string, error) {
	var out []string
	for _, r := range refs {
		o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: r.Kind}}
		o, err := live.Get(ctx, reader, r.Kind, client.ObjectKey{Namespace: namespace, Name: r.Name}, o)
		if err != nil {
			return nil, err
		}
		if o == nil {
			out = append(out, r.Kind+" "+r.Name)
		}
	}
	return out, nil
}

package apireader

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestGet(t *testing.T) {
	key := client.ObjectKey{Namespace: "cloud", Name: "a"}
	existing := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "cloud", Name: "a"}}
	api := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(existing).Build()
	if got, err := Get(t.Context(), api, "Secret", key, &corev1.Secret{}); err != nil || got == nil || got.Name != "a" {
		t.Errorf("%v, %v", got, err)
	}
	key.Name = "b"
	if got, err := Get(t.Context(), api, "Secret", key, &corev1.Secret{}); err != nil || got != nil {
		t.Errorf("one that is not there: %v, %v", got, err)
	}
	broken := interceptor.NewClient(api, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no")
		},
	})
	if got, err := Get(t.Context(), broken, "Secret", key, &corev1.Secret{}); err == nil || err.Error() != "cannot read Secret b: no" ||
		got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

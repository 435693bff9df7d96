package operators

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/fake"
)

// planted is the prefix of every value of every Secret that is created here, and is contained in nothing else.
var planted = "planted" + rand.Text()[:8]

// traces are the forms of the planted value: in plain text, and in base64 at any position of a longer value.
var traces = func() [][]byte {
	out := [][]byte{[]byte(planted)}
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString(append(make([]byte, before), planted...))
		// The characters that contain bits of the surrounding text.
		first, last := (before*8+5)/6, (before+len(planted))*8/6
		out = append(out, []byte(text[first:last]))
	}
	return out
}()

// ContainsPlanted reports whether a message contains a value of a Secret, in plain text or in base64.
func ContainsPlanted(message []byte) bool {
	for _, t := range traces {
		if bytes.Contains(message, t) {
			return true
		}
	}
	return false
}

// makeConfigMaps creates the missing ConfigMaps that the owner of an object creates and that functions read.
func (o *Operators) makeConfigMaps(ctx context.Context, u *unstructured.Unstructured) error {
	for _, object := range fake.OwnedObjects(u.Object) {
		m := &unstructured.Unstructured{Object: object}
		m.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(u, u.GroupVersionKind())})
		if _, err := o.client.Resource(configMaps).Namespace(m.GetNamespace()).Create(ctx, m, metav1.CreateOptions{}); err != nil &&
			!apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

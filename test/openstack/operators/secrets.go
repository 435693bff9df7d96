//go:build linux

package operators

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/fake"
)

// externalSecret handles an ExternalSecret that is filled once by a generator, or that copies a Secret of another
// namespace. https://external-secrets.io/latest/api/externalsecret/
func (o *Operators) externalSecret(ctx context.Context, u *unstructured.Unstructured) error {
	if data, _, _ := unstructured.NestedSlice(u.Object, "spec", "data"); len(data) > 0 {
		return o.copied(ctx, u, data)
	}
	if p := text(u, "spec", "refreshPolicy"); p != "CreatedOnce" {
		return fmt.Errorf("its refreshPolicy %q is not supported by this fake", p)
	}
	name := text(u, "spec", "target", "name")
	err := o.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: u.GetNamespace(), Name: name}, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	values := map[string][]byte{}
	from, _, _ := unstructured.NestedSlice(u.Object, "spec", "dataFrom")
	for _, f := range from {
		source := &unstructured.Unstructured{Object: f.(map[string]any)} //nolint:forcetypeassert // its schema was checked
		ref := func(field string) string { return text(source, "sourceRef", "generatorRef", field) }
		generator, err := o.Find(ref("kind")+".generators.external-secrets.io", u.GetNamespace(), ref("name"))
		if err != nil {
			return err
		}
		generated, err := password(generator)
		if err != nil {
			return err
		}
		values["password"] = []byte(generated)
	}
	if v := text(u, "spec", "target", "template", "engineVersion"); v != "v2" {
		return fmt.Errorf("its template engine %q is not supported by this fake", v)
	}
	data, err := templated(u, values)
	if err != nil {
		return err
	}
	return o.SetSecret(ctx, u.GetNamespace(), name, data)
}

// Copy copies the source again, as External Secrets does every few minutes.
func (o *Operators) Copy(ctx context.Context, namespace, name string) error {
	u, err := o.Find("ExternalSecret.external-secrets.io", namespace, name)
	if err != nil {
		return err
	}
	return o.externalSecret(ctx, u.DeepCopy())
}

// copied copies keys of Secrets in the namespace that a store of the provider for Kubernetes reads.
// https://external-secrets.io/latest/provider/kubernetes/
func (o *Operators) copied(ctx context.Context, u *unstructured.Unstructured, keys []any) error {
	store, err := o.Find("SecretStore.external-secrets.io", u.GetNamespace(), text(u, "spec", "secretStoreRef", "name"))
	if err != nil {
		return err
	}
	data := map[string][]byte{}
	for _, k := range keys {
		key := &unstructured.Unstructured{Object: k.(map[string]any)} //nolint:forcetypeassert // its schema was checked
		name, property := text(key, "remoteRef", "key"), text(key, "remoteRef", "property")
		from, err := o.Secret(ctx, text(store, "spec", "provider", "kubernetes", "remoteNamespace"), name)
		if err != nil {
			return err
		}
		if from[property] == nil {
			return fmt.Errorf("property %s does not exist in data of secret %q", property, name)
		}
		data[text(key, "secretKey")] = from[property]
	}
	if data, err = templated(u, data); err != nil {
		return err
	}
	labels, _, _ := unstructured.NestedStringMap(u.Object, "spec", "target", "template", "metadata", "labels")
	return o.Cluster.Apply(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: u.GetNamespace(), Name: text(u, "spec", "target", "name"), Labels: labels}, Data: data,
	})
}

// templated returns the result of an ExternalSecret's template: without one, the data.
func templated(u *unstructured.Unstructured, data map[string][]byte) (map[string][]byte, error) {
	values := map[string]string{}
	for key, value := range data {
		values[key] = string(value)
	}
	filled, err := fake.Templated(u.Object, values)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for key, value := range filled {
		out[key] = []byte(value)
	}
	return out, nil
}

// password returns a generator's password: the configured numbers of digits and symbols, and letters.
// https://external-secrets.io/latest/api/generator/password/
func password(generator *unstructured.Unstructured) (string, error) {
	number := func(field string) int {
		n, _, _ := unstructured.NestedInt64(generator.Object, "spec", field)
		if f, ok, _ := unstructured.NestedFloat64(generator.Object, "spec", field); ok {
			n = int64(f)
		}
		return int(n)
	}
	const letters, digits, symbols = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "~!@#$%^&*()_+`-={}|[]\\:\"<>?,./"
	alphabets := []string{}
	for range number("digits") {
		alphabets = append(alphabets, digits)
	}
	for range number("symbols") {
		alphabets = append(alphabets, symbols)
	}
	for len(alphabets) < number("length") {
		alphabets = append(alphabets, letters)
	}
	var b strings.Builder
	for len(alphabets) > 0 {
		i, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabets))))
		if err != nil {
			return "", err
		}
		at := int(i.Int64())
		j, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabets[at]))))
		if err != nil {
			return "", err
		}
		b.WriteByte(alphabets[at][j.Int64()])
		alphabets = append(alphabets[:at], alphabets[at+1:]...)
	}
	return b.String(), nil
}

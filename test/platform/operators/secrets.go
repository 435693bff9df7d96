package operators

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
)

// generatedSecret is a Secret that an operator creates.
type generatedSecret struct {
	name  string
	keys  []string
	owned bool // it is deleted with the object that it was created for
}

// secretsOf returns the Secrets that the owner of an object creates for it.
func secretsOf(u *unstructured.Unstructured) []generatedSecret {
	switch u.GetKind() {
	case "ExternalSecret":
		if entryOf(u) == "" && !reads(u) {
			return []generatedSecret{ofExternalSecret(u)}
		}
	case "Certificate":
		return []generatedSecret{{name: text(u, "spec", "secretName"), keys: []string{"ca.crt", "tls.crt", "tls.key"}}}
	case "MariaDB":
		return []generatedSecret{{name: u.GetName() + "-ca-bundle", keys: []string{"ca.crt"}, owned: true}}
	case "Valkey":
		// https://github.com/SAP/valkey-operator/blob/v0.1.10/pkg/operator/data/charts/valkey/templates/binding.yaml
		return []generatedSecret{{name: text(u, "spec", "binding", "secretName"), keys: []string{
			"caData", "host", "password", "port", "primaryName", "sentinelEnabled", "sentinelHost", "sentinelPort", "tlsEnabled",
		}, owned: true}}
	case "CephClient":
		return []generatedSecret{{name: rook.SecretName(u.GetName()), keys: []string{rook.UserIDKey, rook.UserKey}, owned: true}}
	case "KeyRepository":
		return []generatedSecret{{name: text(u, "spec", "secretName"), keys: []string{"0", "1"}}}
	case "SecretAggregate":
		return []generatedSecret{{name: text(u, "spec", "targetSecretName"), keys: keysOf(u, "spec", "template"), owned: true}}
	case "CredentialRotation":
		keys := []string{"application_credential_id", "application_credential_secret"}
		switch text(u, "spec", "target") {
		case "QueueUser":
			keys = []string{"password", "username"}
		case "Password":
			keys = []string{"password"}
		}
		return []generatedSecret{{name: text(u, "spec", "secretName"), keys: keys}}
	}
	return nil
}

// ofExternalSecret returns the Secret of an ExternalSecret.
func ofExternalSecret(u *unstructured.Unstructured) generatedSecret {
	name := text(u, "spec", "target", "name")
	if name == "" {
		name = u.GetName()
	}
	policy := text(u, "spec", "target", "creationPolicy")
	return generatedSecret{name: name, keys: keysOf(u, "spec", "target", "template", "data"), owned: policy == "" || policy == "Owner"}
}

func keysOf(u *unstructured.Unstructured, path ...string) []string {
	m, _, _ := unstructured.NestedMap(u.Object, path...)
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// make creates a Secret if it does not exist. An existing one is kept: every owner creates its Secret once.
func (o *Operators) make(ctx context.Context, u *unstructured.Unstructured, s generatedSecret) error {
	client := o.client.Resource(secrets).Namespace(u.GetNamespace())
	_, err := client.Get(ctx, s.name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	data := map[string]any{}
	for _, k := range s.keys {
		data[k] = base64.StdEncoding.EncodeToString([]byte(planted + rand.Text()))
	}
	return o.create(ctx, u, s.name, data, s.owned)
}

// create creates a Secret for an object, unless it exists.
func (o *Operators) create(ctx context.Context, u *unstructured.Unstructured, name string, data map[string]any, owned bool) error {
	return o.createOf(ctx, u, name, "", data, owned)
}

// createOf creates a Secret of a type.
func (o *Operators) createOf(ctx context.Context, u *unstructured.Unstructured, name, typ string, data map[string]any, owned bool) error {
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "data": data,
		"metadata": map[string]any{"name": name, "namespace": u.GetNamespace()},
	}}
	if typ != "" {
		secret.Object["type"] = typ
	}
	if owned {
		secret.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(u, u.GroupVersionKind())})
	}
	_, err := o.client.Resource(secrets).Namespace(u.GetNamespace()).Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

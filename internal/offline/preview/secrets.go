package preview

import (
	"fmt"
	"slices"
	"strings"

	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
)

// Secret is a required Secret that no composed object creates.
type Secret struct {
	// Namespace and Name of the Secret.
	Namespace, Name string
	// Keys that are required.
	Keys []string
}

// secrets returns the Secrets that composed objects read from other namespaces of the management cluster, in the order of the objects.
func (r *Result) secrets() []Secret {
	stores := r.remoteNamespaces()
	created := r.createdSecrets()
	var out []Secret
	for _, o := range r.Objects {
		if o.Kind != "ExternalSecret" {
			continue
		}
		spec, _ := o.inner().Map()["spec"].(map[string]any)
		store, _ := spec["secretStoreRef"].(map[string]any)
		from, ok := stores[o.Namespace+"/"+str(store["name"])]
		if str(store["kind"]) != "SecretStore" || !ok {
			continue
		}
		data, _ := spec["data"].([]any)
		for _, d := range data {
			entry, _ := d.(map[string]any)
			ref, _ := entry["remoteRef"].(map[string]any)
			if created[from+"/"+str(ref["key"])] {
				continue
			}
			i := slices.IndexFunc(out, func(s Secret) bool { return s.Namespace == from && s.Name == str(ref["key"]) })
			if i < 0 {
				i, out = len(out), append(out, Secret{Namespace: from, Name: str(ref["key"])})
			}
			if key := str(ref["property"]); !slices.Contains(out[i].Keys, key) {
				out[i].Keys = append(out[i].Keys, key)
			}
		}
	}
	return out
}

// remoteNamespaces returns the namespaces that SecretStores read, by the namespace and name of the store.
func (r *Result) remoteNamespaces() map[string]string {
	out := map[string]string{}
	for _, o := range r.Objects {
		if o.Kind != "SecretStore" {
			continue
		}
		if from := o.inner().At("spec", "provider", "kubernetes", "remoteNamespace").Text(); from != "" {
			out[o.Namespace+"/"+o.Name] = from
		}
	}
	return out
}

// String returns a message with the required Secret and keys.
func (s Secret) String() string {
	noun := "keys"
	if len(s.Keys) == 1 {
		noun = "key"
	}
	return fmt.Sprintf("needs Secret %s with %s %s in namespace %s", s.Name, noun, strings.Join(s.Keys, ", "), s.Namespace)
}

// createdSecrets returns the Secrets of Certificates, CredentialRotations, SecretAggregates and KeystoneServices, by namespace and name.
func (r *Result) createdSecrets() map[string]bool {
	out := map[string]bool{}
	for _, o := range r.Objects {
		switch o.Kind {
		case "Certificate":
			out[o.Namespace+"/"+o.inner().At("spec", "secretName").Text()] = true
		case "CredentialRotation":
			out[o.Namespace+"/"+o.inner().At("spec", "secretName").Text()] = true
		case "SecretAggregate":
			out[o.Namespace+"/"+o.inner().At("spec", "targetSecretName").Text()] = true
		case keystoneservicev1.GroupVersionKind.Kind:
			out[o.Namespace+"/"+keystoneservicev1.SecretName(o.Name)] = true
		}
	}
	return out
}

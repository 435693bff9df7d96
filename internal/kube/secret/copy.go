package secret

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

const (
	// rootCA is the ConfigMap by which every namespace knows the authority of its own API server.
	// https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#trustworthiness
	rootCA = "kube-root-ca.crt"
	// apiServer is the address of the API server in its own cluster.
	apiServer = "https://kubernetes.default.svc"
	// refreshInterval is how soon a change of what is copied arrives. External Secrets writes the time of each refresh into the status, which
	// brings about a pass of the function, so that it is not shorter than a tenant needs. It is written as Go writes it: External Secrets
	// writes the whole object once, and would otherwise change it.
	refreshInterval = "5m0s"
)

// Source is an entry of a store that External Secrets reads.
type Source struct {
	// Store and its kind.
	Store, StoreKind string
	// Key is the entry; its properties are the keys of the Secret.
	Key string
	// Renamed are properties for which the keys have other names.
	Renamed map[string]string
}

// Stored is the entry that a Secret is kept in, in the platform's store.
func Stored(store common.SecretStoreReference, instance, name string) Source {
	return Source{Store: string(store.Name), StoreKind: store.Kind, Key: RemoteKey(store, instance, name)}
}

// Store makes a store that is another namespace of the same cluster, of which it sees what a ServiceAccount of its own namespace may.
// https://external-secrets.io/latest/provider/kubernetes/
func Store(meta object.Meta, account, namespace string) *unstructured.Unstructured {
	return object.New("external-secrets.io/v1", "SecretStore", meta, object.Map{"provider": object.Map{"kubernetes": object.Map{
		"remoteNamespace": namespace,
		"server": object.Map{
			"url":        apiServer,
			"caProvider": object.Map{"type": "ConfigMap", "name": rootCA, "key": corev1.ServiceAccountRootCAKey},
		},
		"auth": object.Map{"serviceAccount": object.Map{"name": account}},
	}}})
}

// Copied makes a Secret of some keys of a source, of the same name as the ExternalSecret, and keeps it up to date. While the source cannot
// be read, the Secret stays as it is. It goes with the ExternalSecret, unless it is to be kept.
func Copied(meta object.Meta, from Source, typ corev1.SecretType, keep bool, keys ...string) *unstructured.Unstructured {
	policy := "Owner"
	if keep {
		policy = "Orphan"
	}
	return object.New("external-secrets.io/v1", "ExternalSecret", meta, object.Map{
		"refreshPolicy":   "Periodic",
		"refreshInterval": refreshInterval,
		"secretStoreRef":  from.ref(),
		"target": object.Map{
			"name":           meta.Name,
			"creationPolicy": policy,
			"deletionPolicy": "Retain",
			"template":       object.Map{"engineVersion": "v2", "type": string(typ)},
		},
		"data": from.data(keys...),
	})
}

// Fixed adds keys to the Secret that Copied makes, with what is no secret
// (https://external-secrets.io/latest/guides/templating/#merge-templated-and-non-templated-keys).
func Fixed(copied *unstructured.Unstructured, values map[string]string) *unstructured.Unstructured {
	if len(values) == 0 {
		return copied
	}
	out := copied.DeepCopy()
	for field, v := range map[string]any{"mergePolicy": "Merge", "data": object.Strings(values)} {
		_ = unstructured.SetNestedField(out.Object, v, "spec", "target", "template", field) // which is an object
	}
	return out
}

// Composed makes a Secret of a template, which has keys of a source in it under names of its own, and keeps it up to date: it stays as it
// is while the source cannot be read, and when the ExternalSecret goes. Labels are the Secret's.
func Composed(meta object.Meta, from Source, labels, template, keys object.Map) *unstructured.Unstructured {
	data := object.List{}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		data = append(data, object.Map{"secretKey": name, "remoteRef": object.Map{"key": from.Key, "property": keys[name]}})
	}
	out := object.Map{"engineVersion": "v2", "type": string(corev1.SecretTypeOpaque), "data": template}
	if len(labels) > 0 {
		out["metadata"] = object.Map{"labels": labels}
	}
	return object.New("external-secrets.io/v1", "ExternalSecret", meta, object.Map{
		"refreshPolicy":   "Periodic",
		"refreshInterval": refreshInterval,
		"secretStoreRef":  from.ref(),
		"target":          object.Map{"name": meta.Name, "creationPolicy": "Orphan", "deletionPolicy": "Retain", "template": out},
		"data":            data,
	})
}

// Pushed copies keys of a Secret of its namespace to an entry of the platform's store, and keeps it up to date. The entry goes with it.
// Each key is a property of its own: External Secrets can delete nothing else.
func Pushed(meta object.Meta, name string, to Source, keys ...string) *unstructured.Unstructured {
	data := object.List{}
	for _, k := range keys {
		data = append(data, object.Map{"match": object.Map{
			"secretKey": k, "remoteRef": object.Map{"remoteKey": to.Key, "property": k},
		}})
	}
	return object.New("external-secrets.io/v1alpha1", "PushSecret", meta, object.Map{
		"updatePolicy":    "Replace",
		"deletionPolicy":  "Delete",
		"refreshInterval": refreshInterval,
		"secretStoreRefs": object.List{to.ref()},
		"selector":        object.Map{"secret": object.Map{"name": name}},
		"data":            data,
	})
}

// Given makes the Secret that Generated makes, with a password that a source holds under a key. It is filled once, too, and stays.
func Given(meta object.Meta, username string, from Source, key string) *unstructured.Unstructured {
	return object.New("external-secrets.io/v1", "ExternalSecret", meta, object.Map{
		"refreshPolicy":  "CreatedOnce",
		"secretStoreRef": from.ref(),
		"target": object.Map{
			"name":           meta.Name,
			"creationPolicy": "Orphan",
			"template": object.Map{
				"engineVersion": "v2",
				"data":          object.Map{UsernameKey: username, PasswordKey: "{{ .password }}"},
			},
		},
		"data": object.List{object.Map{
			"secretKey": PasswordKey, "remoteRef": object.Map{"key": from.Key, "property": key},
		}},
	})
}

func (s Source) ref() object.Map { return object.Map{"name": s.Store, "kind": s.StoreKind} }

func (s Source) data(keys ...string) object.List {
	out := object.List{}
	for _, k := range keys {
		out = append(out, object.Map{"secretKey": cmp.Or(s.Renamed[k], k), "remoteRef": object.Map{"key": s.Key, "property": k}})
	}
	return out
}

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
	// rootCA is the ConfigMap in every namespace with the authority of the API server.
	// https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#trustworthiness
	rootCA = "kube-root-ca.crt"
	// apiServer is the address of the API server in its own cluster.
	apiServer = "https://kubernetes.default.svc"
	// refreshInterval is the delay until a change of the source is copied. External Secrets writes the time of each refresh into the status,
	// which triggers a reconciliation, so it is not shorter than tenants need. It has Go's format, because External Secrets writes the whole
	// object once, and would otherwise change it.
	refreshInterval = "5m0s"
)

// Source is an entry of a secret store that External Secrets reads.
type Source struct {
	// Store and its kind.
	Store, StoreKind string
	// Key is the entry; its properties are the keys of the Secret.
	Key string
	// Renamed maps properties to different keys of the Secret.
	Renamed map[string]string
}

// Stored returns the entry of a Secret in the platform's store.
func Stored(store common.SecretStoreReference, instance, name string) Source {
	return Source{Store: string(store.Name), StoreKind: store.Kind, Key: RemoteKey(store, instance, name)}
}

// Store builds a store for another namespace of the same cluster, which it reads with the rights of a ServiceAccount in its own namespace.
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

// Copied builds an ExternalSecret that copies some keys of a source to a Secret with its name, and keeps it up to date. The Secret is not
// changed while the source is unreadable. It is deleted with the ExternalSecret, unless keep is set.
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

// Fixed adds keys with non-secret values to the Secret of Copied
// (https://external-secrets.io/latest/guides/templating/#merge-templated-and-non-templated-keys).
func Fixed(copied *unstructured.Unstructured, values map[string]string) *unstructured.Unstructured {
	if len(values) == 0 {
		return copied
	}
	out := copied.DeepCopy()
	for field, v := range map[string]any{"mergePolicy": "Merge", "data": object.Strings(values)} {
		_ = unstructured.SetNestedField(out.Object, v, "spec", "target", "template", field) // template is an object
	}
	return out
}

// Composed builds an ExternalSecret that writes a Secret from a template. keys maps template variables to keys of the source. The Secret is
// not changed while the source is unreadable, and is kept when the ExternalSecret is deleted. labels are set on the Secret.
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

// Pushed builds a PushSecret that copies keys of a Secret in its namespace to an entry of the platform's store, and keeps it up to date.
// The entry is deleted with it. Each key is a separate property, because External Secrets can delete only properties.
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

// Given builds a Secret like Generated, with a password that a source has under key. It is also written once and kept.
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

// Package secret builds External Secrets objects: passwords that are generated once in the workload cluster and kept, their
// backup in a store, and copies of other Secrets. No value ever passes through a function.
package secret

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Keys of a generated Secret.
const (
	UsernameKey = "username"
	PasswordKey = "password"
)

// Generator builds a generator of passwords of 32 letters and digits. Other characters have special meanings in URLs, INI files or
// environment variables.
func Generator(meta object.Meta) *unstructured.Unstructured {
	return object.New("generators.external-secrets.io/v1alpha1", "Password", meta, object.Map{
		"length":      int64(32),
		"digits":      int64(6),
		"symbols":     int64(0),
		"noUpper":     false,
		"allowRepeat": true,
	})
}

// Generated builds a Secret with a user name and a password of a generator. It is written once and kept when the ExternalSecret is deleted.
// A deleted Secret is created again only with a new ExternalSecret. labels are set on the Secret.
func Generated(meta object.Meta, generator, username string, labels object.Map) *unstructured.Unstructured {
	template := object.Map{
		"engineVersion": "v2",
		"data": object.Map{
			UsernameKey: username,
			PasswordKey: "{{ .password }}",
		},
	}
	if len(labels) > 0 {
		template["metadata"] = object.Map{"labels": labels}
	}
	return object.New("external-secrets.io/v1", "ExternalSecret", meta, object.Map{
		"refreshPolicy": "CreatedOnce",
		"target": object.Map{
			"name":           meta.Name,
			"creationPolicy": "Orphan",
			"template":       template,
		},
		"dataFrom": object.List{object.Map{"sourceRef": object.Map{"generatorRef": object.Map{
			"apiVersion": "generators.external-secrets.io/v1alpha1",
			"kind":       "Password",
			"name":       generator,
		}}}},
	})
}

// Backup builds a PushSecret of keys of a Secret with its name. Its deletion deletes nothing in the store.
func Backup(meta object.Meta, store common.SecretStoreReference, instance string, keys ...string) *unstructured.Unstructured {
	data := object.List{}
	for _, k := range keys {
		data = append(data, object.Map{"match": object.Map{
			"secretKey": k,
			"remoteRef": object.Map{"remoteKey": RemoteKey(store, instance, meta.Name), "property": k},
		}})
	}
	return push(meta, store, "Replace", data)
}

// BackupOnce builds a PushSecret of a whole Secret with its name to a store without such an entry. It never changes an existing entry: if
// the Secret is created again, the only copy of its previous value is not overwritten.
//
// It pushes one entry for all keys, because External Secrets checks whether the entry exists, and several of its providers check only the
// whole secret: the first key would prevent the others (SecretExists of AWS, Google Cloud and Azure's, 0.20).
func BackupOnce(meta object.Meta, store common.SecretStoreReference, instance string) *unstructured.Unstructured {
	return push(meta, store, "IfNotExists", object.List{object.Map{"match": object.Map{
		"remoteRef": object.Map{"remoteKey": RemoteKey(store, instance, meta.Name)},
	}}})
}

func push(meta object.Meta, store common.SecretStoreReference, updatePolicy string, data object.List) *unstructured.Unstructured {
	return object.New("external-secrets.io/v1alpha1", "PushSecret", meta, object.Map{
		"updatePolicy":    updatePolicy,
		"deletionPolicy":  "None",
		"refreshInterval": "1h",
		"secretStoreRefs": object.List{object.Map{"name": string(store.Name), "kind": store.Kind}},
		"selector":        object.Map{"secret": object.Map{"name": meta.Name}},
		"data":            data,
	})
}

// RemoteKey returns the entry of a Secret in a store.
func RemoteKey(store common.SecretStoreReference, instance, name string) string {
	return Path(store, instance) + "/" + name
}

// Path returns the prefix of all entries of an instance, which no other instance uses.
func Path(store common.SecretStoreReference, instance string) string {
	if store.Prefix == "" {
		return instance
	}
	return store.Prefix + "/" + instance
}

// Package secret makes External Secrets objects: passwords that are generated once in the workload cluster and kept, their
// backup in a store, and copies of what others keep. No value ever passes through a function.
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

// Generator makes a generator of passwords of 32 letters and digits. Nothing else: they appear in URLs, INI files and
// environment variables, all of which give some character a meaning.
func Generator(meta object.Meta) *unstructured.Unstructured {
	return object.New("generators.external-secrets.io/v1alpha1", "Password", meta, object.Map{
		"length":      int64(32),
		"digits":      int64(6),
		"symbols":     int64(0),
		"noUpper":     false,
		"allowRepeat": true,
	})
}

// Generated makes a Secret with a password of a generator, and a user name. It is filled once and stays when the ExternalSecret
// goes. A Secret that is gone is not made again, until the ExternalSecret is. Labels are the Secret's.
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

// Backup pushes keys of a Secret of the same name to a store. Deleting it deletes nothing in the store.
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

// BackupOnce pushes a whole Secret of the same name to a store that has no such entry yet, and never changes one that it has: the same
// Secret created again does not take the place of the only copy of what it held before.
//
// It is one entry, and not one for each key: whether it exists is what External Secrets asks, and several of its providers look for the
// whole secret only, so that the first key would keep the others out (SecretExists of AWS, Google Cloud and Azure's, 0.20).
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

// RemoteKey is the entry of a store that a Secret is kept in.
func RemoteKey(store common.SecretStoreReference, instance, name string) string {
	return Path(store, instance) + "/" + name
}

// Path is what all entries of an instance lie below, and nobody else's.
func Path(store common.SecretStoreReference, instance string) string {
	if store.Prefix == "" {
		return instance
	}
	return store.Prefix + "/" + instance
}

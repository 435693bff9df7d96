package secret

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/object"
)

var meta = object.Meta{Name: "keystone-database", Namespace: "cloud"}

func spec(o interface{ UnstructuredContent() map[string]any }) map[string]any {
	s, _ := o.UnstructuredContent()["spec"].(map[string]any)
	return s
}

// TestGenerated: the password is made once, by the generator of the same name, and outlives the object that asks for it.
func TestGenerated(t *testing.T) {
	s := spec(Generated(meta, "keystone", object.Map{"watched": "true"}))
	if s["refreshPolicy"] != "CreatedOnce" {
		t.Errorf("refreshPolicy %v: a password that changes locks everybody out", s["refreshPolicy"])
	}
	target, _ := s["target"].(map[string]any)
	if target["creationPolicy"] != "Orphan" || target["name"] != meta.Name {
		t.Errorf("target %v: the Secret has to stay when the ExternalSecret goes", target)
	}
	template, _ := target["template"].(object.Map)
	if diff := cmp.Diff(object.Map{"labels": object.Map{"watched": "true"}}, template["metadata"]); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	want := object.List{object.Map{"sourceRef": object.Map{"generatorRef": object.Map{
		"apiVersion": "generators.external-secrets.io/v1alpha1", "kind": "Password", "name": Generator(meta).GetName(),
	}}}}
	if diff := cmp.Diff(want, s["dataFrom"]); diff != "" {
		t.Errorf("dataFrom (-want +got):\n%s", diff)
	}
}

// TestGenerator: the password needs no quotes in a URL, an INI file, a shell or a template.
func TestGenerator(t *testing.T) {
	s := spec(Generator(meta))
	if s["symbols"] != int64(0) || s["length"] != int64(32) {
		t.Errorf("spec %v", s)
	}
}

func TestRemoteKey(t *testing.T) {
	for name, tc := range map[string]struct{ prefix, want string }{
		"without a prefix": {"", "cloud/keystone-database"},
		"with one":         {"a/b", "a/b/cloud/keystone-database"},
	} {
		t.Run(name, func(t *testing.T) {
			store := common.SecretStoreReference{Name: "openbao", Kind: "ClusterSecretStore", Prefix: tc.prefix}
			if got := RemoteKey(store, meta.Namespace, meta.Name); got != tc.want {
				t.Errorf("key %q, want %q", got, tc.want)
			}
			s := spec(Backup(meta, store, meta.Namespace, UsernameKey, PasswordKey))
			want := object.List{
				object.Map{"match": object.Map{"secretKey": "username", "remoteRef": object.Map{"remoteKey": tc.want, "property": "username"}}},
				object.Map{"match": object.Map{"secretKey": "password", "remoteRef": object.Map{"remoteKey": tc.want, "property": "password"}}},
			}
			if diff := cmp.Diff(want, s["data"]); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			if s["deletionPolicy"] != "None" {
				t.Errorf("deletionPolicy %v: a backup outlives what it is of", s["deletionPolicy"])
			}
		})
	}
}

// TestBackupOnce: what is in the store stays as it is, and the first push has every key.
func TestBackupOnce(t *testing.T) {
	store := common.SecretStoreReference{Name: "openbao", Kind: "ClusterSecretStore"}
	s := spec(BackupOnce(meta, store, meta.Namespace))
	if s["updatePolicy"] != "IfNotExists" || s["deletionPolicy"] != "None" {
		t.Errorf("policies %v, %v: the only copy of a password is not to be replaced or deleted", s["updatePolicy"], s["deletionPolicy"])
	}
	want := object.List{object.Map{"match": object.Map{"remoteRef": object.Map{"remoteKey": "cloud/keystone-database"}}}}
	if diff := cmp.Diff(want, s["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if got := spec(Backup(meta, store, meta.Namespace, PasswordKey))["updatePolicy"]; got != "Replace" {
		t.Errorf("updatePolicy %v: what is set again by whoever reads it follows the Secret", got)
	}
}

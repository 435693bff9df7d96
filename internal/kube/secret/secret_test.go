package secret

import (
	"path"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
)

var meta = object.Meta{Name: "keystone-database", Namespace: "cloud"}

func spec(o interface{ UnstructuredContent() map[string]any }) map[string]any {
	s, _ := o.UnstructuredContent()["spec"].(map[string]any)
	return s
}

// TestGenerated tests that the password is generated once, and outlives the ExternalSecret.
func TestGenerated(t *testing.T) {
	s := spec(Generated(meta, meta.Name, "keystone", object.Map{"watched": "true"}))
	if s["refreshPolicy"] != "CreatedOnce" {
		t.Errorf("refreshPolicy %v: a changed password would lock out all clients", s["refreshPolicy"])
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

// TestGenerator tests that the password needs no quotes in a URL, an INI file, a shell or a template.
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
				t.Errorf("deletionPolicy %v: a backup outlives its Secret", s["deletionPolicy"])
			}
		})
	}
}

// TestBackupOnce tests that an existing entry in the store is not changed, and that the first push has all keys.
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
		t.Errorf("updatePolicy %v: a replaceable value follows the Secret", got)
	}
}

// TestRemoteKeyIsBelow tests with all valid prefixes that two instances have distinct entries, and that paths need no cleaning by a
// store.
func TestRemoteKeyIsBelow(t *testing.T) {
	instance := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?-[0-9a-f]{5}`)
	name := rapid.StringMatching(`[a-z0-9]([-.a-z0-9]{0,20}[a-z0-9])?`)
	allowed := regexp.MustCompile(prefixPattern(t))
	prefix := rapid.OneOf(rapid.Just(""), instance, rapid.StringMatching(allowed.String()),
		rapid.StringMatching(`[a./_-]{1,6}`).Filter(allowed.MatchString))
	rapid.Check(t, func(t *rapid.T) {
		one, other := instance.Draw(t, "instance"), instance.Draw(t, "another")
		key := RemoteKey(common.SecretStoreReference{Prefix: prefix.Draw(t, "prefix")}, one, name.Draw(t, "name"))
		otherKey := RemoteKey(common.SecretStoreReference{Prefix: prefix.Draw(t, "prefix")}, other, name.Draw(t, "name"))
		if path.Clean(key) != key || path.IsAbs(key) {
			t.Errorf("%q is the path %q", key, path.Clean(key))
		}
		if path.Base(path.Dir(key)) != one {
			t.Errorf("%q is no entry of %s", key, one)
		}
		if one != other && key == otherKey {
			t.Errorf("%s and %s share the entry %q", one, other, key)
		}
	})
}

// prefixPattern returns the pattern of a prefix in the schema.
func prefixPattern(t *testing.T) string {
	t.Helper()
	crds, err := definition.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range crds {
		if c.Spec.Names.Kind == "PlatformConfig" {
			store := c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["secretStore"]
			return store.Properties["prefix"].Pattern
		}
	}
	t.Fatal("there is no PlatformConfig")
	return ""
}

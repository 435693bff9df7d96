//go:build platform

package platform_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

var roleKind = schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}

// tenantSecret returns a Secret as a tenant creates it.
func tenantSecret(namespace, name string, data map[string]string) *unstructured.Unstructured {
	text := map[string]any{}
	for k, v := range data {
		text[k] = v
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "stringData": text, "metadata": map[string]any{"namespace": namespace, "name": name},
	}}
}

// TestClaimWaitsForTenantSecrets checks that a tenant with only the permissions of edit in one namespace can create a cloud that
// needs the tenant's Secrets. The claim reports the missing Secrets; the tenant creates them, and it becomes ready.
// Workloads get these Secrets, and nothing else can be read through them.
func TestClaimWaitsForTenantSecrets(t *testing.T) {
	t.Parallel()
	const namespace, user = "tenant-secrets", "bob"
	if err := cloud.Apply(t.Context(), []byte(`
apiVersion: v1
kind: Namespace
metadata: {name: tenant-secrets}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: tenant-secrets, name: tenant}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
`)); err != nil {
		t.Fatal(err)
	}
	bob, err := cloud.As(user)
	if err != nil {
		t.Fatal(err)
	}
	// The platform team permits egress to the tenant's directory and object store.
	addLimit(t, `{"name": "secrets", "namespaces": ["tenant-secrets"],
		"s3Endpoints": ["s3.example.com:443"], "directoryHosts": ["ldap.example.com"]}`)
	ldap := func(secret string) edit {
		return set([]any{map[string]any{"domain": "employees", "ldap": map[string]any{
			"url": "ldaps://ldap.example.com", "user": "cn=keystone,dc=example,dc=com", "suffix": "dc=example,dc=com",
			"userTreeDN": "ou=people,dc=example,dc=com", "passwordSecretRef": map[string]any{"name": secret, "key": "password"},
		}}}, "spec", "services", "keystone", "identityBackends")
	}
	u := claim(t, namespace, ldap("ldap-employees"), set(map[string]any{"s3": map[string]any{
		"bucket": "tenants", "endpoint": "s3.example.com:443", "credentialsSecretRef": map[string]any{"name": "backup-s3"},
	}}, "spec", "infrastructure", "mariadb", "backup"))
	eventually(t, timeout, func() error { return bob.Create(t.Context(), u.DeepCopy()) })

	const (
		s3Missing   = "waits for Secret backup-s3 with the keys access-key-id and secret-access-key in namespace tenant-secrets"
		ldapMissing = "waits for Secret ldap-employees with the key password in namespace tenant-secrets"
	)
	waitReported := func(want string) {
		t.Helper()
		eventually(t, timeout, func() error {
			is := u.DeepCopy()
			if err := bob.Get(t.Context(), client.ObjectKeyFromObject(u), is); err != nil {
				return err
			}
			c, _ := platform.ConditionOf(is, "SecretsReady")
			if c.Status != "False" || !strings.Contains(c.Message, want) {
				return fmt.Errorf("SecretsReady is %+v, want %s", c, want)
			}
			return nil
		})
	}
	waitReported(s3Missing)
	create := func(name string, data map[string]string) {
		t.Helper()
		if err := bob.Create(t.Context(), tenantSecret(namespace, name, data)); err != nil {
			t.Fatal(err)
		}
	}
	create("backup-s3", map[string]string{"access-key-id": "id", "secret-access-key": "key", "not-asked-for": "x"})
	waitReported(ldapMissing)
	create("other", map[string]string{"password": "not to be read"})
	create("ldap-employees", map[string]string{"password": "correct-horse", "more": "x"})
	name := instance(t, ready(t, u))

	copied := get(t, cloud.Cluster, secretKind, name, "tenant-backup-s3")
	want := map[string]any{
		"access-key-id": base64.StdEncoding.EncodeToString([]byte("id")), "secret-access-key": base64.StdEncoding.EncodeToString([]byte("key")),
	}
	if diff := cmp.Diff(want, copied.Object["data"]); diff != "" {
		t.Errorf("the copy of backup-s3 (-want +got):\n%s", diff)
	}
	rules := get(t, cloud.Cluster, roleKind, namespace, name+"-claim-secrets").Object["rules"]
	onlyThese := []any{map[string]any{
		"apiGroups": []any{""}, "resources": []any{"secrets"}, "resourceNames": []any{"backup-s3", "ldap-employees"}, "verbs": []any{"get"},
	}}
	if diff := cmp.Diff(onlyThese, rules); diff != "" {
		t.Errorf("permissions in the tenant's namespace (-want +got):\n%s", diff)
	}

	t.Run("Reader", func(t *testing.T) {
		reader, err := cloud.As("system:serviceaccount:"+name+":claim-secrets", "system:serviceaccounts", "system:serviceaccounts:"+name)
		if err != nil {
			t.Fatal(err)
		}
		for key, reason := range map[client.ObjectKey]string{
			{Namespace: namespace, Name: "other"}:     "No claim names it.",
			{Namespace: name, Name: "keystone-admin"}: "It is no Secret of the tenant's.",
			{Namespace: "default", Name: "backup-s3"}: "It is another namespace's.",
		} {
			s := tenantSecret("", "", nil)
			if err := reader.Get(t.Context(), key, s); !apierrors.IsForbidden(err) {
				t.Errorf("%s\nreading %s: %v, want it forbidden", reason, key, err)
			}
		}
		if err := reader.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "backup-s3"}, tenantSecret("", "", nil)); err != nil {
			t.Errorf("reading a Secret that the claim names: %v", err)
		}
	})
	t.Run("Tenant", func(t *testing.T) {
		for _, secret := range []string{"tenant-backup-s3", "mariadb-root"} {
			if err := bob.Get(t.Context(), client.ObjectKey{Namespace: name, Name: secret}, tenantSecret("", "", nil)); !apierrors.IsForbidden(err) {
				t.Errorf("reading %s: %v, want it forbidden", secret, err)
			}
		}
		role := get(t, cloud.Cluster, roleKind, namespace, name+"-claim-secrets")
		if err := bob.Delete(t.Context(), role, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("deleting the Role: %v, want it forbidden", err)
		}
	})

	// A Secret with a name that the platform also uses is read from the tenant's namespace, or is missing. Running
	// workloads continue.
	t.Run("OurName", func(t *testing.T) {
		is := u.DeepCopy()
		if err := bob.Get(t.Context(), client.ObjectKeyFromObject(u), is); err != nil {
			t.Fatal(err)
		}
		e := ldap("keystone-admin")
		if err := unstructured.SetNestedField(is.Object, e.value, e.path...); err != nil {
			t.Fatal(err)
		}
		if err := bob.Update(t.Context(), is); err != nil {
			t.Fatal(err)
		}
		waitReported("waits for Secret keystone-admin with the key password in namespace tenant-secrets")
		aggregate := get(t, cloud.Cluster, schema.GroupVersionKind{Group: "c5c3.io", Version: "v1alpha1", Kind: "SecretAggregate"}, name, "keystone-domains")
		sources, _, _ := unstructured.NestedSlice(aggregate.Object, "spec", "sources")
		for _, s := range sources {
			m, _ := s.(map[string]any)
			if secret, _, _ := unstructured.NestedString(m, "secretKeyRef", "name"); !strings.HasPrefix(secret, "tenant-") {
				t.Errorf("Keystone's file is made of Secret %s", secret)
			}
		}
		for _, before := range []string{"tenant-ldap-employees", "tenant-backup-s3"} {
			get(t, cloud.Cluster, secretKind, name, before)
		}
	})
}

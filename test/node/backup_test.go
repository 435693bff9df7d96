//go:build node && linux

package node_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/credentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// testBackup backs up the claim's database into an object store, and starts a new claim from the backup, with every
// row; with the restored keys, tokens and encrypted data stay valid.
func testBackup(ctx context.Context, t *testing.T, claim *unstructured.Unstructured, namespace string, c *cloud) {
	endow(ctx, t, c)
	token, err := loginAs(ctx, c, "tenant", "correct-horse-battery")
	if err != nil {
		t.Fatal(err)
	}
	bucket := objectStore(ctx, t)

	started := time.Now()
	change(ctx, t, claim, `{"spec": {"infrastructure": {"mariadb": {"backup": {"s3": {"bucket": "tenants", "prefix": "cloud", "region": "us-east-1",
		"endpoint": "s3.object-store.svc:443", "credentialsSecretRef": {"name": "backup-s3"}, "privateCA": true}}}}}}`)
	waitReportedMissing(ctx, t, claim, "waits for Secret backup-s3 with the keys access-key-id, ca.crt and secret-access-key in namespace "+claim.GetNamespace())
	put(ctx, t, claim.GetNamespace(), "backup-s3", bucket)
	if err := cluster.WaitCondition(ctx, backupKind, backupOf(ctx, t, namespace), "Complete"); err != nil {
		t.Fatalf("no backup is made: %v", err)
	}
	t.Logf("backed up after %.0f s", time.Since(started).Seconds())
	before := rows(ctx, t, namespace)
	if _, err := users.Create(ctx, c.identity, users.CreateOpts{Name: "later", DomainID: "default", Password: "younger-than-the-backup"}).Extract(); err != nil {
		t.Fatal(err)
	}

	restored := names.Instance("tenant-restored", "cloud")
	for _, name := range []string{"tenant-restored", restored} {
		if err := cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	put(ctx, t, "tenant-restored", "backup-s3", bucket)
	put(ctx, t, "tenant-restored", "old-root", secret(ctx, t, namespace, "mariadb-root"))
	for _, name := range []string{"keystone-fernet-keys", "keystone-credential-keys"} {
		put(ctx, t, restored, name, secret(ctx, t, namespace, name))
	}
	started = time.Now()
	restoredClaim := restore(ctx, t, restored)
	if diff := cmp.Diff(before, rows(ctx, t, restored)); diff != "" {
		t.Errorf("rows of the restored database (-backup +restored):\n%s", diff)
	}
	t.Logf("%d rows are unchanged, after %.0f s", len(before), time.Since(started).Seconds())
	resume(ctx, t, restoredClaim)
	if err := cluster.WaitCondition(ctx, restoredClaim.GroupVersionKind(), client.ObjectKeyFromObject(restoredClaim), "Ready"); err != nil {
		t.Fatal(err)
	}
	t.Logf("ready after %.0f s", time.Since(started).Seconds())
	testRestored(ctx, t, restored, token)
	if err := cluster.Client.Delete(ctx, restoredClaim); err != nil {
		t.Fatal(err)
	}
	// Who deletes the other one waits for both.
}

// waitReportedMissing waits until a claim reports the Secret that it waits for.
func waitReportedMissing(ctx context.Context, t *testing.T, claim *unstructured.Unstructured, sentence string) {
	t.Helper()
	for {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(claim.GroupVersionKind())
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(claim), u); err != nil {
			t.Fatal(err)
		}
		all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range all {
			condition, _ := c.(map[string]any)
			if message, _ := condition["message"].(string); condition["type"] == "SecretsReady" && strings.Contains(message, sentence) {
				return
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("the claim does not report %q; its conditions are %v", sentence, all)
		}
		time.Sleep(time.Second)
	}
}

var backupKind = schema.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "PhysicalBackup"}

// backupOf returns the PhysicalBackup of a namespace, whose name depends on its contents.
func backupOf(ctx context.Context, t *testing.T, namespace string) types.NamespacedName {
	t.Helper()
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(backupKind)
	eventually(ctx, t, 5*time.Minute, func() error {
		if err := cluster.Client.List(ctx, all, client.InNamespace(namespace)); err != nil {
			return err
		}
		if n := len(all.Items); n != 1 {
			return fmt.Errorf("%d PhysicalBackups, want one", n)
		}
		return nil
	})
	return client.ObjectKeyFromObject(&all.Items[0])
}

// testRestored checks that existing users log in, an existing token is valid, encrypted data can be read, and that
// users created after the backup do not exist. The administrator's password and the catalog belong to the new claim.
func testRestored(ctx context.Context, t *testing.T, namespace, token string) {
	c := login(ctx, t, namespace)
	testCatalog(ctx, t, c)
	if valid, err := tokens.Validate(ctx, c.identity, token); err != nil || !valid {
		t.Errorf("a token from before the backup is not valid: %v", err)
	}
	pages, err := credentials.List(c.identity, credentials.ListOpts{Type: "ec2"}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if stored, err := credentials.ExtractCredentials(pages); err != nil || len(stored) != 1 || !strings.Contains(stored[0].Blob, "battery-staple") {
		t.Errorf("stored credentials %+v, %v", stored, err)
	}
	if _, err := loginAs(ctx, c, "tenant", "correct-horse-battery"); err != nil {
		t.Errorf("a user from before the backup does not log in: %v", err)
	}
	if _, err := loginAs(ctx, c, "later", "younger-than-the-backup"); !gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) {
		t.Errorf("a user who is younger than the backup: %v, want 401", err)
	}
}

// loginAs returns an unscoped token of a user.
func loginAs(ctx context.Context, c *cloud, name, password string) (token string, err error) {
	provider, err := openstack.NewClient(c.url)
	if err != nil {
		return "", err
	}
	provider.HTTPClient = c.provider.HTTPClient
	err = openstack.Authenticate(ctx, provider, gophercloud.AuthOptions{
		IdentityEndpoint: c.url, Username: name, Password: password, DomainName: "Default", Scope: &gophercloud.AuthScope{},
	})
	return provider.Token(), err
}

// objectStore runs an object store, and returns the Secret's data of a bucket in it.
func objectStore(ctx context.Context, t *testing.T) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile("testdata/objectstore.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Apply(ctx, data); err != nil {
		t.Fatal(err)
	}
	account := map[string][]byte{"access-key-id": []byte("tenants"), "secret-access-key": []byte(rand.Text())}
	put(ctx, t, "object-store", "account", account)
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "object-store"}}); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.WaitDeployments(ctx, "object-store"); err != nil {
		t.Fatal(err)
	}
	account["ca.crt"] = secret(ctx, t, "object-store", "s3-tls")["ca.crt"]
	return account
}

// put creates a Secret.
func put(ctx context.Context, t *testing.T, namespace, name string, data map[string][]byte) {
	t.Helper()
	if err := cluster.Client.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}); err != nil {
		t.Fatal(err)
	}
}

// change applies a merge patch to an object.
func change(ctx context.Context, t *testing.T, u *unstructured.Unstructured, patch string) {
	t.Helper()
	if err := cluster.Client.Patch(ctx, u, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// restore creates the claim that starts from the backup, and pauses it when its database is ready, before Keystone
// writes to it.
func restore(ctx context.Context, t *testing.T, namespace string) *unstructured.Unstructured {
	t.Helper()
	claim, server := decode(t, "testdata/restored.yaml"), &unstructured.Unstructured{}
	apply(ctx, t, claim)
	server.SetGroupVersionKind(mariaDBKind)
	for cluster.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: "mariadb"}, server) != nil {
		if ctx.Err() != nil {
			t.Fatal("there is no database")
		}
		time.Sleep(time.Second)
	}
	if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Fatal(err)
	}
	change(ctx, t, composite(t, claim), `{"metadata": {"annotations": {"crossplane.io/paused": "true"}}}`)
	if err := cluster.WaitCondition(ctx, server.GroupVersionKind(), client.ObjectKeyFromObject(server), "Ready"); err != nil {
		t.Fatal(err)
	}
	return claim
}

// resume removes the pause annotation that restore sets on a claim.
func resume(ctx context.Context, t *testing.T, claim *unstructured.Unstructured) {
	t.Helper()
	change(ctx, t, composite(t, claim), `{"metadata": {"annotations": {"crossplane.io/paused": null}}}`)
}

// composite returns the composite resource of a claim.
func composite(t *testing.T, claim *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	ref, _, err := unstructured.NestedStringMap(claim.Object, "spec", "resourceRef")
	if err != nil || ref["name"] == "" {
		t.Fatalf("the claim has no composite resource: %v", err)
	}
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(ref["apiVersion"])
	u.SetKind(ref["kind"])
	u.SetName(ref["name"])
	return u
}

// rows returns the rows of every table of Keystone's database, in order.
func rows(ctx context.Context, t *testing.T, namespace string) []string {
	t.Helper()
	statements := sql(ctx, t, namespace, "SET SESSION group_concat_max_len = 1000000; "+
		"SELECT GROUP_CONCAT(CONCAT(\"SELECT '\", table_name, \"', t.* FROM keystone.`\", table_name, \"` t\") SEPARATOR '; ') "+
		"FROM information_schema.tables WHERE table_schema = 'keystone'")
	out := slices.Sorted(strings.Lines(sql(ctx, t, namespace, statements)))
	if len(out) == 0 {
		t.Fatal("the database is empty")
	}
	return out
}

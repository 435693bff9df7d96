//go:build openstack && linux

package openstack

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/keys"
)

// repository returns a KeyRepository and the keys in its Secret.
func repository(t testing.TB, c *Cloud, name string) (*openstackv1.KeyRepository, keys.Set) {
	t.Helper()
	r := &openstackv1.KeyRepository{}
	if err := c.Cluster.Client.Get(context.Background(), client.ObjectKey{Namespace: c.Namespace, Name: name}, r); err != nil {
		t.Fatal(err)
	}
	data, err := c.Operators.Secret(context.Background(), c.Namespace, string(r.Spec.SecretName))
	if err != nil {
		t.Fatal(err)
	}
	set, err := keys.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return r, set
}

// rotated waits until the companion has rotated keys and has verified that every pod has them.
func rotated(t testing.TB, c *Cloud, name string, after int) keys.Set {
	t.Helper()
	var set keys.Set
	err := c.Cluster.Wait(context.Background(), 3*time.Minute, "a rotation of "+name, func(context.Context) (bool, error) {
		var r *openstackv1.KeyRepository
		r, set = repository(t, c, name)
		return set.Primary() > after && apimeta.IsStatusConditionTrue(r.Status.Conditions, "Distributed"), nil
	})
	if err != nil {
		r, _ := repository(t, c, name)
		t.Fatalf("%v\n%+v", err, r.Status)
	}
	return set
}

// testFernetKeys checks that the companion rotates the keys of tokens three times while clients issue and validate
// tokens, that no request fails, and that earlier tokens stay valid after the caches have been flushed. Only the fourth
// rotation removes a key, and invalidates the tokens that it has encrypted.
func testFernetKeys(t *testing.T, cloud *Cloud, c *Client) {
	const name, rotations, day = "keystone-fernet-keys", 3, 24 * time.Hour
	ctx := context.Background()
	first, err := c.Issue(ctx, c.Admin)
	if err != nil {
		t.Fatal(err)
	}
	_, set := repository(t, cloud, name)
	load := NewLoad(ctx, c, 2)
	for range rotations {
		cloud.Operators.Forward(day)
		set = rotated(t, cloud, name, set.Primary())
		forget(t, cloud)
		for _, token := range append(load.Tokens(), first) {
			if _, err := c.Validate(ctx, token, token); err != nil {
				t.Fatalf("with keys %v a token is not valid: %v", set.Indexes(), err)
			}
		}
	}
	errs := load.Stop()
	t.Log(load)
	for _, err := range errs {
		t.Error(err)
	}
	if load.Issued.Load() < 50 {
		t.Errorf("that is no load: %s", load)
	}
	// The companion waits until nothing that the oldest key has encrypted can be valid any more.
	cloud.Operators.Forward(3 * day)
	if set = rotated(t, cloud, name, set.Primary()); set.Indexes()[1] == 1 {
		t.Errorf("no key was purged: there are %v", set.Indexes())
	}
	forget(t, cloud)
	if _, err := c.Validate(ctx, adminOf(t, c).token, first); StatusOf(err) != http.StatusNotFound {
		t.Errorf("a token whose key was purged: got %v, want 404", err)
	}
}

// testCredentialKeys checks that after a rotation every stored credential is encrypted with the new key, and can be
// read.
func testCredentialKeys(t *testing.T, cloud *Cloud, c *Client) {
	const name, month = "keystone-credential-keys", 32 * 24 * time.Hour
	a := adminOf(t, c)
	id := a.create("credential", map[string]any{
		"type": "cert", "blob": "something secret", "user_id": a.named("users", "name=root&domain_id=default"),
	})
	_, set := repository(t, cloud, name)
	cloud.Operators.Forward(month)
	set = rotated(t, cloud, name, set.Primary())
	// Keystone names a key in its table by this hash.
	sum := sha1.Sum([]byte(set[set.Primary()]))
	want := hex.EncodeToString(sum[:])
	err := cloud.Cluster.Wait(context.Background(), 3*time.Minute, "stored credentials to be re-encrypted", func(ctx context.Context) (bool, error) {
		out, err := cloud.Operators.SQL(ctx, cloud.Namespace, "mariadb", "SELECT DISTINCT key_hash FROM keystone.credential")
		return strings.TrimSpace(out) == want, err
	})
	if err != nil {
		t.Error(err)
	}
	var got struct{ Credential struct{ Blob string } }
	adminOf(t, c).do(http.MethodGet, "/credentials/"+id, nil, &got)
	if got.Credential.Blob != "something secret" {
		t.Errorf("a stored credential reads %q after the rotation", got.Credential.Blob)
	}
}

// forget flushes all caches, so that every token is decrypted.
func forget(t testing.TB, c *Cloud) {
	t.Helper()
	for i := range 2 { // as many as in the claim
		conn, err := c.Cluster.Dial(context.Background(), "tcp", fmt.Sprintf("memcached-%d.memcached.%s.svc:11211", i, c.Namespace))
		if err != nil {
			t.Fatal(err)
		}
		flush(t, conn)
	}
}

func flush(t testing.TB, conn net.Conn) {
	t.Helper()
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "flush_all\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "OK\r\n" {
		t.Fatalf("memcached responds with %q to flush_all (%v)", line, err)
	}
}

//go:build openstack && linux

package keystone

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

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// testFernetKeys checks that the companion rotates the keys of tokens three times while clients issue and validate
// tokens, that no request fails, and that earlier tokens stay valid after the caches have been flushed. Only the fourth
// rotation removes a key, and invalidates the tokens that it has encrypted.
func testFernetKeys(t *testing.T, cloud *clouds.Cloud, c *clouds.Client) {
	const name, rotations, day = "keystone-fernet-keys", 3, 24 * time.Hour
	ctx := context.Background()
	first, err := c.Issue(ctx, c.Admin)
	if err != nil {
		t.Fatal(err)
	}
	_, set := Repository(t, cloud, name)
	load := NewLoad(ctx, c, 2)
	for range rotations {
		cloud.Operators.Forward(day)
		set = Rotated(t, cloud, name, set.Primary())
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
	if set = Rotated(t, cloud, name, set.Primary()); set.Indexes()[1] == 1 {
		t.Errorf("no key was purged: there are %v", set.Indexes())
	}
	forget(t, cloud)
	if _, err := c.Validate(ctx, harness.AdminOf(t, c).Token, first); clouds.StatusOf(err) != http.StatusNotFound {
		t.Errorf("a token whose key was purged: got %v, want 404", err)
	}
}

// testCredentialKeys checks that after a rotation every stored credential is encrypted with the new key, and can be
// read.
func testCredentialKeys(t *testing.T, cloud *clouds.Cloud, c *clouds.Client) {
	const name, month = "keystone-credential-keys", 32 * 24 * time.Hour
	a := harness.AdminOf(t, c)
	id := a.Create("credential", map[string]any{
		"type": "cert", "blob": "something secret", "user_id": a.Named("users", "name=root&domain_id=default"),
	})
	_, set := Repository(t, cloud, name)
	cloud.Operators.Forward(month)
	set = Rotated(t, cloud, name, set.Primary())
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
	harness.AdminOf(t, c).Do(http.MethodGet, "/credentials/"+id, nil, &got)
	if got.Credential.Blob != "something secret" {
		t.Errorf("a stored credential reads %q after the rotation", got.Credential.Blob)
	}
}

// forget flushes all caches, so that every token is decrypted.
func forget(t testing.TB, c *clouds.Cloud) {
	t.Helper()
	for i := range 2 { // as many as in the claim
		conn, err := c.Cluster.Dial(context.Background(), "tcp", fmt.Sprintf("memcached-keystone-%d.memcached-keystone.%s.svc:11211", i, c.Namespace))
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
